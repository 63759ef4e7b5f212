#pragma once
// What tests of systems on several ranks see of them, and compare.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "sim/gravity_system.hpp"
#include "sim/spread_case.hpp"

namespace pergola {

inline Particles crossing_particles(std::int64_t n, double corner) { return cube_particles(n, corner, 0.2, 5); }

/// All that rank 0 can see of a simulation.
struct Seen {
  StateBlocks state;
  std::string hash;
  Energies energies;
  Particles particles, sample;
  ParticleCensus census;
  StepCounts counts;
  std::int64_t outside = 0;
};

inline Seen look_at(GravitySystem& simulation) {
  Seen seen;
  seen.hash = simulation.state_hash();
  seen.census = simulation.census();
  simulation.on_root([&] {
    seen.sample = simulation.sample(20);
    seen.state = simulation.save();
  });
  seen.energies = simulation.energies();
  simulation.on_root(
      [&] {
        const auto source = simulation.particles_with_potentials();
        source->read(0, source->count(), seen.particles);
      },
      GravitySystem::Reading::potentials);
  seen.counts = simulation.counts();
  seen.outside = simulation.outside();
  return seen;
}

inline void expect_same(const Seen& a, const Seen& b, const std::string& where) {
  SCOPED_TRACE(where);
  EXPECT_EQ(a.hash, b.hash);
  const auto &one = a.state.blocks(), &other = b.state.blocks();
  ASSERT_EQ(one.size(), other.size());
  for (const auto& [name, bytes] : one) EXPECT_TRUE(other.at(name) == bytes) << name;
  EXPECT_EQ(a.energies.kinetic, b.energies.kinetic);
  EXPECT_EQ(a.energies.potential, b.energies.potential);
  EXPECT_EQ(a.energies.angular_momentum.z, b.energies.angular_momentum.z);
  EXPECT_EQ(a.particles.x, b.particles.x);
  EXPECT_EQ(a.particles.potential, b.particles.potential);
  EXPECT_EQ(a.sample.id, b.sample.id);
  EXPECT_EQ(a.sample.x, b.sample.x);
  EXPECT_EQ(a.census.counts, b.census.counts);
  EXPECT_EQ(a.counts.steps, b.counts.steps);
  EXPECT_EQ(a.counts.particle_steps, b.counts.particle_steps);
  EXPECT_EQ(a.outside, b.outside);
}

/// What rank 0 of so many sees at 0.3, between two steps, and at the end.
inline std::vector<Seen> run_on(int ranks, const RunConfig& config, const Particles& particles) {
  std::vector<Seen> seen(2);
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
    simulation.run_until(0.3);
    const Seen between = look_at(simulation);
    simulation.run_until(0.5);
    const Seen end = look_at(simulation);
    if (communicator.is_root()) seen = {between, end};
  });
  return seen;
}

/// What each of so many ranks says of the error that ends a run before 0.5; empty: nothing ends it.
inline std::vector<std::string> words_of_ranks(int ranks, const RunConfig& config, const Particles& particles) {
  std::vector<std::string> words(static_cast<std::size_t>(ranks));
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
    try {
      simulation.run_until(0.5);
    } catch (const Error& error) {
      words[static_cast<std::size_t>(communicator.rank())] = error.what();
    }
  });
  return words;
}

inline void expect_bits_of_one_rank(const Settings& settings, const Particles& particles,
                                    const std::vector<int>& numbers) {
  const RunConfig config = distributed_config(settings);
  const auto one = run_on(1, config, particles);
  for (const int ranks : numbers) {
    const auto several = run_on(ranks, config, particles);
    for (std::size_t k = 0; k < one.size(); ++k)
      expect_same(several[k], one[k],
                  std::to_string(ranks) + " ranks, " + std::to_string(particles.size()) + " particles, moment " +
                      std::to_string(k));
  }
}

inline void expect_going_on_with_the_same_bits(const Settings& settings,
                                               const Particles& particles = crossing_particles(120, 0),
                                               const std::vector<int>& numbers = {1, 2, 4, 7}) {
  const RunConfig config = distributed_config(settings);
  const Seen whole = run_on(1, config, particles)[1];
  StateBlocks state;
  for (const int before : {3, 1}) {
    run_on_thread_ranks(before, [&](Communicator& communicator) {
      GravitySystem simulation(config, particles, 0, kept_elsewhere(communicator));
      simulation.run_until(0.3);
      simulation.on_root([&] { state = simulation.save(); });
    });
    for (const int after : numbers) {
      Seen resumed;
      run_on_thread_ranks(after, [&](Communicator& communicator) {
        GravitySystem simulation(config, state, kept_elsewhere(communicator));
        simulation.run_until(0.5);
        const Seen seen = look_at(simulation);
        if (communicator.is_root()) resumed = seen;
      });
      expect_same(resumed, whole, std::to_string(before) + " ranks, then " + std::to_string(after));
    }
  }
}

/// With block steps of several levels.
inline Settings in_blocks(Settings settings) {
  settings.insert(settings.end(),
                  {"time.steps=block", "time.step_max=0.125", "time.eta=0.4", "gravity.softening=0.01"});
  return settings;
}

/// A few of them at rest about a heavy one: their steps are shorter than those of the others.
inline Particles with_a_clump() {
  Particles particles = crossing_particles(240, 0);
  for (std::size_t k = 50; k < 56; ++k) {
    for (double* x : {&particles.x[k], &particles.y[k], &particles.z[k]}) *x = 0.5 + 0.05 * (*x - 0.5);
    particles.vx[k] = particles.vy[k] = particles.vz[k] = 0;
  }
  particles.mass[50] = 0.1;
  return particles;
}

/// Steps of several levels, in which some particles ask: less than one in `one_in` in the mean.
inline void expect_bits_in_blocks(const Settings& settings, int one_in) {
  const Seen end = run_on(1, distributed_config(settings), with_a_clump())[1];
  EXPECT_LT(end.counts.particle_steps, end.counts.steps * with_a_clump().size() / one_in);
  expect_bits_of_one_rank(settings, with_a_clump(), {3});
  expect_going_on_with_the_same_bits(settings, with_a_clump(), {1, 2});
}

/// The ids that a rank keeps, in rising order.
inline std::vector<std::uint64_t> kept_ids(GravitySystem& simulation) {
  const BorrowedParticles borrowed = simulation.lend();
  std::vector<std::uint64_t> ids(static_cast<std::size_t>(borrowed.count));
  simulation.device().memory().to_host(ids.data(), borrowed.id, ids.size() * sizeof(std::uint64_t));
  std::sort(ids.begin(), ids.end());
  return ids;
}

inline void expect_shares(const Settings& settings) {
  const auto particles = crossing_particles(100, 0);
  run_on_thread_ranks(7, [&](Communicator& communicator) {
    GravitySystem simulation(distributed_config(settings), particles, 0, kept_elsewhere(communicator));
    simulation.run_until(0.25);
    const Shares shares{particles.size(), 7};
    const auto first = particles.id.begin() + shares.first(communicator.rank());
    EXPECT_EQ(kept_ids(simulation), std::vector<std::uint64_t>(first, first + shares.count(communicator.rank())));
    EXPECT_EQ(simulation.size(), 100);
  });
}

}  // namespace pergola

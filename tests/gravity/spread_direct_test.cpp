// The direct sum over particles that are spread over ranks. The reference is the direct sum of one process, whose
// numbers are compared with plain loops in direct_physics_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/philox.hpp"
#include "comm/counted_communicator.hpp"
#include "comm/shares.hpp"
#include "comm/thread_ranks.hpp"
#include "gravity/solver_entry.hpp"

namespace pergola {
namespace {

constexpr unsigned all_sums = want_acceleration | want_jerk | want_potential;

/// Particles with times, accelerations and jerks of their own, of species 0 and 1.
template <class Real>
struct Moving {
  std::array<std::vector<Real>, 13> number;  // place, velocity, acceleration, jerk, mass
  std::vector<std::int64_t> tick;
  std::vector<std::uint8_t> species;

  explicit Moving(std::int64_t n) : tick(static_cast<std::size_t>(n)), species(tick.size()) {
    for (std::size_t k = 0; k < number.size(); ++k) number[k].resize(tick.size());
    for (std::size_t i = 0; i < tick.size(); ++i) {
      Philox random(21, 0, i);
      for (auto& values : number) values[i] = static_cast<Real>(random.uniform() - 0.5);
      number[12][i] += 1;
      tick[i] = static_cast<std::int64_t>(8 * random.uniform());
      species[i] = static_cast<std::uint8_t>(i % 2);
    }
  }
  std::int64_t size() const { return std::ssize(tick); }
  Sources<Real> share(std::int64_t first, std::int64_t count, bool predicted) const {
    const auto at = [&](int k) { return number[static_cast<std::size_t>(k)].data() + first; };
    Sources<Real> sources;
    sources.count = count;
    sources.x = at(0), sources.y = at(1), sources.z = at(2), sources.vx = at(3), sources.vy = at(4), sources.vz = at(5);
    sources.mass = at(12), sources.species = species.data() + first;
    if (!predicted) return sources;
    sources.ax = at(6), sources.ay = at(7), sources.az = at(8), sources.jx = at(9), sources.jy = at(10);
    sources.jz = at(11), sources.tick = tick.data() + first;
    sources.now = 9, sources.tick_length = 0.01, sources.offset = 0.001;
    return sources;
  }
};

/// Acceleration, jerk and potential of those who ask.
template <class Real>
using Sums = std::array<std::vector<Real>, 7>;

template <class Real>
Forces<Real> into(Sums<Real>& sums, std::int64_t first) {
  const auto at = [&](std::size_t k) { return sums[k].data() + first; };
  return {.ax = at(0), .ay = at(1), .az = at(2), .jx = at(3), .jy = at(4), .jz = at(5), .potential = at(6)};
}

/// A question: who asks (nobody in the list: all), for what, of which sources.
struct Asked {
  std::vector<std::int64_t> places{};
  unsigned want = all_sums;
  bool predicted = false;
};

/// What `solver` answers those of its particles first … first + count − 1 that ask.
template <class Real>
void answer(Solver<Real>& solver, const Moving<Real>& particles, const Asked& asked, std::int64_t first,
            std::int64_t count, Sums<Real>& sums) {
  solver.prepare(particles.share(first, count, asked.predicted));
  if (asked.places.empty()) return solver.evaluate({.count = count, .total = count}, asked.want, into(sums, first));
  const auto begin = std::lower_bound(asked.places.begin(), asked.places.end(), first);
  std::vector<std::int64_t> here(begin, std::lower_bound(begin, asked.places.end(), first + count));
  for (std::int64_t& place : here) place -= first;
  const std::int64_t n = std::ssize(here);
  solver.evaluate({here.data(), n, n}, asked.want, into(sums, begin - asked.places.begin()));
}

template <class Real>
Sums<Real> room_for(const Moving<Real>& particles, const Asked& asked) {
  Sums<Real> sums;
  for (auto& values : sums) values.resize(asked.places.empty() ? particles.tick.size() : asked.places.size());
  return sums;
}

/// Bytes that a rank got at most, where they are asked for.
template <class Real>
Sums<Real> on_ranks(int ranks, const SolverOptions& options, const Moving<Real>& particles, const Asked& asked,
                    std::int64_t* received = nullptr) {
  Sums<Real> sums = room_for(particles, asked);
  const Shares shares{particles.size(), ranks};
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const auto counted =
        std::make_shared<CountedCommunicator>(std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
    const int threads = ranks == 3 ? 2 : 1;  // which does not matter either
    const auto solver = make_spread_solver<Real>(options, Device::open("cpu", threads), counted);
    answer(*solver, particles, asked, shares.first(communicator.rank()), shares.count(communicator.rank()), sums);
    std::int64_t most = counted->traffic().received;
    communicator.all_reduce(&most, 1, Reduction::maximum);
    if (received && communicator.is_root()) *received = most;
  });
  return sums;
}

SolverOptions direct_options(Precision precision = Precision::mixed) {
  SolverOptions options;
  options.softening = Softening::same(0.01);
  options.precision = precision;
  return options;
}

template <class Real>
void expect_sums_of_one_rank(const SolverOptions& options, const Moving<Real>& particles, const Asked& asked,
                             const std::vector<int>& numbers) {
  Sums<Real> one = room_for(particles, asked);
  answer(*make_solver<Real>(options, Device::open("cpu", 1)), particles, asked, 0, particles.size(), one);
  for (const int ranks : numbers)
    EXPECT_TRUE(on_ranks(ranks, options, particles, asked) == one)
        << ranks << " ranks, " << particles.size() << " particles, " << asked.places.size() << " ask";
}

/// Each step-th of n.
std::vector<std::int64_t> some_of(std::int64_t n, std::int64_t step) {
  std::vector<std::int64_t> places;
  for (std::int64_t k = step / 2; k < n; k += step) places.push_back(k);
  return places;
}

// Spans of 1,024 sources, which ranks keep whole or in parts, and fewer spans than ranks.
TEST(SpreadDirect, HasTheSumsOfOneRankBitByBit) {
  const Moving<double> particles(5000);
  expect_sums_of_one_rank(direct_options(), particles, {}, {1, 2, 3, 4, 7, 64});
  expect_sums_of_one_rank(direct_options(), particles, {some_of(5000, 50), all_sums, true}, {1, 2, 3, 4, 7, 64});
}

TEST(SpreadDirect, SumsOfEachKindAreThoseOfOneRank) {
  for (const unsigned want :
       {unsigned{want_acceleration}, want_acceleration | want_potential, unsigned{want_potential}})
    for (const auto& places : {std::vector<std::int64_t>{}, some_of(2500, 100)})
      expect_sums_of_one_rank(direct_options(), Moving<double>(2500), {places, want}, {3});
}

TEST(SpreadDirect, AnyPrecisionAndSofteningWillDo) {
  SolverOptions options = direct_options(Precision::double_);
  const Asked few{some_of(2500, 60), all_sums, true};
  expect_sums_of_one_rank(options, Moving<double>(2500), few, {3});
  expect_sums_of_one_rank(direct_options(Precision::single), Moving<float>(2500), few, {4});
  options.softening.epsilon[1] = 0.2;
  options.softening.kernel = SofteningKernel::spline;
  expect_sums_of_one_rank(options, Moving<double>(2500), few, {4});
  expect_sums_of_one_rank(options, Moving<double>(2500), {}, {7});
}

TEST(SpreadDirect, OneParticleMayAskAndMostRanksHaveNone) {
  for (const std::int64_t place : {0, 1023, 1024, 2999})
    expect_sums_of_one_rank(direct_options(), Moving<double>(3000), {{place}, all_sums, true}, {2, 7});
  expect_sums_of_one_rank(direct_options(), Moving<double>(1024), {}, {2});
  expect_sums_of_one_rank(direct_options(), Moving<double>(5), {}, {7});
  expect_sums_of_one_rank(direct_options(), Moving<double>(1), {}, {3});
}

// All of one rank ask and nobody else: in rounds, for what a rank gets at once has a limit.
TEST(SpreadDirect, ThoseWhoAskMayBeOnOneRank) {
  std::vector<std::int64_t> places(700);
  for (std::size_t k = 0; k < places.size(); ++k) places[k] = static_cast<std::int64_t>(k);
  expect_sums_of_one_rank(direct_options(), Moving<double>(8200), {places, all_sums}, {8});
}

// The sums of a few travel, 64 spans of 7 numbers each at most, and not the sources, of 44 bytes each. Where all ask
// each source comes by once.
TEST(SpreadDirect, WhatTravelsIsTheLess) {
  const Moving<double> particles(20000);
  const SolverOptions options = direct_options();
  std::int64_t for_a_few = 0, for_all = 0;
  on_ranks(4, options, particles, {some_of(20000, 2000), all_sums}, &for_a_few);
  const std::int64_t rest_of_spans = 1024 * 44, sums = 10 * 20 * 7 * 8, asking = 10 * 64;
  EXPECT_LT(for_a_few, rest_of_spans + sums + asking + 1024);
  on_ranks(4, options, particles, {{}, want_acceleration}, &for_all);
  EXPECT_LT(for_all, rest_of_spans + 20000 * 44 + 1024);
  EXPECT_GT(for_all, 10000 * 44);
}

// Memory of a rank falls with its share.
TEST(SpreadDirect, ARankOfManyTakesLessMemory) {
  const auto solver = make_spread_solver<double>(direct_options(), Device::open("cpu", 1), serial_communicator());
  const std::int64_t n = 1 << 20;
  EXPECT_LT(static_cast<double>(solver->device_bytes(n / 16)), 1.3 * static_cast<double>(solver->device_bytes(n)) / 16);
}

/// What each rank says of two particles at a distance in x.
std::vector<std::string> words_of_a_pair(int ranks, double distance, Asked asked) {
  Moving<double> particles(3000);
  for (std::size_t k = 0; k < 3; ++k) particles.number[k][2500] = particles.number[k][40] = 0;
  particles.number[0][2500] = distance;
  SolverOptions options = direct_options();
  options.softening = Softening::same(0);
  std::vector<std::string> words(static_cast<std::size_t>(ranks));
  const Shares shares{particles.size(), ranks};
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const std::shared_ptr<Communicator> own(&communicator, [](Communicator*) {});
    const auto solver = ranks == 1 ? make_solver<double>(options, Device::open("cpu", 1))
                                   : make_spread_solver<double>(options, Device::open("cpu", 1), own);
    Sums<double> sums = room_for(particles, asked);
    const int rank = communicator.rank();
    try {
      answer(*solver, particles, asked, shares.first(rank), shares.count(rank), sums);
    } catch (const CoincidentParticles& error) {
      EXPECT_EQ(std::min(error.first(), error.second()), 40);
      EXPECT_EQ(std::max(error.first(), error.second()), 2500);
      words[static_cast<std::size_t>(rank)] = error.what();
    }
  });
  return words;
}

TEST(SpreadDirect, ParticlesInOnePlaceAreNamedByAllRanks) {
  for (const double distance : {0.0, 1e-25})
    for (const auto& places : {std::vector<std::int64_t>{}, std::vector<std::int64_t>{7, 2500}}) {
      const std::string one = words_of_a_pair(1, distance, {places, all_sums})[0];
      EXPECT_NE(one, "");
      for (const std::string& several : words_of_a_pair(7, distance, {places, all_sums})) EXPECT_EQ(several, one);
    }
}

TEST(SpreadDirect, NearestNeighboursAreRefused) {
  const auto solver = make_spread_solver<double>(direct_options(), Device::open("cpu", 1), serial_communicator());
  EXPECT_FALSE(solver->info().nearest);
  EXPECT_THROW(solver->evaluate({}, want_nearest, {}), Error);
}

}  // namespace
}  // namespace pergola

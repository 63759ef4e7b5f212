// The direct sum over particles that are spread over ranks. The reference is the direct sum of one process, whose
// numbers are compared with plain loops in direct_physics_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/counted_communicator.hpp"
#include "comm/shares.hpp"
#include "device/buffer.hpp"
#include "gravity/direct_spread.hpp"
#include "gravity/solver_entry.hpp"
#include "marks.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");
PERGOLA_MARK(heavy, "*DistributedDirect.HasTheSumsOfOneRankBitByBit*");
PERGOLA_MARK(heavy, "*DistributedDirect.WhatTravelsIsTheLess*");
PERGOLA_MARK(heavy, "*DistributedDirect.ParticlesInOnePlaceAreNamedByAllRanks*");

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
};

/// A stretch of them on a device.
template <class Real>
class Kept {
 public:
  Kept(const Device& device, const Moving<Real>& all, std::int64_t first, std::int64_t count)
      : tick_(device, part(all.tick, first, count)), species_(device, part(all.species, first, count)) {
    for (std::size_t k = 0; k < number_.size(); ++k)
      number_[k] = Buffer<Real>(device, part(all.number[k], first, count));
  }
  Sources<Real> sources(bool predicted) const {
    const auto at = [&](int k) { return number_[static_cast<std::size_t>(k)].data(); };
    Sources<Real> sources;
    sources.count = tick_.size();
    sources.x = at(0), sources.y = at(1), sources.z = at(2), sources.vx = at(3), sources.vy = at(4), sources.vz = at(5);
    sources.mass = at(12), sources.species = species_.data();
    if (!predicted) return sources;
    sources.ax = at(6), sources.ay = at(7), sources.az = at(8), sources.jx = at(9), sources.jy = at(10);
    sources.jz = at(11), sources.tick = tick_.data();
    sources.now = 9, sources.tick_length = 0.01, sources.offset = 0.001;
    return sources;
  }

 private:
  template <class T>
  static std::vector<T> part(const std::vector<T>& all, std::int64_t first, std::int64_t count) {
    return {all.begin() + first, all.begin() + first + count};
  }
  std::array<Buffer<Real>, 13> number_;
  Buffer<std::int64_t> tick_;
  Buffer<std::uint8_t> species_;
};

/// Acceleration, jerk and potential of those who ask.
template <class Real>
using Sums = std::array<std::vector<Real>, 7>;

/// A question: who asks (nobody in the list: all), for what, of which sources.
struct Asked {
  std::vector<std::int64_t> places{};
  unsigned want = all_sums;
  bool predicted = false;
};

/// What `solver` answers those of its particles first … first + count − 1 that ask.
template <class Real>
void answer(Solver<Real>& solver, const Device& device, const Moving<Real>& particles, const Asked& asked,
            std::int64_t first, std::int64_t count, Sums<Real>& sums) {
  const Kept<Real> kept(device, particles, first, count);
  solver.prepare(kept.sources(asked.predicted));
  const auto begin = std::lower_bound(asked.places.begin(), asked.places.end(), first);
  std::vector<std::int64_t> here(begin, std::lower_bound(begin, asked.places.end(), first + count));
  for (std::int64_t& place : here) place -= first;
  const Buffer<std::int64_t> index(device, here);
  const bool all = asked.places.empty();
  const std::int64_t n = all ? count : index.size(), at = all ? first : begin - asked.places.begin();
  Buffer<Real> found[7];
  for (Buffer<Real>& values : found) values = Buffer<Real>(device, n), values.zero();
  solver.evaluate({all ? nullptr : index.data(), n, n}, asked.want,
                  {.ax = found[0].data(),
                   .ay = found[1].data(),
                   .az = found[2].data(),
                   .jx = found[3].data(),
                   .jy = found[4].data(),
                   .jz = found[5].data(),
                   .potential = found[6].data()});
  for (std::size_t k = 0; k < sums.size(); ++k) found[k].to_host(sums[k].data() + at);
}

template <class Real>
Sums<Real> room_for(const Moving<Real>& particles, const Asked& asked) {
  Sums<Real> sums;
  for (auto& values : sums) values.resize(asked.places.empty() ? particles.tick.size() : asked.places.size());
  return sums;
}

SolverOptions direct_options(Precision precision = Precision::mixed) {
  SolverOptions options;
  options.softening = Softening::same(0.01);
  options.precision = precision;
  return options;
}

/// Each step-th of n.
std::vector<std::int64_t> some_of(std::int64_t n, std::int64_t step) {
  std::vector<std::int64_t> places;
  for (std::int64_t k = step / 2; k < n; k += step) places.push_back(k);
  return places;
}

/// Ranks on CPUs, and such that share a GPU.
class DistributedDirect : public DeviceTest {
 protected:
  bool on_gpu() const { return GetParam() == "cuda"; }

  template <class Real>
  std::unique_ptr<Solver<Real>> make_distributed(const SolverOptions& options, const Device& device,
                                                 std::shared_ptr<Communicator> ranks) const {
    if constexpr (cuda_built)
      if (device.is_cuda()) return make_distributed_direct_cuda<Real>(options, device, std::move(ranks), limits_);
    return make_distributed_solver<Real>(options, device, std::move(ranks));
  }

  /// `received`: bytes that a rank got at most, where they are asked for.
  template <class Real>
  Sums<Real> on_ranks(int ranks, const SolverOptions& options, const Moving<Real>& particles, const Asked& asked,
                      std::int64_t* received = nullptr) const {
    Sums<Real> sums = room_for(particles, asked);
    const Shares shares{particles.size(), ranks};
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const auto counted =
          std::make_shared<CountedCommunicator>(std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
      const Device own = device(ranks == 3 ? 2 : 1);  // threads, which do not matter either
      const auto solver = make_distributed<Real>(options, own, counted);
      const int rank = communicator.rank();
      answer(*solver, own, particles, asked, shares.first(rank), shares.count(rank), sums);
      std::int64_t most = counted->traffic().received;
      communicator.all_reduce(&most, 1, Reduction::maximum);
      if (received && communicator.is_root()) *received = most;
    });
    return sums;
  }

  template <class Real>
  void expect_sums_of_one_rank(const SolverOptions& options, const Moving<Real>& particles, const Asked& asked,
                               const std::vector<int>& numbers) const {
    Sums<Real> one = room_for(particles, asked);
    const Device alone = device(1);
    answer(*make_solver<Real>(options, alone), alone, particles, asked, 0, particles.size(), one);
    for (const int ranks : numbers)
      EXPECT_TRUE(on_ranks(ranks, options, particles, asked) == one)
          << ranks << " ranks, " << particles.size() << " particles, " << asked.places.size() << " ask";
  }

  std::vector<std::string> words_of_a_pair(int ranks, double distance, Asked asked) const;

  TravelLimits limits_{.bytes_of_an_exchange = 0};  // between GPUs: sums of few travel here too
};

// Spans of 1,024 sources, which ranks keep whole or in parts, and fewer spans than ranks.
TEST_P(DistributedDirect, HasTheSumsOfOneRankBitByBit) {
  const Moving<double> particles(5000);
  expect_sums_of_one_rank(direct_options(), particles, {}, {1, 2, 3, 4, 7, 64});
  expect_sums_of_one_rank(direct_options(), particles, {some_of(5000, 50), all_sums, true}, {1, 2, 3, 4, 7, 64});
}

TEST_P(DistributedDirect, SumsOfEachKindAreThoseOfOneRank) {
  for (const unsigned want :
       {unsigned{want_acceleration}, want_acceleration | want_potential, unsigned{want_potential}})
    for (const auto& places : {std::vector<std::int64_t>{}, some_of(2500, 100)})
      expect_sums_of_one_rank(direct_options(), Moving<double>(2500), {places, want}, {3});
}

TEST_P(DistributedDirect, AnyPrecisionAndSofteningWillDo) {
  SolverOptions options = direct_options(Precision::double_);
  const Asked few{some_of(2500, 60), all_sums, true};
  expect_sums_of_one_rank(options, Moving<double>(2500), few, {3});
  expect_sums_of_one_rank(direct_options(Precision::single), Moving<float>(2500), few, {4});
  options.softening.epsilon[1] = 0.2;
  options.softening.kernel = SofteningKernel::spline;
  expect_sums_of_one_rank(options, Moving<double>(2500), few, {4});
  expect_sums_of_one_rank(options, Moving<double>(2500), {}, {7});
}

TEST_P(DistributedDirect, OneParticleMayAskAndMostRanksHaveNone) {
  for (const std::int64_t place : {0, 1023, 1024, 2999})
    expect_sums_of_one_rank(direct_options(), Moving<double>(3000), {{place}, all_sums, true}, {2, 7});
  expect_sums_of_one_rank(direct_options(), Moving<double>(1024), {}, {2});
  expect_sums_of_one_rank(direct_options(), Moving<double>(5), {}, {7});
  expect_sums_of_one_rank(direct_options(), Moving<double>(1), {}, {3});
}

// All of one rank ask and nobody else: in rounds, for what a rank gets at once has a limit.
TEST_P(DistributedDirect, ThoseWhoAskMayBeOnOneRank) {
  std::vector<std::int64_t> places(700);
  for (std::size_t k = 0; k < places.size(); ++k) places[k] = static_cast<std::int64_t>(k);
  expect_sums_of_one_rank(direct_options(), Moving<double>(8200), {places, all_sums}, {8});
}

// The sums of a few travel: on CPUs 20 spans of 7 numbers each, on GPUs at most 264 segments, with what a rank lacks of
// its last one, and not the sources. Where all ask each source comes by once. Ranks of GPUs tell each other where it
// is.
TEST_P(DistributedDirect, WhatTravelsIsTheLess) {
  const Moving<double> particles(20000);
  const SolverOptions options = direct_options();
  std::int64_t for_a_few = 0, for_all = 0;
  on_ranks(4, options, particles, {some_of(20000, 2000), all_sums}, &for_a_few);
  const std::int64_t source = on_gpu() ? 48 : 44, notes = on_gpu() ? 8192 : 1024;
  const std::int64_t rest = 1024 * source, sums = 10 * (on_gpu() ? 264 : 20) * 7 * 8, asking = 10 * 64;
  EXPECT_LT(for_a_few, rest + sums + asking + notes);
  on_ranks(4, options, particles, {{}, want_acceleration}, &for_all);
  EXPECT_LT(for_all, rest + 20000 * source + notes);
  EXPECT_GT(for_all, 10000 * source);
}

// Memory of a rank falls with its share, but on GPUs for sums of segments and sources that come by.
TEST_P(DistributedDirect, ARankOfManyTakesLessMemory) {
  const auto solver = make_distributed_solver<double>(direct_options(), device(1), serial_communicator());
  const std::int64_t n = 1 << (on_gpu() ? 24 : 20), constant = on_gpu() ? 64 << 20 : 0;
  EXPECT_LT(static_cast<double>(solver->device_bytes(n / 16)),
            1.3 * static_cast<double>(solver->device_bytes(n)) / 16 + static_cast<double>(constant));
}

/// What each rank says of two particles at a distance in x.
std::vector<std::string> DistributedDirect::words_of_a_pair(int ranks, double distance, Asked asked) const {
  Moving<double> particles(3000);
  for (std::size_t k = 0; k < 3; ++k) particles.number[k][2500] = particles.number[k][40] = 0;
  particles.number[0][2500] = distance;
  SolverOptions options = direct_options();
  options.softening = Softening::same(0);
  std::vector<std::string> words(static_cast<std::size_t>(ranks));
  const Shares shares{particles.size(), ranks};
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const std::shared_ptr<Communicator> own(&communicator, [](Communicator*) {});
    const Device here = device(1);
    const auto solver =
        ranks == 1 ? make_solver<double>(options, here) : make_distributed_solver<double>(options, here, own);
    Sums<double> sums = room_for(particles, asked);
    const int rank = communicator.rank();
    try {
      answer(*solver, here, particles, asked, shares.first(rank), shares.count(rank), sums);
    } catch (const CoincidentParticles& error) {
      EXPECT_EQ(std::min(error.first(), error.second()), 40);
      EXPECT_EQ(std::max(error.first(), error.second()), 2500);
      words[static_cast<std::size_t>(rank)] = error.what();
    }
  });
  return words;
}

TEST_P(DistributedDirect, ParticlesInOnePlaceAreNamedByAllRanks) {
  for (const double distance : {0.0, 1e-25})
    for (const auto& places : {std::vector<std::int64_t>{}, std::vector<std::int64_t>{7, 2500}}) {
      const std::string one = words_of_a_pair(1, distance, {places, all_sums})[0];
      EXPECT_NE(one, "");
      for (const std::string& several : words_of_a_pair(7, distance, {places, all_sums})) EXPECT_EQ(several, one);
    }
}

TEST_P(DistributedDirect, NearestNeighboursAreRefused) {
  const auto solver = make_distributed_solver<double>(direct_options(), device(1), serial_communicator());
  EXPECT_FALSE(solver->info().nearest);
  EXPECT_THROW(solver->evaluate({}, want_nearest, {}), Error);
}

// On GPUs a rank goes on with its sums as sources come by: of few targets, whose sources four warps share, and of many,
// with segments that end within a piece.
TEST_P(DistributedDirect, SourcesMayComeByInPieces) {
  if (!on_gpu()) GTEST_SKIP() << "they do on CPUs";
  const Moving<double> particles(5000);
  for (const std::int64_t pieces_of : {1000, 64}) {
    limits_.sources_at_once = pieces_of;
    expect_sums_of_one_rank(direct_options(), particles, {}, {2, 7});
    expect_sums_of_one_rank(direct_options(), particles, {some_of(5000, 2), all_sums, true}, {3});
  }
  limits_.sources_at_once = 777;
  expect_sums_of_one_rank(direct_options(Precision::single), Moving<float>(5000), {{}, want_acceleration}, {3});
  SolverOptions options = direct_options(Precision::double_);
  options.softening.epsilon[1] = 0.2;
  expect_sums_of_one_rank(options, particles, {some_of(5000, 2), want_acceleration | want_potential}, {4});
}

// So many targets that a GPU has groups that are served over all sources, and a rest that is split.
TEST_P(DistributedDirect, HasTheSumsOfOneRankWhereGroupsAreWhole) {
  if (!on_gpu()) GTEST_SKIP() << "a CPU has no groups";
  expect_sums_of_one_rank(direct_options(), Moving<double>(230000), {{}, want_acceleration}, {3});
}

INSTANTIATE_TEST_SUITE_P(Devices, DistributedDirect, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

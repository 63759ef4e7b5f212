// Power spectra of particles that are spread over ranks. The reference is one rank, which has them all.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "analysis/power_spectrum.hpp"
#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "marks.hpp"
#include "particles/particle_source.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

constexpr double side = 10;
const Box cube{{0, 0, 0}, {side, side, side}, Boundary::periodic};

/// Clumped, with masses of many sizes, so that sums of them are rounded.
Particles points(std::int64_t n) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(5, 0, i), clump(5, 1, i / 40);
    const auto place = [&] {
      const double own = random.uniform(), center = clump.uniform();
      return side * (i % 2 == 0 ? std::fmod(center + 0.02 * own, 1.0) : own);
    };
    p.x[i] = place(), p.y[i] = place(), p.z[i] = place();
    p.mass[i] = std::exp(4 * random.uniform());
  }
  return p;
}

/// What every rank finds.
std::vector<PowerSpectrum> found_by(int ranks, const Particles& particles, int cells, int folds) {
  std::vector<PowerSpectrum> found(static_cast<std::size_t>(ranks));
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const Shares shares{particles.size(), ranks};
    Particles own;
    HostParticles all(particles);
    all.read(shares.first(communicator.rank()), shares.count(communicator.rank()), own);
    const std::shared_ptr<Communicator> shared(&communicator, [](Communicator*) {});
    const Device cpu = Device::open("cpu", 1);
    found[static_cast<std::size_t>(communicator.rank())] = power_spectrum(own, cube, cells, folds, cpu, shared);
  });
  return found;
}

void expect_bits_of_one(std::int64_t n, int cells, const std::vector<int>& rank_counts) {
  const Particles particles = points(n);
  const PowerSpectrum one = power_spectrum(particles, cube, cells, 2, Device::open("cpu", 2));
  ASSERT_FALSE(one.bins.empty());
  for (const int ranks : rank_counts)
    for (const PowerSpectrum& found : found_by(ranks, particles, cells, 2)) {
      EXPECT_EQ(found.shot_noise, one.shot_noise) << ranks;
      ASSERT_EQ(found.bins.size(), one.bins.size());
      for (std::size_t b = 0; b < one.bins.size(); ++b) {
        EXPECT_EQ(found.bins[b].power, one.bins[b].power) << ranks << " ranks, bin " << b;
        EXPECT_EQ(found.bins[b].k, one.bins[b].k);
        EXPECT_EQ(found.bins[b].modes, one.bins[b].modes);
      }
    }
}

TEST(DistributedPower, HasTheBitsOfOneRank) { expect_bits_of_one(3000, 32, {1, 2, 3, 7}); }

// Ranks without particles, and without planes of the mesh.
TEST(DistributedPower, HasTheBitsOfOneRankWhereRanksHaveNothing) { expect_bits_of_one(5, 8, {4, 13}); }

}  // namespace
}  // namespace pergola

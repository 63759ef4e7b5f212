#include "analysis/structure.hpp"
#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "particles/particle_source.hpp"
#include "physics/power_spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <tuple>

namespace pergola {
namespace {

TEST(Structure, PowerRatioWeighsShellsWithTheirModesAndItsRange) {
  PowerSpectrum spectrum;
  const auto shell = [&](double k, std::int64_t modes, double power) {
    PowerBin bin;
    bin.k = k, bin.modes = modes, bin.power = power;
    spectrum.bins.push_back(bin);
  };
  shell(0.1, 20, 3), shell(0.2, 80, 1), shell(0.4, 1000, 9);
  const auto one = [](double) { return 1.0; };
  const PowerRatio ratio = power_ratio(spectrum, one, 0, 0.3, false);
  EXPECT_EQ(ratio.shells, 2);
  EXPECT_DOUBLE_EQ(ratio.k_high, 0.2);
  // Variances 2/20 and 2/80, each with a hundredth squared.
  const double w1 = 1 / (0.1 + 1e-4), w2 = 1 / (0.025 + 1e-4);
  EXPECT_NEAR(ratio.mean, (3 * w1 + w2) / (w1 + w2), 1e-12);
  EXPECT_NEAR(ratio.error, 1 / std::sqrt(w1 + w2), 1e-12);
  EXPECT_NEAR(power_ratio(spectrum, one, 0, 0.3, true).mean, 2, 1e-12);
  EXPECT_EQ(power_ratio(spectrum, one, 1, 2, false).shells, 0);
}

/// Three shells with a power per logarithm of 0.001 in the first, which grow by 4.
TEST(Structure, GrownPowerComparesLowShellsWithTheirOwnStart) {
  PowerSpectrum start;
  for (const auto& [k, modes, power] : {std::tuple{0.05, 18, 9.0}, {0.1, 62, 1.0}, {0.2, 200, 5.0}}) {
    PowerBin bin;
    bin.k = k, bin.modes = modes;
    bin.power = power * 0.001 / 16 * 2 * std::numbers::pi * std::numbers::pi / (0.05 * 0.05 * 0.05);
    start.bins.push_back(bin);
  }
  const auto grown = [&](double growth_of_power) {
    PowerSpectrum end = start;
    for (PowerBin& bin : end.bins) bin.power *= growth_of_power;
    return end;
  };
  const GrownPower right = grown_power(start, grown(16), 4, 1, 0);
  EXPECT_DOUBLE_EQ(right.ratio, 1);
  EXPECT_NEAR(right.first_power_per_log, 0.009, 1e-12);
  // By hand, of the first shell: 0.01; 1.2 ln 4 of a hundredth over 400; 0.3 of 0.009; 0.9 √(0.008/18), the shell at
  // 0.1 having 0.001 times 2³. The second alone is coupled with 0.32.
  EXPECT_EQ(right.shells, 1);
  EXPECT_NEAR(right.tolerance, 0.01 + 1.2 * std::log(4) * 0.01 / 400 + 0.3 * 0.009 + 0.9 * std::sqrt(0.008 / 18),
              1e-12);
  // Of the first order of growth in the place of the second.
  const GrownPower wrong = grown_power(start, grown(4), 4, 1, 0);
  EXPECT_DOUBLE_EQ(wrong.ratio, 0.25);
  EXPECT_GT(std::abs(wrong.ratio - 1), wrong.tolerance);
  // Noise as strong as the waves may be all that there is; nothing is linear, or trusted.
  const double all = start.bins[0].power;
  EXPECT_NEAR(
      grown_power(start, grown(16), 4, 0.06, all).tolerance - grown_power(start, grown(16), 4, 0.06, 0).tolerance, 1,
      1e-12);
  EXPECT_EQ(grown_power(start, grown(16), 40, 1, 0).shells, 0);
  EXPECT_EQ(grown_power(start, grown(16), 4, 0.04, 0).shells, 0);
  start.shot_noise = 1e9;
  EXPECT_EQ(most_white_noise(start), start.bins[1].power);
}

struct LatticeUniverse {
  AnalysisSnapshot snapshot;
  ExpectedHalos theory;
};

/// 32³ particles on a lattice in 100 Mpc/h; of each of `halos` places 30 of them are drawn together into a ball of
/// 200,000 mean densities.
LatticeUniverse universe_with_balls(int halos) {
  constexpr int side = 32, members = 30;
  const double box = 100, spacing = box / side, each = 1;
  AnalysisSnapshot snapshot;
  snapshot.name = "balls";
  snapshot.box = {{0, 0, 0}, {box, box, box}, Boundary::periodic};
  snapshot.universe.emplace();
  snapshot.matter_part = 0.3;
  Particles& p = snapshot.particles;
  p.resize(side * side * side);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    p.id[i] = i, p.mass[i] = each;
    const auto place = [&](std::size_t k) { return (static_cast<double>(k % side) + 0.5) * spacing; };
    p.x[i] = place(i), p.y[i] = place(i / side), p.z[i] = place(i / side / side);
  }
  // 30 in a row of the lattice come together: a row apart in y and z, so that balls do not meet.
  for (int h = 0; h < halos; ++h) {
    const std::size_t first = static_cast<std::size_t>(h / 8 * 4 * side + h % 8 * 4 * side * side);
    const double radius = std::cbrt(members * 3 / (4 * 3.14159265 * 2e5)) * spacing;
    for (std::size_t i = first; i < first + members; ++i) {
      Philox random(2, 0, i);
      p.x[i] = p.x[first] + radius * (random.uniform() - 0.5);
      p.y[i] += radius * (random.uniform() - 0.5), p.z[i] += radius * (random.uniform() - 0.5);
    }
  }
  const double mean_density = each / (spacing * spacing * spacing);
  const AnalysisUniverse universe = *snapshot.universe;
  return {std::move(snapshot), ExpectedHalos(universe, mean_density, physics::eisenstein_hu_power(universe.cosmology))};
}

TEST(Structure, HalosAreCountedByTheirSpheresInRangesOfHalfADecade) {
  const LatticeUniverse universe = universe_with_balls(40);
  const auto counts = halo_counts(universe.snapshot, universe.theory, 20, Device::open("cpu", 2));
  ASSERT_EQ(counts.size(), 2u);  // of more than 200 particles, 5e14 suns/h, fewer than ten are expected
  EXPECT_EQ(counts[0].particles, 20);
  EXPECT_EQ(counts[1].particles, 63);
  EXPECT_EQ(counts[0].found, 40);
  EXPECT_EQ(counts[1].found, 0);
  EXPECT_NEAR(counts[1].expected, 1e6 * universe.theory.tinker_between(counts[1].low, 1e6), 1e-6);
  EXPECT_NEAR(counts[0].tolerance(), 3 * std::sqrt(counts[0].expected) + 0.2 * counts[0].expected, 1e-12);
}

// Reference: one rank, which has all particles.
TEST(Structure, HalosAreCountedByRanksThatEachHaveAPartOfTheBox) {
  const LatticeUniverse universe = universe_with_balls(40);
  const Device cpu = Device::open("cpu", 1);
  const auto one = halo_counts(universe.snapshot, universe.theory, 20, cpu);
  run_on_thread_ranks(3, [&](Communicator& ranks) {
    AnalysisSnapshot part = universe.snapshot;
    const Shares shares{part.particles.size(), ranks.size()};
    HostParticles(universe.snapshot.particles)
        .read(shares.first(ranks.rank()), shares.count(ranks.rank()), part.particles);
    std::vector<std::string> said;
    const auto found =
        halo_counts(part, universe.theory, 20, cpu, [&](const std::string& what) { said.push_back(what); },
                    {&ranks, [](Communicator*) {}});
    EXPECT_EQ(said.size(), ranks.is_root() ? 2u : 0u);
    ASSERT_EQ(found.size(), one.size());
    for (std::size_t k = 0; k < one.size(); ++k) {
      EXPECT_EQ(found[k].low, one[k].low);
      EXPECT_EQ(found[k].expected, one[k].expected);
      EXPECT_EQ(found[k].found, one[k].found);
    }
  });
}

/// Reference: a sum over 200 narrow ranges, each with the value in its middle.
TEST(Structure, HalosBetweenTwoMassesAreTheIntegralOverThem) {
  const LatticeUniverse universe = universe_with_balls(0);
  constexpr int ranges = 200;
  const double low = 20, high = 2000, step = std::log(high / low) / ranges;
  double sum = 0;
  for (int k = 0; k < ranges; ++k) sum += step * universe.theory.tinker(low * std::exp((k + 0.5) * step));
  EXPECT_NEAR(universe.theory.tinker_between(low, high) / sum, 1, 2e-4);
}

}  // namespace
}  // namespace pergola

#include "analysis/plasma_velocities.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "marks.hpp"
#include "physics/numerics.hpp"
#include "physics/plasma_dispersion.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

AnalysisSpecies species_of(std::vector<double> vx, std::vector<double> weight) {
  AnalysisSpecies species;
  species.name = "electrons";
  species.velocity = {vx, std::vector<double>(vx.size(), 2.0), std::vector<double>(vx.size(), 0.0)};
  species.weight = std::move(weight);
  return species;
}

// Reference: by hand, (1·1 + 3·3)/4 = 2.5 and (1·1.5² + 3·0.5²)/4 = 0.75.
TEST(PlasmaVelocities, MomentsAreWeighted) {
  const VelocityMoments moments = velocity_moments(species_of({1, 3}, {1, 3}));
  EXPECT_DOUBLE_EQ(moments.mean[0], 2.5);
  EXPECT_DOUBLE_EQ(moments.variance[0], 0.75);
  EXPECT_DOUBLE_EQ(moments.mean[1], 2);
  EXPECT_DOUBLE_EQ(moments.variance[1], 0);
}

// Reference: by hand: weights 1, 2 and 1 of 5 in bins of the width 0.5; one particle outside counts in the whole.
TEST(PlasmaVelocities, BinsHoldTheirPartOfTheWhole) {
  const auto bins = velocity_bins(species_of({-1, 0, 0.25, 1, 5}, {1, 1, 1, 1, 1}), 0, -1, 1, 4);
  ASSERT_EQ(bins.size(), 4u);
  EXPECT_EQ(bins[0].particles, 1);
  EXPECT_EQ(bins[1].particles, 0);
  EXPECT_EQ(bins[2].particles, 2);
  EXPECT_EQ(bins[3].particles, 1);  // the highest velocity is inside
  EXPECT_DOUBLE_EQ(bins[2].density, 2 / (5 * 0.5));
  EXPECT_DOUBLE_EQ(bins[2].error, std::sqrt(2.0) / (5 * 0.5));
  EXPECT_DOUBLE_EQ(bins[0].low, -1);
  EXPECT_DOUBLE_EQ(bins[3].high, 1);
}

// Reference: quantiles of the normal distribution (Wichura 1988), which use no formula of Maxwell's distribution: as
// many lie in each bin as its integral says.
TEST(PlasmaVelocities, MaxwellsDistributionIsThatOfNormalVelocities) {
  constexpr int n = 100000;
  constexpr double drift = 0.7, thermal = 1.3;
  std::vector<double> v;
  for (int i = 0; i < n; ++i) v.push_back(drift + thermal * physics::normal_quantile((i + 0.5) / n));
  const AnalysisSpecies species = species_of(v, std::vector<double>(v.size(), 1e6));
  const VelocityMoments moments = velocity_moments(species);
  EXPECT_NEAR(moments.mean[0], drift, 1e-9);
  EXPECT_NEAR(std::sqrt(moments.variance[0]), thermal, 1e-4);
  for (const VelocityBin& bin : velocity_bins(species, 0, -4, 5, 90)) {
    // To one particle of 1e5 at either end of the bin.
    EXPECT_NEAR(bin.density, physics::mean_maxwellian(bin.low, bin.high, drift, thermal), 2.5 / (n * 0.1)) << bin.low;
  }
}

// Reference: the normal distribution holds 68.27 % of all within one sigma and 99.73 % within three (its tables),
// whatever the width of the bin is.
TEST(PlasmaVelocities, MaxwellsDistributionIsAveragedOverABin) {
  constexpr double drift = 0.7, thermal = 1.3;
  EXPECT_NEAR(2 * thermal * physics::mean_maxwellian(drift - thermal, drift + thermal, drift, thermal), 0.6826895,
              1e-7);
  EXPECT_NEAR(6 * thermal * physics::mean_maxwellian(drift - 3 * thermal, drift + 3 * thermal, drift, thermal),
              0.9973002, 1e-7);
  // A bin of ten sigma holds all; a narrow one has the density, also far out, where both error functions are nearly 1.
  EXPECT_NEAR(13 * physics::mean_maxwellian(-5.8, 7.2, drift, thermal), 1, 1e-6);
  for (const double sigmas : {0.0, 9.0, -9.0}) {
    const double v = drift + sigmas * thermal;
    const double density = std::exp(-sigmas * sigmas / 2) / (thermal * std::sqrt(2 * std::numbers::pi));
    EXPECT_NEAR(physics::mean_maxwellian(v - 1e-4, v + 1e-4, drift, thermal) / density, 1, 1e-6);
  }
}

TEST(PlasmaVelocities, SpeciesAreChosenByName) {
  AnalysisPlasma plasma;
  plasma.name = "plasma.h5";
  plasma.species = {species_of({1}, {1}), species_of({1}, {1}), species_of({}, {})};
  plasma.species[1].name = "ions", plasma.species[2].name = "none";
  AnalysisOptions options;
  EXPECT_EQ(chosen_species(plasma, options).species.size(), 2u);
  options.species = "ions";
  EXPECT_EQ(chosen_species(plasma, options).species[0].name, "ions");
  const auto refusal = [&](const std::string& species) -> std::string {
    options.species = species;
    try {
      chosen_species(plasma, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("iosn"),
            "plasma.h5: --species: expected all or some of electrons, ions, found iosn; did you mean ions?");
  EXPECT_NE(refusal("none"), "");
  plasma.species.clear();
  EXPECT_EQ(refusal("all"), "plasma.h5: holds no particles, expected at least 1");
}

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "analysis/analysis.hpp"
#include "analysis/profile.hpp"
#include "analysis/sampled_halo.hpp"
#include "base/error.hpp"

namespace pergola {
namespace {

using Halo = SampledHalo;

AnalysisOptions halo_options() {
  AnalysisOptions options;
  options.linking = 0.2, options.least = 100;
  options.bins = 16, options.low = 0.1 * Halo::r200c(), options.high = 2 * Halo::r200c();
  return options;
}

Table profiles_in(const AnalysisSnapshot& snapshot, const AnalysisOptions& options) {
  AnalysisFiles files;
  files.names = {snapshot.name};
  files.snapshot = [snapshot](std::size_t) { return snapshot; };
  return profile_entry().analyze(files, options, Device::open("cpu", 1)).table;
}

double scale_density() {
  return Halo::mass / (4 * std::numbers::pi * std::pow(Halo::scale(), 3) * Halo::m(Halo::concentration));
}

// Reference: the closed formulas of SampledHalo: mass within, r_s = r200c/8 and rho_s = M/(4π r_s³ m(8)). In a periodic
// box without further options the profile is that of the largest group.
TEST(HaloProfile, OfANfwHaloIsTheOneThatItIsMadeOf) {
  const Table table = profiles_in(Halo::make({4, 5, 6}, 0, {3, 0, 0}), halo_options());
  ASSERT_EQ(table.rows(), 17u);
  for (std::size_t k = 0; k < table.rows(); ++k) {
    const double inner = table.numbers("r_inner")[k], outer = table.numbers("r_outer")[k];
    const auto within = [](double r) { return Halo::within(r) + Halo::lattice_density() * Halo::sphere(r); };
    const double volume = Halo::sphere(outer) - Halo::sphere(inner);
    EXPECT_NEAR(table.numbers("mass_within")[k] / within(outer), 1, 0.015) << outer;
    EXPECT_NEAR(table.numbers("density")[k] * volume / (within(outer) - within(inner)), 1, 0.04) << outer;
    EXPECT_EQ(table.numbers("group")[k], 1);
  }
  EXPECT_NEAR(table.numbers("nfw_r_s")[0] / Halo::scale(), 1, 0.03);
  EXPECT_NEAR(table.numbers("nfw_rho_s")[0] / scale_density(), 1, 0.06);
  EXPECT_LT(table.numbers("nfw_chi2")[0], 11);  // 12 shells within r200c, without the noise of sampling
  const double inner = table.numbers("r_inner")[5], outer = table.numbers("r_outer")[5];
  EXPECT_NEAR(table.numbers("nfw_density")[5] * (Halo::sphere(outer) - Halo::sphere(inner)) /
                  (Halo::within(outer) - Halo::within(inner)),
              1, 0.02);
}

// Reference: by hand. Infall v = −3 r (every component) is radial; solid rotation w about z has the mean 2/3 w r of
// r × v/r. The flow of an Einstein–de Sitter universe at a = 0.25 is a H r = 0.25 · H₀ · 8 r.
TEST(HaloProfile, TellsInfallRotationAndTheHubbleFlow) {
  auto snapshot = Halo::make({5, 5, 5}, 2, {0, 0, 0});
  Particles& p = snapshot.particles;
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    p.vx[i] = -3 * (p.x[i] - 5) - 2 * (p.y[i] - 5);
    p.vy[i] = -3 * (p.y[i] - 5) + 2 * (p.x[i] - 5);
    p.vz[i] = -3 * (p.z[i] - 5);
  }
  snapshot.universe.emplace();
  snapshot.universe->cosmology.omega_matter = 1, snapshot.universe->cosmology.omega_lambda = 0;
  snapshot.universe->scale_factor = 0.25, snapshot.universe->hubble = 100;
  AnalysisOptions options = halo_options();
  options.center = "5,5,5", options.low = 0.3 * Halo::r200c(), options.bins = 8;
  const Table table = profiles_in(snapshot, options);
  for (std::size_t k = 1; k < table.rows(); ++k) {
    const double r = table.numbers("hubble_flow")[k] / (0.25 * 100 * 8);
    EXPECT_GT(r, table.numbers("r_inner")[k]);
    EXPECT_LT(r, table.numbers("r_outer")[k]);
    EXPECT_NEAR(table.numbers("radial_velocity")[k] / (-3 * r), 1, 0.01);
    EXPECT_NEAR(table.numbers("tangential_velocity")[k] / (2.0 / 3 * 2 * r), 1, 0.05);
    EXPECT_EQ(table.numbers("group")[k], 0);
  }
}

// Reference: the closed formulas, in open space, where a fit is made on request only.
TEST(HaloProfile, OfAnIsolatedHaloIsFittedOnRequest) {
  auto snapshot = Halo::make({5, 5, 5}, 0, {0, 0, 0});
  snapshot.box = {};
  snapshot.matter_part.reset();
  const auto members = static_cast<std::size_t>(std::lround(Halo::halo_mass()));
  for (std::size_t i = members; i < snapshot.particles.id.size(); ++i) snapshot.particles.mass[i] = 0;
  AnalysisOptions options = halo_options();
  options.center = "5,5,5";
  EXPECT_TRUE(std::isnan(profiles_in(snapshot, options).numbers("nfw_r_s")[0]));
  options.nfw = "yes";
  EXPECT_NEAR(profiles_in(snapshot, options).numbers("nfw_r_s")[0] / Halo::scale(), 1, 0.02);
  options.center = "density", options.group = 1, options.linking_length = 0.08;
  EXPECT_NEAR(profiles_in(snapshot, options).numbers("nfw_r_s")[0] / Halo::scale(), 1, 0.03);
}

// Reference: the same halo in the middle of the box.
TEST(HaloProfile, AcrossACornerOfTheBoxIsThatOfTheMiddle) {
  const Table middle = profiles_in(Halo::make({5, 5, 5}, 2, {1, 0, 0}), halo_options());
  const Table corner = profiles_in(Halo::make({0, 0, 0}, 2, {1, 0, 0}), halo_options());
  for (const char* name : {"particles", "density", "tangential_velocity", "sigma_radial", "nfw_r_s"})
    for (std::size_t k = 1; k < middle.rows(); ++k)
      EXPECT_NEAR(corner.numbers(name)[k] / middle.numbers(name)[k], 1, 1e-6) << name << " " << k;
}

// Reference: shells with the masses of the formula; a shell without particles counts as such, and mass does as number.
TEST(NfwFit, FindsTheHaloOfExactShells) {
  std::vector<ProfileShell> shells(1);
  for (int k = 0; k < 12; ++k) {
    ProfileShell shell;
    shell.inner = 0.2 * std::pow(1.4, k), shell.outer = 1.4 * shell.inner;
    const auto within = [](double r) { return 5e4 * (std::log1p(r / 3) - r / (3 + r)); };
    shell.mass = within(shell.outer) - within(shell.inner);
    const double volume = 4 * std::numbers::pi / 3 * (std::pow(shell.outer, 3) - std::pow(shell.inner, 3));
    shell.density = shell.mass / volume, shell.density_error = std::sqrt(2 * shell.mass) / volume;
    shells.push_back(shell);
  }
  const NfwFit fit = fit_nfw(shells, std::numeric_limits<double>::infinity());
  EXPECT_NEAR(fit.scale_radius, 3, 1e-4);
  EXPECT_NEAR(fit.scale_density / (5e4 / (4 * std::numbers::pi * 27)), 1, 1e-4);
  EXPECT_NEAR(fit.chi2, 0, 1e-4);
  EXPECT_EQ(fit.shells, 12);
  EXPECT_EQ(fit_nfw(shells, shells[6].outer).shells, 6);
  EXPECT_TRUE(std::isnan(fit_nfw(shells, shells[2].outer).scale_radius));
  shells[5].mass *= 1.1;  // by hand: 0.1 μ more than μ of mass 2 each is about 0.01 μ/2
  EXPECT_NEAR(fit_nfw(shells, 100).chi2 / (0.005 * shells[5].mass / 1.1), 1, 0.3);
}

TEST(HaloProfile, OfAGroupThatIsNotThereIsRefused) {
  const auto snapshot = Halo::make({5, 5, 5}, 0, {0, 0, 0});
  AnalysisOptions options = halo_options();
  options.group = 2;
  EXPECT_THROW(profiles_in(snapshot, options), Error);
  options.group = 1;
  EXPECT_EQ(profiles_in(snapshot, options).rows(), 17u);
  options.groups = 3;
  EXPECT_THROW(profiles_in(snapshot, options), Error);
  options.group = 0;
  EXPECT_EQ(profiles_in(snapshot, options).rows(), 17u);  // there is one
}

}  // namespace
}  // namespace pergola

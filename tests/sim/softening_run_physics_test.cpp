#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/energy.hpp"
#include "base/error.hpp"
#include "sim/gravity_system.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

// Softening lengths that are comoving up to a largest proper value, which that of the halo reaches at a = 0.4.

constexpr double halo_length = 0.02, halo_limit = 0.008, disc_length = 0.03;
constexpr int pairs_per_side = 6;

RunConfig expanding(const std::string& limit, const std::string& device) {
  return parse_config(fmt::format(R"(
[run]
end_time = 0.9
precision = "double"
device = "{}"
threads = 1
[gravity]
solver = "treepm"
softening = {{ halo = {}, disc = {} }}
softening_kernel = "spline"
{}
[gravity.tree]
accuracy = 1e-4
[gravity.mesh]
box = 1
boundary = "periodic"
[cosmology]
omega_matter = 1
omega_lambda = 0
omega_baryon = 0
)",
                                  device, halo_length, disc_length, limit),
                      "test");
}
const std::string halo_limited = fmt::format("softening_max_proper = {{ halo = {} }}", halo_limit);

/// Pairs at rest on a lattice, closer than the softening lengths; every third is one of the disc.
Particles pairs_at_rest(const RunConfig& config) {
  Particles p;
  const int n = 2 * pairs_per_side * pairs_per_side * pairs_per_side;
  p.resize(n);
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int cell = i / 2;
    p.x[at] = (cell % pairs_per_side + 0.5) / pairs_per_side + (i % 2 ? 0.006 : -0.006);
    p.y[at] = (cell / pairs_per_side % pairs_per_side + 0.5) / pairs_per_side + (i % 2 ? 0.003 : 0);
    p.z[at] = (cell / pairs_per_side / pairs_per_side + 0.5) / pairs_per_side;
    p.mass[at] = physics::mean_density(*config.background(), 1) / n;
    p.species[at] = cell % 3 == 0 ? 2 : 1;
    p.id[at] = at + 1;
  }
  return p;
}

class SofteningOfARun : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, SofteningOfARun, OnEachDevice(), device_test_name);

// References: the potential energy with the lengths written down here, and Ewald's sum for the forces of the steps.
TEST_P(SofteningOfARun, IsComovingUpToALargestProperLength) {
  const RunConfig config = expanding(halo_limited, GetParam());
  GravitySystem run(config, pairs_at_rest(config), 0.3);
  for (const double a : {0.36, 0.5, 0.8}) {
    run.run_until(a);
    EXPECT_LT(run.audit(200).median, 1e-4) << a;  // first: it looks at what the steps have
    SolverOptions known = config.gravity;
    known.softening.most_proper = {};
    known.softening.epsilon[1] = a < 0.4 ? halo_length : halo_limit / a;
    known.precision = Precision::double_;
    known.mesh.box = run.box();
    const double expected = measure_energies(run.particles(), device(1), known).potential / a;
    EXPECT_NEAR(run.energies().potential / expected, 1, 1e-7) << a;
  }
}

TEST_P(SofteningOfARun, ALimitChangesNothingBeforeItIsReached) {
  const RunConfig with = expanding(halo_limited, GetParam()), without = expanding("", GetParam());
  GravitySystem one(with, pairs_at_rest(with), 0.3), other(without, pairs_at_rest(without), 0.3);
  for (auto* run : {&one, &other}) run->run_until(0.36);
  EXPECT_EQ(one.particles().x, other.particles().x);
  for (auto* run : {&one, &other}) run->run_until(0.6);
  EXPECT_NE(one.particles().x, other.particles().x);
}

TEST_P(SofteningOfARun, GoesOnFromASavedStateWithTheSameBits) {
  const RunConfig config = expanding(halo_limited, GetParam());
  GravitySystem whole(config, pairs_at_rest(config), 0.3), part(config, pairs_at_rest(config), 0.3);
  part.run_until(0.5);
  part.energies();
  GravitySystem resumed(config, part.save());
  for (auto* run : {&whole, &resumed}) run->run_until(0.6);
  EXPECT_EQ(whole.particles().x, resumed.particles().x);
  EXPECT_EQ(whole.particles().vz, resumed.particles().vz);
}

TEST(SofteningLimit, NeedsAUniverseAndIsWrittenAsItIsRead) {
  EXPECT_THROW(parse_config("[gravity]\nsoftening_max_proper = 0.1\n", "test"), Error);
  EXPECT_NO_THROW(parse_config("[gravity]\nsoftening_max_proper = 0\n", "test"));
  EXPECT_THROW(parse_config("[cosmology]\n[gravity]\nsoftening_max_proper = -1\n", "test"), Error);
  const RunConfig config = expanding(halo_limited, "cpu");
  EXPECT_EQ(config.gravity.softening.most_proper[1], halo_limit);
  EXPECT_EQ(config.gravity.softening.most_proper[2], 0);
  EXPECT_NE(config_text(config).find("softening_max_proper = { gas = 0, halo = 0.008"), std::string::npos);
}

}  // namespace
}  // namespace pergola

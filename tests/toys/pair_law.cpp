// A pair law is one header (toys/inverse_cube_law.inl), one source (the loops and the entry, here above the tests)
// and one line that registers it. Then configuration, run, plan, force and resume know it.
#include <limits>
#include <type_traits>

#include "device/simd_targets.hpp"
#include "gravity/pair_laws.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "toys/pair_law.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::direct::inverse_cube::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "gravity/direct_loops.inl"
// After direct_loops.inl, which brings the numbers:
#include "toys/inverse_cube_law.inl"

using SummedLaw = InverseCubeLaw;
#include "gravity/direct_instances.inl"

}  // namespace pergola::direct::inverse_cube::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "analysis/force_audit.hpp"
#include "base/philox.hpp"
#include "io/snapshot.hpp"
#include "run/plan.hpp"
#include "run/run.hpp"

namespace pergola {

namespace physics {
#include "toys/inverse_cube_law.inl"
}  // namespace physics

namespace direct::inverse_cube {

#include "gravity/direct_dispatch.inl"

}  // namespace direct::inverse_cube

PairLawEntry inverse_cube_law() {
  PairLawEntry entry = describe_law<physics::InverseCubeLaw>("inverse-cube", "gravity in four dimensions");
  entry.direct = direct::inverse_cube::loops();
  return entry;
}

namespace {

const SofteningKernel inverse_cube = register_pair_law(inverse_cube_law());

namespace fs = std::filesystem;

Particles some_particles(std::int64_t n) {
  Particles p;
  p.resize(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    Philox random(3, 0, static_cast<std::uint64_t>(i));
    for (double* value : {&p.x[k], &p.y[k], &p.z[k], &p.vx[k], &p.vy[k], &p.vz[k]}) *value = random.uniform() - 0.5;
    p.mass[k] = (1 + random.uniform()) / static_cast<double>(n);
  }
  return p;
}

// Reference: the law written out in long double.
TEST(PairLawFromOutside, TheDirectSumFollowsIt) {
  const double epsilon = 0.05;
  const auto p = some_particles(300);
  const auto device = Device::open("cpu", 1);
  for (const Precision precision : {Precision::single, Precision::mixed, Precision::double_}) {
    SolverOptions options;
    options.precision = precision;
    options.softening = Softening::same(epsilon);
    options.softening.kernel = inverse_cube;
    const auto solver = make_solver(options, device);
    const auto f = evaluate_forces(*solver, device, p, want_acceleration | want_jerk | want_potential);
    const double tolerance = precision == Precision::double_ ? 300 * 0x1p-53 : 300 * 0x1p-24;
    for (std::size_t i = 0; i < 300; i += 7) {
      long double a = 0, a_size = 0, j = 0, j_size = 0, potential = 0;
      for (std::size_t k = 0; k < 300; ++k) {
        if (k == i) continue;
        using Real = long double;
        const Real dx = Real(p.x[k]) - p.x[i], dy = Real(p.y[k]) - p.y[i], dz = Real(p.z[k]) - p.z[i];
        const Real wx = Real(p.vx[k]) - p.vx[i], wy = Real(p.vy[k]) - p.vy[i], wz = Real(p.vz[k]) - p.vz[i];
        const Real s = dx * dx + dy * dy + dz * dz + Real(epsilon) * epsilon, dw = dx * wx + dy * wy + dz * wz;
        const Real term = p.mass[k] * (wy / (s * s) - 4 * dw * dy / (s * s * s));
        a += p.mass[k] * dx / (s * s), a_size += p.mass[k] / (s * std::sqrt(s));
        j += term, j_size += p.mass[k] * 5 * std::sqrt((wx * wx + wy * wy + wz * wz)) / (s * s);
        potential -= p.mass[k] / (2 * s);
      }
      ASSERT_NEAR(f.ax[i], static_cast<double>(a), tolerance * static_cast<double>(a_size));
      ASSERT_NEAR(f.jy[i], static_cast<double>(j), tolerance * static_cast<double>(j_size));
      ASSERT_NEAR(f.potential[i], static_cast<double>(potential), -tolerance * static_cast<double>(potential));
    }
  }
}

class RunWithALawFromOutside : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("pergola-law-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  RunConfig config(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> sets{"time.integrator=" + GetParam(),
                                  "run.end_time=0.25",
                                  "run.device=cpu",
                                  "time.step=0.0078125",
                                  "output.snapshots_every=0.25",
                                  "gravity.softening=0.1",
                                  "gravity.softening_kernel=inverse-cube"};
    sets.insert(sets.end(), more.begin(), more.end());
    return parse_config("[particles]\nmodel = \"plummer\"\nn = 64\n", "test", sets);
  }
  Particles run(const std::string& name, int pause, double* energy_error = nullptr) const {
    RunOptions options;
    options.directory = folder_ / name;
    options.resume = true;
    for (int session = 1;; ++session) {
      int asked = 0;
      if (pause > 0) options.interrupted = [&] { return ++asked >= pause; };
      const auto summary = run_system(config(), options);
      if (summary.status == RunStatus::interrupted) continue;
      EXPECT_TRUE(pause == 0 || session > 1);
      if (energy_error) *energy_error = summary.energy_error;
      return read_snapshot(options.directory / "snap_001.hdf5").particles;
    }
  }
  fs::path folder_;
};

// Energy is conserved only where forces and potentials are of one law; with Plummer's the particles end elsewhere.
TEST_P(RunWithALawFromOutside, KeepsItsEnergyAndResumesWithTheSameBits) {
  double energy_error = 1;
  const auto whole = run("whole", 0, &energy_error);
  EXPECT_LT(std::abs(energy_error), 1e-4);
  const auto pieces = run("pieces", 3);
  EXPECT_EQ(whole.x, pieces.x);
  EXPECT_EQ(whole.vz, pieces.vz);
  RunOptions options;
  options.directory = folder_ / "plummer";
  run_system(config({"gravity.softening_kernel=plummer"}), options);
  const auto other = read_snapshot(options.directory / "snap_001.hdf5").particles;
  EXPECT_GT(std::abs(other.x[0] - whole.x[0]), 1e-4);
}

TEST_P(RunWithALawFromOutside, IsPlannedAndAuditedAndRefusedByTheTree) {
  EXPECT_TRUE(plan_run(config()).fits);
  const auto audit = audit_forces(config().solver_options(), Device::open("cpu", 1), some_particles(200), 50);
  EXPECT_EQ(audit.errors.sample, 50);
  EXPECT_LT(audit.errors.max, 1e-5);
  const auto message = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.what();
    }
    return "nothing was refused";
  };
  const auto unknown = message([&] { config({"gravity.softening_kernel=inverse-cubes"}); });
  EXPECT_NE(unknown.find("plummer, spline, inverse-cube"), std::string::npos) << unknown;
  const auto tree = message([&] { config({"time.integrator=leapfrog", "gravity.solver=tree"}); });
  EXPECT_NE(tree.find("gravity.softening_kernel"), std::string::npos) << tree;
}

INSTANTIATE_TEST_SUITE_P(Integrators, RunWithALawFromOutside, ::testing::Values("hermite", "leapfrog"),
                         [](const auto& integrator) { return integrator.param; });

}  // namespace
}  // namespace pergola
#endif

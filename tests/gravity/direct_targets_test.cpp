#include <gtest/gtest.h>

#include <cmath>

#include "device/simd_targets.hpp"
// after the list of targets
#include <hwy/targets.h>

#include "gravity/direct_reference.hpp"
#include "gravity/solver.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// Makes the SIMD code run as if the CPU had this instruction set and no better one, until the end of the scope.
class PretendTarget {
 public:
  explicit PretendTarget(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
  }
  ~PretendTarget() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
  PretendTarget(const PretendTarget&) = delete;
  PretendTarget& operator=(const PretendTarget&) = delete;
};

// Reference: Newton's law in long double (direct_reference.hpp). Tolerance: rounding of fp32 or fp64, the largest sum
// of a block having 256 terms; 2^-21.4 is 1/r³ with the 1/√ of AVX2.
TEST(DirectOnEachInstructionSet, AgreesWithTheLaw) {
  if constexpr (HWY_TARGETS == HWY_STATIC_TARGET) GTEST_SKIP() << "built for one instruction set";
  const auto p = random_particles(700, 21);
  const Softening softening = Softening::same(0.01);
  const std::int64_t supported = hwy::SupportedTargets();
  int tried = 0;
  // The last one is what every processor has; its name depends on the compiler.
  for (const auto& [target, name] : {std::pair<std::int64_t, std::string>{HWY_AVX3, "AVX3"},
                                     {HWY_AVX2, "AVX2"},
                                     {HWY_STATIC_TARGET, hwy::TargetName(HWY_STATIC_TARGET)}}) {
    if (target != HWY_STATIC_TARGET && (!(supported & target) || (target & HWY_DISABLED_TARGETS))) continue;
    ++tried;
    const PretendTarget pretend(target);
    EXPECT_EQ(cpu_instruction_set(), name);
    for (Precision precision : {Precision::single, Precision::mixed, Precision::double_}) {
      SolverOptions options;
      options.precision = precision;
      options.softening = softening;
      const auto device = Device::open("cpu");
      const auto solver = make_solver(options, device);
      const auto f = evaluate_forces(*solver, device, p, want_acceleration | want_jerk | want_potential);
      const double rounding = precision == Precision::double_ ? 300 * 0x1p-53 : 300 * 0x1p-24;
      for (std::size_t i = 0; i < p.x.size(); i += 9) {
        const auto r = reference_force(p, softening, i);
        ASSERT_NEAR(f.ax[i], static_cast<double>(r.a[0]), rounding * static_cast<double>(r.a_size)) << name;
        ASSERT_NEAR(f.jy[i], static_cast<double>(r.j[1]), rounding * static_cast<double>(r.j_size)) << name;
        ASSERT_NEAR(f.potential[i], static_cast<double>(r.potential), -rounding * static_cast<double>(r.potential));
      }
    }
  }
  EXPECT_GE(tried, 1);
}

}  // namespace
}  // namespace pergola

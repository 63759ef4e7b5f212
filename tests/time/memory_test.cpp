#include <gtest/gtest.h>
#include <malloc.h>

#include <ostream>
#include <string>
#include <vector>

#include "marks.hpp"
#include "models/model.hpp"
#include "time/integrator.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// What the C library has handed out.
double allocated_bytes() {
  const auto now = mallinfo2();
  return static_cast<double>(now.uordblks) + static_cast<double>(now.hblkhd);
}

bool allocations_are_seen() {
  const double before = allocated_bytes();
  const std::vector<char> some(10'000'000);
  return allocated_bytes() - before >= static_cast<double>(some.size());
}

constexpr std::int64_t particles = 40000;

struct Case {
  std::string name;
  SolverOptions gravity;
  TimeOptions time;
};
void PrintTo(const Case& one, std::ostream* to) { *to << one.name; }

Case a_case(const std::string& name, const std::string& solver, Precision precision, const std::string& integrator) {
  Case made{name, {}, {}};
  made.gravity.solver = solver;
  made.gravity.precision = precision;
  made.gravity.softening = Softening::same(0.01);
  made.gravity.mesh.cells = {32, 32, 32};
  made.gravity.mesh.box.side = {64, 64, 64};
  made.gravity.mesh.box.corner = {-32, -32, -32};
  made.time.integrator = integrator;
  made.time.step = 0.01;
  return made;
}

std::vector<Case> cases() {
  std::vector<Case> all{a_case("TreeMixed", "tree", Precision::mixed, "leapfrog"),
                        a_case("TreeDouble", "tree", Precision::double_, "leapfrog"),
                        a_case("Spline", "tree", Precision::mixed, "leapfrog"),
                        a_case("Blocks", "tree", Precision::mixed, "leapfrog"),
                        a_case("TreePm", "treepm", Precision::mixed, "leapfrog"),
                        a_case("Mesh", "mesh", Precision::single, "leapfrog")};
  all[2].gravity.softening.kernel = SofteningKernel::spline;
  all[3].time.steps = "block";
  return all;
}

class Memory : public testing::TestWithParam<Case> {};

/// The reference is the C library's own account.
TEST_P(Memory, IsWhatTheIntegratorSaysBeforehand) {
  if (!allocations_are_seen()) GTEST_SKIP() << "another allocator than the C library's";
  const Device device = Device::open("cpu", 1);
  ModelOptions options;
  options.n = particles;
  const Particles start = make_model("plummer", options);
  HostParticles source(start);
  const double before = allocated_bytes();
  const auto integrator =
      make_integrator(GetParam().time, GetParam().gravity, {device, serial_communicator(), nullptr});
  integrator->start(source, 0);
  const double found = allocated_bytes() - before;
  const auto said = static_cast<double>(integrator->device_bytes(particles));
  EXPECT_NEAR(found, said, 0.1 * said);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Memory, testing::ValuesIn(cases()), [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace pergola

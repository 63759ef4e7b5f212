#include <gtest/gtest.h>

#include "models/model.hpp"
#include "systems.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

// The long range of treepm has a step of its own. References are runs in which it has not: one step for all, shorter
// than any of the others, with whole forces.

class LongRangeStep : public DeviceTest {};

constexpr double epsilon = 0.1;

/// With a tenth of its particles in a small dense core, whose steps are shorter than those of the others.
Particles cluster() {
  ModelOptions options;
  options.n = 300;
  auto particles = make_model("plummer", options);
  for (std::size_t i = 0; i < 30; ++i) {
    for (auto* x : {&particles.x, &particles.y, &particles.z}) (*x)[i] *= 0.1;
    particles.mass[i] *= 5;
  }
  return particles;
}

/// A box in which both ranges matter: the split is half of the cluster's half-mass radius.
SolverOptions treepm() {
  SolverOptions options;
  options.solver = "treepm";
  options.precision = Precision::double_;
  options.softening = Softening::same(epsilon);
  options.softening.kernel = SofteningKernel::spline;
  options.tree.accuracy = 1e-5;
  options.mesh.box = {{-4, -4, -4}, {8, 8, 8}, Boundary::periodic};
  return options;
}

TimeOptions blocks(double eta) {
  auto time = leapfrog(1);
  time.steps = "block";
  time.eta = eta;
  return time;
}

/// Positions and velocities of the run at all times together.
std::vector<Particles> states(const TimeOptions& time, const Device& device, const std::vector<double>& at,
                              Profile* profile = nullptr) {
  const auto system = make_integrator(time, treepm(), {device, serial_communicator(), profile});
  system->start(cluster(), 0);
  std::vector<Particles> seen;
  for (const double t : at) {
    system->advance(t, nullptr);
    seen.push_back(system->state_at(t));
  }
  system->finish(at.back());
  seen.push_back(system->state_at(at.back()));
  return seen;
}

struct Error {
  double position = 0, velocity = 0;
};
Error rms(const std::vector<Particles>& a, const std::vector<Particles>& b) {
  Error squares;
  double count = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::size_t i = 0; i < a[k].id.size(); ++i, ++count) {
      Vec3<double> dx = position(a[k], i) - position(b[k], i);
      const auto dv = velocity(a[k], i) - velocity(b[k], i);
      for (double* d : {&dx.x, &dx.y, &dx.z}) *d -= 8 * std::round(*d / 8);
      squares.position += dot(dx, dx), squares.velocity += dot(dv, dv);
    }
  return {std::sqrt(squares.position / count), std::sqrt(squares.velocity / count)};
}

// Within steps of the long range, at their ends and after an early end of them all.
TEST_P(LongRangeStep, ErrorIsOfSecondOrderAtAnyTime) {
  const std::vector<double> at{0.03, 0.0711, 0.125, 0.2001, 0.25, 0.33};
  const auto exact = states(leapfrog(0x1p-9), device(2), at);
  const Error coarse = rms(states(blocks(0.02), device(2), at), exact),
              fine = rms(states(blocks(0.005), device(2), at), exact);
  EXPECT_NEAR(coarse.position / fine.position, 4, 1);
  EXPECT_NEAR(coarse.velocity / fine.velocity, 4, 1);
  EXPECT_LT(fine.position, 6e-5);
}

TEST_P(LongRangeStep, TheMeshIsNotSolvedForEveryStep) {
  Profile profile;
  states(blocks(0.02), device(2), {0.5}, &profile);
  std::int64_t solved = 0, walked = 0;
  for (const auto& stage : profile.stages()) {
    if (stage.name == "Poisson") solved = stage.calls;
    if (stage.name == "walk") walked = stage.calls;
  }
  EXPECT_GT(solved, 4);
  EXPECT_LT(2 * solved, walked);
}

INSTANTIATE_TEST_SUITE_P(Devices, LongRangeStep, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

#pragma once
#include <cstdint>

#include "base/host_device.hpp"
#include "physics/block_steps.hpp"
#include "physics/hermite.hpp"
#include "time/step_fault.hpp"

namespace pergola {

/// A particle at the start of its step.
struct HermiteStart {
  Vec3<double> x, v, a, j;
};

/// What a step needs beside the particle.
struct HermiteStep {
  std::int64_t now = 0;     // tick at which it ends, when the next step is chosen
  double eta = 0;           // accuracy
  double step_max = 0;      // the step of level 0
  bool choose_next = true;  // false: no step comes after this one
};

/// The end of a Hermite step of length dt with the force (a, j) found there: corrects position and velocity into (x, v)
/// and puts the level of the next step into `level`. One function for both devices.
PERGOLA_HD StepFault hermite_end_step(const HermiteStep& step, double dt, const HermiteStart& start,
                                      const Vec3<double>& a, const Vec3<double>& j, Vec3<double>& x, Vec3<double>& v,
                                      int& level) {
  if (!is_finite(a) || !is_finite(j)) return StepFault::force_not_finite;
  x = start.x, v = start.v;
  physics::hermite_correct(dt, x, v, start.a, start.j, a, j);
  if (!is_finite(x) || !is_finite(v)) return StepFault::state_not_finite;
  if (!step.choose_next) return StepFault::none;
  Vec3<double> snap, crackle;
  physics::hermite_derivatives(dt, start.a, start.j, a, j, snap, crackle);
  const double wanted = physics::aarseth_step(step.eta, a, j, snap, crackle);
  const int next = physics::next_level(level, wanted, step.step_max, step.now);
  if (next > physics::deepest_level) return StepFault::step_too_short;
  level = next;
  return StepFault::none;
}

}  // namespace pergola

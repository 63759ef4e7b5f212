#pragma once
#include <cstdint>

#include "base/host_device.hpp"
#include "physics/hermite.hpp"

namespace pergola {

/// Why a particle's Hermite step could not be taken.
enum class HermiteFault : std::uint8_t { none, force_not_finite, state_not_finite, step_too_short };

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

PERGOLA_HD bool is_finite(const Vec3<double>& v) {
  // A difference of a number with itself is zero unless the number is infinite or none.
  const double sum = (v.x - v.x) + (v.y - v.y) + (v.z - v.z);
  return sum == 0;
}

/// The end of a Hermite step of length dt with the force (a, j) found there: corrects position and velocity into (x, v)
/// and puts the level of the next step into `level`. One function for both devices.
PERGOLA_HD HermiteFault hermite_end_step(const HermiteStep& step, double dt, const HermiteStart& start,
                                         const Vec3<double>& a, const Vec3<double>& j, Vec3<double>& x, Vec3<double>& v,
                                         int& level) {
  if (!is_finite(a) || !is_finite(j)) return HermiteFault::force_not_finite;
  x = start.x, v = start.v;
  physics::hermite_correct(dt, x, v, start.a, start.j, a, j);
  if (!is_finite(x) || !is_finite(v)) return HermiteFault::state_not_finite;
  if (!step.choose_next) return HermiteFault::none;
  Vec3<double> snap, crackle;
  physics::hermite_derivatives(dt, start.a, start.j, a, j, snap, crackle);
  const double wanted = physics::aarseth_step(step.eta, a, j, snap, crackle);
  const int next = physics::next_level(level, wanted, step.step_max, step.now);
  if (next > physics::deepest_level) return HermiteFault::step_too_short;
  level = next;
  return HermiteFault::none;
}

}  // namespace pergola

#pragma once
#include "particles/box.hpp"
#include "particles/shown_state.hpp"
#include "physics/hermite.hpp"
#include "physics/leapfrog.hpp"
#include "time/block_loops.hpp"

namespace pergola {

// The output views of the integrators: how a particle is brought from the state to the time at which it is shown. A
// rule gets place and velocity in double precision and changes them; the store (particles/shown_state.hpp) applies it
// piece by piece, on either device. Without fused multiply-add on a GPU (src/CMakeLists.txt): what is written has the
// same bits wherever it is formed. A rule with moves() == false leaves positions as they are.

/// Leapfrog with shared steps, at a time after the latest one.
template <class Real>
struct ShowLeapfrog {
  const Real *ax, *ay, *az;
  double pending_kick;  // what the velocities lack
  double drift, kick;   // from the latest step to what is shown: both the time between them unless space expands
  double speed;         // what is shown over the velocity of the state
  Box box;

  bool moves() const { return drift != 0; }
  PERGOLA_HD void operator()(std::int64_t i, Vec3<double>& x, Vec3<double>& v) const {
    const Vec3<double> a{ax[i], ay[i], az[i]};
    if (pending_kick != 0) physics::kick<double>(pending_kick, v, a);
    if (drift != 0) {
      physics::leapfrog_predict<double>(drift, kick, x, v, a);
      if (box.periodic()) x = wrap(x, box);
    }
    if (speed != 1) v = speed * v;
  }
};

/// Leapfrog with block steps, at the early end of all of them.
template <class Real>
struct ShowBlocks {
  const Real *ax, *ay, *az;
  const Real *long_ax, *long_ay, *long_az;  // null: the long range has no step of its own
  const std::int8_t* level;
  EarlyEnd end;
  double kick;    // from the latest step to what is shown
  bool finished;  // velocities are at the time of the positions
  double speed;   // what is shown over the velocity of the state
  Box box;

  bool moves() const { return true; }
  PERGOLA_HD void operator()(std::int64_t i, Vec3<double>& x, Vec3<double>& v) const {
    const Vec3<double> a{ax[i], ay[i], az[i]};
    Vec3<double> long_a{0, 0, 0};
    if (long_ax) long_a = {long_ax[i], long_ay[i], long_az[i]};
    if (finished) {
      physics::leapfrog_predict(end.drift, kick, x, v, long_ax ? a + long_a : a);
    } else {
      end_step_early(end, level[i], x, v, a, long_a);
      close_step_early(end, level[i], v, a, long_a);
      if (box.periodic()) x = wrap(x, box);
    }
    if (speed != 1) v = speed * v;
  }
};

/// Hermite, `elapsed` after tick 0.
template <class Real>
struct ShowHermite {
  const Real *ax, *ay, *az, *jx, *jy, *jz;
  const std::int64_t* tick;
  double elapsed, tick_length, offset;

  bool moves() const { return true; }
  PERGOLA_HD void operator()(std::int64_t i, Vec3<double>& x, Vec3<double>& v) const {
    const double dt = (elapsed - static_cast<double>(tick[i]) * tick_length) - offset;
    if (dt != 0) physics::hermite_predict<double>(dt, x, v, {ax[i], ay[i], az[i]}, {jx[i], jy[i], jz[i]});
  }
};

}  // namespace pergola

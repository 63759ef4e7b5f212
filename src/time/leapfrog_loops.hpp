#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "device/device.hpp"
#include "gravity/solver.hpp"
#include "particles/box.hpp"
#include "physics/hermite.hpp"
#include "physics/leapfrog.hpp"

namespace pergola {

/// The arrays of a leapfrog run on its device.
template <class Real>
struct LeapfrogArrays {
  std::int64_t count = 0;
  Real *x = nullptr, *y = nullptr, *z = nullptr;
  Real *vx = nullptr, *vy = nullptr, *vz = nullptr;
  Real *ax = nullptr, *ay = nullptr, *az = nullptr;
  Real *jx = nullptr, *jy = nullptr, *jz = nullptr;  // null unless the step is chosen from the jerk
  const std::uint8_t* species = nullptr;
};

/// One pass over the particles: v += a first, v += a second, x += v drift, then x into the box where it is periodic.
/// Two kicks in a row are the closing one of a step and the opening one of the next.
struct KickDrift {
  double first_kick = 0, second_kick = 0, drift = 0;
  Box box;
};

/// A particle whose position or velocity is not finite.
struct NotFinite {
  std::int64_t pass = 0;   // the first pass after reset() that found one, from 0
  std::int64_t place = 0;  // the lowest place there
};

/// The shortest of the steps that the particles want; see time.eta and time.courant.
struct StepWish {
  double eta = 0;
  Softening softening;        // zero: from the jerk
  double courant_length = 0;  // no particle moves farther than this in a step; 0: any length
  double pending_kick = 0;    // what the velocities lack: v + a pending_kick
  double acceleration_scale = 1,
         courant_scale = 1;  // of the two wishes, where space expands (Expansion, time/leapfrog.hpp)
};

/// The step that particle i wants under an acceleration; epsilon: its softening length. physics::acceleration_step
/// where it is softened, else physics::starting_step from the jerk, and physics::courant_step.
template <class Real>
PERGOLA_HD double wanted_step(const LeapfrogArrays<Real>& s, std::int64_t i, const Vec3<double>& a,
                              const StepWish& wish, double epsilon, double pending_kick) {
  const double step = wish.acceleration_scale *
                      (epsilon > 0 ? physics::acceleration_step<double>(wish.eta, epsilon, a)
                                   : physics::starting_step<double>(wish.eta, a, {s.jx[i], s.jy[i], s.jz[i]}));
  if (wish.courant_length <= 0) return step;
  Vec3<double> v{s.vx[i], s.vy[i], s.vz[i]};
  physics::kick<double>(pending_kick, v, a);
  const double crossing = wish.courant_scale * physics::courant_step<double>(wish.courant_length, v);
  return crossing < step ? crossing : step;
}

/// The same under its own acceleration.
template <class Real>
PERGOLA_HD double wanted_step(const LeapfrogArrays<Real>& s, std::int64_t i, const StepWish& wish, double epsilon,
                              double pending_kick) {
  return wanted_step(s, i, Vec3<double>{s.ax[i], s.ay[i], s.az[i]}, wish, epsilon, pending_kick);
}

/// The loops over particles that the leapfrog needs, one implementation per device: time/leapfrog_cpu.cpp and
/// time/leapfrog_cuda.cu. Formulas in physics/leapfrog.hpp and physics/hermite.hpp. They do not wait for a GPU unless
/// they return a number. Each particle is worked on by itself: the order in memory and the number of threads change no
/// bit. Numbers that are not finite are noted by pass and place, so that a batch of steps can be looked at afterwards.
template <class Real>
class LeapfrogLoops {
 public:
  virtual ~LeapfrogLoops() = default;
  virtual void kick_drift(const LeapfrogArrays<Real>& arrays, const KickDrift& pass) = 0;
  /// What the passes since the last call found.
  virtual std::optional<NotFinite> take_not_finite() = 0;
  /// The smallest wanted step over all particles. Infinite when no particle feels a force.
  virtual double minimum_step(const LeapfrogArrays<Real>& arrays, const StepWish& wish) = 0;
  /// The first particle whose position, velocity or acceleration is not finite; −1: none.
  virtual std::int64_t first_not_finite(const LeapfrogArrays<Real>& arrays) = 0;
};

template <class Real>
PERGOLA_API std::unique_ptr<LeapfrogLoops<Real>> make_leapfrog_loops(const Device& device);
template <class Real>
std::unique_ptr<LeapfrogLoops<Real>> make_leapfrog_loops_cpu(const Device& device);
template <class Real>
std::unique_ptr<LeapfrogLoops<Real>> make_leapfrog_loops_cuda(const Device& device);

}  // namespace pergola

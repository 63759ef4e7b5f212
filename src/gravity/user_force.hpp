#pragma once
#include <cstdint>
#include <functional>

#include "device/device.hpp"

namespace pergola {

/// One call of a user's force: the active particles and their accelerations, on the solver's device. The
/// arrays of the particles hold all of them, in the order of memory; particle t of `count` is at place(t).
template <class Real>
struct ForceCall {
  const Device* device = nullptr;
  double time = 0;         // of the places; 0 for an evaluation outside a run
  std::int64_t count = 0;  // active particles
  const Real *x = nullptr, *y = nullptr, *z = nullptr;
  /// Null where the evaluation has none. A leapfrog's stand half a step before the places: a force that depends on
  /// them is of first order in the step.
  const Real *vx = nullptr, *vy = nullptr, *vz = nullptr;
  const Real* mass = nullptr;
  const std::uint8_t* species = nullptr;             // may be null
  Real *ax = nullptr, *ay = nullptr, *az = nullptr;  // by t: to be added to
  /// The same for what a force gives as its jerk: how its acceleration changes on the particle's way. Null: not asked.
  Real *jx = nullptr, *jy = nullptr, *jz = nullptr;
  const std::int64_t* index = nullptr;  // null: one after the other, from `first` on
  std::int64_t first = 0;

  std::int64_t place(std::int64_t t) const { return index ? index[t] : first + t; }
};

/// A force that a user of the library adds to those of any solver. It is called once per force evaluation, in the
/// numbers of the run's precision, with all targets; on a GPU it queues its work on the device's stream. It has no
/// potential: energies do not know it. Where jerks are asked of one that gives none, it is called three times for each
/// evaluation, and accelerations in two of these calls begin at zero.
struct UserForce {
  std::function<void(const ForceCall<float>&)> in_single;
  std::function<void(const ForceCall<double>&)> in_double;
  bool gives_jerk = false;  // adds to ForceCall::jx too, where it is not null
};

/// From one function for both kinds of numbers: user_force([](const auto& call) { ... }).
template <class Function>
UserForce user_force(Function function, bool gives_jerk = false) {
  return {function, function, gives_jerk};
}

}  // namespace pergola

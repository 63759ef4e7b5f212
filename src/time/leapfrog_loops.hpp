#pragma once
#include <cstdint>
#include <memory>

#include "device/device.hpp"
#include "gravity/solver.hpp"

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

/// The loops over particles that the leapfrog needs, one implementation per device: time/leapfrog_cpu.cpp and
/// time/leapfrog_cuda.cu. Formulas in physics/leapfrog.hpp and physics/hermite.hpp.
template <class Real>
class LeapfrogLoops {
 public:
  virtual ~LeapfrogLoops() = default;
  virtual void kick(const LeapfrogArrays<Real>& arrays, double dt) = 0;
  virtual void drift(const LeapfrogArrays<Real>& arrays, double dt) = 0;
  /// The smallest wanted step over all particles: physics::acceleration_step where the particle is softened, else
  /// physics::starting_step from the jerk. Infinite when no particle feels a force.
  virtual double minimum_step(const LeapfrogArrays<Real>& arrays, double eta, const Softening& softening) = 0;
  /// The first particle whose position, velocity or acceleration is not finite; −1: none.
  virtual std::int64_t first_not_finite(const LeapfrogArrays<Real>& arrays) = 0;
};

template <class Real>
std::unique_ptr<LeapfrogLoops<Real>> make_leapfrog_loops_cpu(const Device& device);
template <class Real>
std::unique_ptr<LeapfrogLoops<Real>> make_leapfrog_loops_cuda(const Device& device);

}  // namespace pergola

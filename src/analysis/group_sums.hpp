#pragma once
#include <cstdint>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/measures.hpp"

// What is summed over the particles of groups: in one order on CPU and CUDA, so that both have the same bits.
namespace pergola {

/// Of the members, by rising id.
struct MemberSums {
  double mass = 0;
  Vec3<double> momentum{0, 0, 0};
  double square = 0;  // Σ m v²
};

/// Fewer particles than these say nothing about a sphere: neither its density nor what moves in it.
inline constexpr std::int64_t least_in_sphere = 10;

/// Whether the mean density of a sphere is not below a limit.
PERGOLA_HD bool is_as_dense(double mass, double radius, double density) {
  return mass >= density * physics::shell_volume(0.0, radius);
}

/// The first particles that are seen from a centre, nearest first.
struct SphereMass {
  double mass = 0;
  std::int64_t particles = 0;
};

/// Of the spheres of 200 mean and critical densities about a centre, particle by particle outward.
struct SphereSums {
  double within = 0;  // the mass of all that was looked at
  SphereMass of_mean, of_critical;
  // Of the latter:
  double peak_speed = 0;                   // the largest circular speed from least_in_sphere particles on
  Vec3<double> angular_momentum{0, 0, 0};  // about the centre, as seen from the mean velocity
};

}  // namespace pergola

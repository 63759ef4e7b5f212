#pragma once
#include "base/host_device.hpp"

namespace pergola::physics {

/// The potential energy of a sphere of even density: −(3/5) G M²/R. Binney & Tremaine 2008, section 2.2.2.
template <class R>
PERGOLA_HD R uniform_sphere_potential_energy(R g, R mass, R radius) {
  return R(-0.6) * g * mass * mass / radius;
}

}  // namespace pergola::physics

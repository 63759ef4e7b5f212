#pragma once
#include <cstdint>
#include <vector>

namespace pergola {

/// The macro-particles of one species on the host: positions in cells, 0 ≤ x < cells, velocities in cells ω_p. z is
/// empty in 2D and vz where two velocities are kept. The order is never identity: a particle is known by its id.
struct PlasmaParticles {
  std::vector<std::uint64_t> id;
  std::vector<double> x, y, z;
  std::vector<double> vx, vy, vz;

  std::int64_t size() const { return static_cast<std::int64_t>(id.size()); }
};

}  // namespace pergola

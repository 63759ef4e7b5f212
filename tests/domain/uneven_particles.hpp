#pragma once
#include <cstdint>

#include "particles/particles.hpp"

namespace pergola {

/// All different, with numbers that floats do not hold.
inline Particles uneven_particles(std::int64_t n) {
  Particles particles;
  particles.resize(n);
  for (std::size_t k = 0; k < particles.id.size(); ++k) {
    const auto number = static_cast<double>(k);
    particles.id[k] = 1000 - k;
    particles.species[k] = static_cast<std::uint8_t>(k % 6);
    particles.mass[k] = 1 + number / 3;
    particles.x[k] = number / 7, particles.y[k] = -number / 11, particles.z[k] = number * number / 3;
    particles.vx[k] = 0.1 * number, particles.vy[k] = 7, particles.vz[k] = -number / 7;
  }
  return particles;
}

}  // namespace pergola

#include "particles/device_source.hpp"

#include <algorithm>

namespace pergola {

double total_mass(ParticleSource& particles) {
  constexpr std::int64_t piece_particles = std::int64_t{1} << 20;
  if (const auto* made = dynamic_cast<const DeviceSource*>(&particles); made && made->total_mass() > 0)
    return made->total_mass();
  double mass = 0;
  Particles piece;
  for (std::int64_t first = 0; first < particles.count(); first += piece.size()) {
    particles.read(first, std::min(particles.count() - first, piece_particles), piece);
    for (const double m : piece.mass) mass += m;
  }
  return mass;
}

}  // namespace pergola

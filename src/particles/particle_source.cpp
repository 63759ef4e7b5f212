#include "particles/particle_source.hpp"

#include <algorithm>

namespace pergola {

void HostParticles::read(std::int64_t first, std::int64_t n, Particles& to) {
  const auto part = [&](const auto& from, auto& into) {
    if (from.empty()) return into.clear();
    into.assign(from.begin() + first, from.begin() + first + n);
  };
  for_each_array(part, particles_, to);
}

Particles read_at(ParticleSource& particles, const std::vector<std::int64_t>& places) {
  Particles some, one;
  for (const std::int64_t place : places) {
    particles.read(place, 1, one);
    some.append(one);
  }
  return some;
}

double total_mass(ParticleSource& particles) {
  constexpr std::int64_t piece_particles = std::int64_t{1} << 20;
  if (const double known = particles.total_mass(); known > 0) return known;
  double mass = 0;
  Particles piece;
  for (std::int64_t first = 0; first < particles.count(); first += piece.size()) {
    particles.read(first, std::min(particles.count() - first, piece_particles), piece);
    for (const double m : piece.mass) mass += m;
  }
  return mass;
}

}  // namespace pergola

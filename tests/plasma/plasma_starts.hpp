#pragma once
// Particles for the tests of the plasma.
#include <cmath>
#include <functional>
#include <random>

#include "plasma/system.hpp"

namespace pergola {

inline constexpr double two_pi = 6.283185307179586;

/// A uniform Maxwellian, all at random.
inline PlasmaParticles random_particles(const PlasmaOptions& options, std::int64_t count, double thermal_velocity,
                                        std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal(0, thermal_velocity);
  PlasmaParticles particles;
  for (std::int64_t i = 0; i < count; ++i) {
    particles.id.push_back(static_cast<std::uint64_t>(i) + 1);
    particles.x.push_back(options.cells[0] * uniform(engine));
    particles.y.push_back(options.cells[1] * uniform(engine));
    if (options.dimensions == 3) particles.z.push_back(options.cells[2] * uniform(engine));
    particles.vx.push_back(normal(engine));
    particles.vy.push_back(normal(engine));
    if (options.velocities == 3) particles.vz.push_back(normal(engine));
  }
  return particles;
}

/// One species of electrons, `per_cell` in a cell, whose plasma frequency is 1.
inline PlasmaOptions electrons(std::array<int, 3> cells, double per_cell, int velocities = 2) {
  PlasmaOptions options;
  options.dimensions = cells[2] > 1 ? 3 : 2;
  options.cells = cells;
  options.velocities = options.dimensions == 3 ? 3 : velocities;
  options.species = {{"electrons", -1, 1, 1 / per_cell}};
  return options;
}

}  // namespace pergola

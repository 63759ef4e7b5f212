#pragma once
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "plasma/particles.hpp"
#include "plasma/tiles.hpp"

namespace pergola::plasma {

/// Host particles, seen as particles of tiles.
template <class Real>
struct SettledParticles {
  const PlasmaOptions& options;
  const PlasmaSpecies& species;
  const TileGrid& grid;
  const PlasmaParticles& from;

  Leaver<Real> settled(std::size_t i) const {
    const std::vector<double>* const place[] = {&from.x, &from.y, &from.z};
    const std::vector<double>* const velocity[] = {&from.vx, &from.vy, &from.vz};
    Leaver<Real> particle;
    std::array<int, 3> tile{};
    for (int a = 0; a < options.dimensions; ++a) {
      auto grains = static_cast<std::int64_t>(
          std::rint(checked_place(i, a, (*place[a])[i]) * static_cast<double>(physics::place_grains<Real>)));
      physics::settle<Real>(grid.axis[a], tile[a], grains);
      particle.place[a] = static_cast<typename physics::PlasmaCounts<Real>::Place>(grains);
    }
    for (int a = 0; a < options.velocities; ++a) {
      particle.velocity[a] = static_cast<Real>((*velocity[a])[i]);
      if (!std::isfinite(particle.velocity[a]))
        throw Error(ErrorKind::input,
                    fmt::format("plasma: species {}: particle id {} has velocity {}, expected a finite number",
                                species.name, from.id[i], (*velocity[a])[i]));
    }
    particle.tile = grid.number(tile);
    return particle;
  }

 private:
  double checked_place(std::size_t i, int axis, double x) const {
    if (!(x >= 0 && x <= options.cells[axis]))
      throw Error(ErrorKind::input,
                  fmt::format("plasma: species {}: particle id {} is at {} on axis {}, expected 0 to {} cells",
                              species.name, from.id[i], x, axis, options.cells[axis]));
    return x;
  }
};

/// A place in a tile as a position in the box, in cells: exact.
template <class Real>
double position(const physics::TileAxis& axis, int tile, typename physics::PlasmaCounts<Real>::Place place) {
  constexpr double cell = 1 / static_cast<double>(physics::place_grains<Real>);
  return axis.corner(tile) + cell * static_cast<double>(place);
}

}  // namespace pergola::plasma

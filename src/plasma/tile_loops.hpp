#pragma once
// Loops over the particles of one tile: what takes the time of a step on the CPU.
#include <vector>

#include "plasma/tile_slab.hpp"

namespace pergola::plasma {

/// One push of the particles of a tile.
template <class Real>
struct PushTask {
  const TileGrid* grid = nullptr;
  int tile = 0;
  std::array<int, 3> at{};      // where the tile is, in tiles
  const Real* field = nullptr;  // components of the electric field one after the other, each a Patch
  physics::BorisFactors<Real> factors{};
  Real drift = 0;  // grains per velocity
};

/// What a push leaves over: particles that go elsewhere and where they were, and those that cannot be moved, which
/// stay.
template <class Real>
struct PushRest {
  std::vector<Leaver<Real>> leavers;
  std::vector<std::uint32_t> holes;  // places of the leavers in the tile, ascending
  std::vector<LostParticle> lost;
};

/// Sums over the particles of a tile with v ahead by a kick: the largest of v² and |v| first, then whole quanta of v²
/// and v, which do not depend on the order.
struct TileBounds {
  double square = 0, component = 0;
};
struct TileSums {
  std::int64_t square = 0;
  std::array<std::int64_t, 3> component{};
};

template <class Real>
struct TileLoops {
  using Particles = TileParticles<Real>;

  /// Values of a Patch.
  int patch_size = 0;
  /// Copies a field component around the tile into a patch; `field` begins with the window's first layer.
  void (*fetch)(const TileGrid& grid, int tile, const Real* field, const LayerWindow& window, std::int64_t pitch,
                Real* patch);
  /// Moves the particles; adds the charge of those that stay to `charge`, a patch.
  void (*push)(const PushTask<Real>& task, const Particles& particles, std::int64_t* charge, PushRest<Real>& rest);
  /// Adds the charge of all particles.
  void (*deposit)(const Particles& particles, std::int64_t* charge);
  void (*deposit_one)(const typename physics::PlasmaCounts<Real>::Place* place, std::int64_t* charge);
  void (*find_bounds)(const PushTask<Real>& task, const Particles& particles, TileBounds& bounds);
  void (*add_up)(const PushTask<Real>& task, const Particles& particles, double squares_per_quantum,
                 double components_per_quantum, TileSums& sums);
};

template <class Real>
TileLoops<Real> choose_tile_loops(const PlasmaOptions& options);

}  // namespace pergola::plasma

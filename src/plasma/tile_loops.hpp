#pragma once
/// Loops over the particles of one tile: they take the time of a step on the CPU.
///
/// TileLoops is a table of functions for one kind of plasma (dimensions, velocities, cloud, pusher, precision),
/// compiled once per instruction set from plasma/tile_loops.inl. What particles deposit, charge or with a relativistic
/// pusher currents, is counted in whole units into the tile's patches of the grid, so the order of the particles does
/// not matter. The functions after it treat single particles: those that leave the tile, and the scalar end of the
/// loops.
#include <cmath>
#include <vector>

#include "physics/plasma_current.hpp"
#include "plasma/tiles.hpp"

namespace pergola::plasma {

/// One push of the particles of a tile.
/// `drift` is the time of the push times grains per cell.
template <class Real>
struct PushTask {
  const TileGrid* grid = nullptr;
  int tile = 0;
  std::array<int, 3> at{};      // where the tile is, in tiles
  const Real* field = nullptr;  // components of the gathered field one after the other, each a Patch
  physics::BorisFactors<Real> factors{};
  Real drift = 0;  // grains per velocity
  Real time = 0;   // of the drift
};

/// What a push leaves over: particles that leave the tile with their old places, and particles that cannot be moved,
/// which stay.
template <class Real>
struct PushRest {
  std::vector<Leaver<Real>> leavers;
  std::vector<std::uint32_t> holes;  // places of the leavers in the tile, ascending
  std::vector<LostParticle> lost;
};

/// Measures of a tile's particles with velocities a kick ahead: first the largest v² and |v|, then sums over the
/// components of v² (relativistic: of twice the kinetic energy by mass) and of v in fixed-point units, which do not
/// depend on the order.
struct TileBounds {
  double square = 0, component = 0;
};
struct TileSums {
  std::array<std::int64_t, 3> square{}, component{};
};

/// The functions take pointers to plain memory and never allocate, except for the lists in PushRest.
template <class Real>
struct TileLoops {
  using Particles = TileParticles<Real>;

  int patch_size = 0;  // values of a Patch
  int components = 0;  // of the gathered field
  int currents = 0;    // that a push counts, each in a Patch with a margin, of current_size values; 0: charge
  int current_size = 0;
  /// Copies a field component around the tile into a patch; `field` begins with the window's first layer.
  void (*fetch)(const TileGrid& grid, int tile, const Real* field, const LayerWindow& window, std::int64_t pitch,
                Real* patch);
  /// Moves the particles; adds the charge of those that stay, or the currents of all, to `counts`.
  void (*push)(const PushTask<Real>& task, const Particles& particles, std::int64_t* counts, PushRest<Real>& rest);
  /// Adds the charge of all particles to a patch.
  void (*deposit)(const Particles& particles, std::int64_t* charge);
  void (*deposit_one)(const typename physics::PlasmaCounts<Real>::Place* place, std::int64_t* charge);
  void (*find_bounds)(const PushTask<Real>& task, const Particles& particles, TileBounds& bounds);
  void (*add_up)(const PushTask<Real>& task, const Particles& particles, double squares_per_quantum,
                 double components_per_quantum, TileSums& sums);
};

/// For the best instruction set of this processor.
template <class Real>
TileLoops<Real> choose_tile_loops(const PlasmaOptions& options);

/// Grid points that a cloud touches.
template <int dimensions, int points>
inline constexpr int cloud_size = points* points*(dimensions == 3 ? points : 1);

/// Offsets of a cloud's points in a patch, from the first.
template <int dimensions, int points>
inline constexpr auto cloud_offsets = [] {
  constexpr int side = Patch<dimensions, points>::side;
  std::array<int, cloud_size<dimensions, points>> offsets{};
  for (int p = 0; p < cloud_size<dimensions, points>; ++p)
    offsets[p] = (p / points / points * side + p / points % points) * side + p % points;
  return offsets;
}();
template <int dimensions, int points>
constexpr int cloud_offset(int point) {
  return cloud_offsets<dimensions, points>[point];
}

/// Adds the charge of one particle to a patch.
template <int dimensions, int points, class Real>
void deposit_one(const typename physics::PlasmaCounts<Real>::Place* place, std::int64_t* charge) {
  using Area = Patch<dimensions, points>;
  constexpr int last = cloud_size<dimensions, points> - 1;
  physics::AxisWeights<points, Real> cloud[dimensions];
  int first = 0;
  for (int a = dimensions - 1; a >= 0; --a) {
    cloud[a] = physics::axis_cloud<points, Real>(place[a]);
    first = first * Area::side + cloud[a].first + Area::before;
  }
  std::int64_t rest = std::int64_t{1} << physics::PlasmaCounts<Real>::charge_bits;
  for (int p = 0; p < last; ++p) {
    Real weight = cloud[0].weight[p % points] * cloud[1].weight[p / points % points];
    if (dimensions == 3) weight *= cloud[dimensions - 1].weight[p / points / points];
    const std::int64_t share = physics::charge_share(weight);
    charge[first + cloud_offset<dimensions, points>(p)] += share;
    rest -= share;
  }
  charge[first + cloud_offset<dimensions, points>(last)] += rest;
}

/// Adds the charge of a particle to a patch as the currents of moving particles change it.
template <int dimensions, int points, class Real>
void deposit_whole(const typename physics::PlasmaCounts<Real>::Place* place, std::int64_t* charge) {
  using Area = Patch<dimensions, points>;
  using Place = typename physics::PlasmaCounts<Real>::Place;
  constexpr int bits = physics::PlasmaCounts<Real>::place_bits;
  constexpr Place half = points == 3 ? Place{1} << (bits - 1) : 0;
  Real inside[dimensions];
  int first = 0;
  for (int a = dimensions - 1; a >= 0; --a) {
    inside[a] = physics::inside_cell<points, Real>(place[a]);
    first = first * Area::side + static_cast<int>((place[a] + half) >> bits) - (points - 2) + Area::before;
  }
  Place share[cloud_size<dimensions, points>];
  physics::whole_shares<dimensions, points>(inside, share);
  for (int p = 0; p < cloud_size<dimensions, points>; ++p)
    charge[first + cloud_offset<dimensions, points>(p)] += share[p];
}

/// What is left to do for a particle that leaves its tile: all of its move, only to find its tile, or nothing, because
/// it cannot be moved.
enum class LeaverMove { due, done, impossible };

/// The new place of a particle with its new velocity; false if its velocity is not finite or out of bounds.
template <int dimensions, int velocities, class Real>
bool find_new_place(const PushTask<Real>& task, const TileParticles<Real>& particles, std::int64_t i, LeaverMove move,
                    Leaver<Real>& particle) {
  using Place = typename physics::PlasmaCounts<Real>::Place;
  constexpr Real bound = static_cast<Real>(std::int64_t{1} << 60);
  for (int a = 0; a < velocities; ++a) {
    particle.velocity[a] = particles.velocity(a)[i];
    if (move == LeaverMove::due && !(std::fabs(particle.velocity[a] * task.drift) < bound)) return false;
  }
  if (move == LeaverMove::impossible) return false;
  auto tile = task.at;
  for (int a = 0; a < dimensions; ++a) {
    const bool due = move == LeaverMove::due;
    std::int64_t place = particles.place(a)[i] + (due ? physics::displacement(particle.velocity[a], task.drift) : 0);
    physics::settle<Real>(task.grid->axis[a], tile[a], place);
    particle.place[a] = static_cast<Place>(place);
  }
  particle.tile = task.grid->number(tile);
  return true;
}

/// Finishes the step of a particle that has its new velocity but would leave the tile: puts it elsewhere in the tile
/// (in a box of one tile), lists it as a leaver, or lists it as lost.
template <int dimensions, int points, int velocities, class Real>
void settle_leaver(const PushTask<Real>& task, const TileParticles<Real>& particles, std::int64_t i, LeaverMove move,
                   std::int64_t* charge, PushRest<Real>& rest) {
  Leaver<Real> moved;
  moved.rank = particles.rank()[i];
  if (!find_new_place<dimensions, velocities>(task, particles, i, move, moved)) {
    rest.lost.push_back({moved.rank, {moved.velocity[0], moved.velocity[1], moved.velocity[2]}});
    for (int a = 0; a < dimensions; ++a) moved.place[a] = particles.place(a)[i];
    moved.tile = task.tile;
  }
  if (moved.tile == task.tile) {
    for (int a = 0; a < dimensions; ++a) particles.place(a)[i] = moved.place[a];
    if (move == LeaverMove::due) deposit_one<dimensions, points, Real>(moved.place, charge);
  } else {
    rest.leavers.push_back(moved);
    rest.holes.push_back(static_cast<std::uint32_t>(i));
    for (int a = 0; a < dimensions; ++a) particles.place(a)[i] = 0;  // old particles behind the last are in the tile
  }
}

/// Copies a field component around a tile into a patch.
template <int dimensions, int points, class Real>
void fetch_patch(const TileGrid& grid, int number, const Real* field, const LayerWindow& window, std::int64_t pitch,
                 Real* patch) {
  using Area = Patch<dimensions, points>;
  const auto tile = grid.tile(number);
  const auto wrapped = [](const physics::TileAxis& axis, int point) {
    point %= axis.cells;
    return point < 0 ? point + axis.cells : point;
  };
  const int ny = grid.axis[1].cells, layers = Area::rows / Area::side;
  const int x0 = grid.axis[0].corner(tile[0]) - Area::before;
  for (int layer = 0; layer < layers; ++layer) {
    const int z = dimensions == 3 ? window.at(grid.axis[2].corner(tile[2]) + layer - Area::before) : 0;
    for (int row = 0; row < Area::side; ++row) {
      const int point = grid.axis[1].corner(tile[1]) + row - Area::before;
      const int y = dimensions == 3 ? wrapped(grid.axis[1], point) : window.at(point);
      const Real* const from = field + (std::int64_t{z} * ny + y) * pitch;
      Real* const to = patch + (layer * Area::side + row) * Area::side;
      if (x0 >= 0 && x0 + Area::side <= grid.axis[0].cells)
        for (int x = 0; x < Area::side; ++x) to[x] = from[x0 + x];
      else
        for (int x = 0; x < Area::side; ++x) to[x] = from[wrapped(grid.axis[0], x0 + x)];
    }
  }
}

}  // namespace pergola::plasma

#pragma once
/// The box of a plasma cut into tiles of cells, the particles in one tile, and the slab of tiles of a rank.
///
/// Particles, field and charge of a tile stay in a processor's caches. A rank has a slab: whole rows of tiles in two
/// dimensions, whole planes of tiles in three, with consecutive numbers. The clouds of its particles touch layers of
/// grid points around the slab, which other ranks own. A position is stored relative to the corner of its tile, in
/// whole grains of a cell.
#include <array>
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "mesh/slab_planes.hpp"
#include "physics/plasma_push.hpp"
#include "plasma/options.hpp"

namespace pergola::plasma {

/// Cells of a tile along an axis.
template <int dimensions>
inline constexpr int tile_width = dimensions == 3 ? 8 : 16;

/// The box cut into tiles, numbered x fastest.
struct TileGrid {
  int dimensions = 2;
  std::array<physics::TileAxis, 3> axis;

  explicit TileGrid(const PlasmaOptions& options) : dimensions(options.dimensions) {
    const int width = dimensions == 3 ? tile_width<3> : tile_width<2>;
    for (int a = 0; a < 3; ++a) axis[a] = {options.cells[a], a < dimensions ? width : 1};
  }
  int count() const { return axis[0].tiles() * axis[1].tiles() * axis[2].tiles(); }
  /// The number of a tile from its place along the axes; tile() is the inverse.
  int number(const std::array<int, 3>& tile) const {
    return (tile[2] * axis[1].tiles() + tile[1]) * axis[0].tiles() + tile[0];
  }
  std::array<int, 3> tile(int number) const {
    const int nx = axis[0].tiles(), ny = axis[1].tiles();
    return {number % nx, number / nx % ny, number / nx / ny};
  }
};

/// Grid points that the clouds in a tile may touch: from −before to width + before − … along an axis, x fastest. For a
/// current with a margin of one, as moves may end a cell outside.
template <int dimensions, int points, int margin = 0>
struct Patch {
  static constexpr int before = points - 2 + margin;  // points below the corner of the tile
  static constexpr int side = tile_width<dimensions> + 2 * points - 3 + 2 * margin;
  static constexpr int rows = dimensions == 3 ? side * side : side;
  static constexpr int size = rows * side;
};

/// A particle that goes to another tile.
template <class Real>
struct Leaver {
  int tile = 0;
  std::uint32_t rank = 0;
  typename physics::PlasmaCounts<Real>::Place place[3] = {};
  Real velocity[3] = {};
};

/// A particle that cannot be moved: its velocity is not a number or out of bounds.
struct LostParticle {
  std::uint32_t rank = 0;
  double velocity[3] = {};
};

/// The particles of one species in one tile: structure of arrays in one piece of memory, with room for whole SIMD
/// vectors. Behind the last particle are zeros or old particles.
template <class Real>
class TileParticles {
 public:
  using Place = typename physics::PlasmaCounts<Real>::Place;
  static constexpr std::int64_t group = 16;  // room is a multiple of it

  std::int64_t count() const { return count_; }
  Place* place(int axis) const { return place_[axis]; }
  Real* velocity(int axis) const { return velocity_[axis]; }
  std::uint32_t* rank() const { return rank_; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.bytes()); }

  static std::int64_t bytes_for(std::int64_t room, int dimensions, int velocities) {
    return room *
           static_cast<std::int64_t>(dimensions * sizeof(Place) + velocities * sizeof(Real) + sizeof(std::uint32_t));
  }
  /// An eighth more than needed, so that a tile seldom grows.
  static std::int64_t room_for(std::int64_t count) { return (count + count / 8 + 2 * group - 1) / group * group; }

  /// Makes room for `count` particles and keeps the present ones.
  void reserve(const Device& device, std::int64_t count, int dimensions, int velocities) {
    if (count <= room_) return;
    TileParticles larger;
    larger.room_ = room_for(count);
    larger.memory_ = Buffer<std::byte>(device, bytes_for(larger.room_, dimensions, velocities));
    larger.memory_.zero();
    std::byte* next = larger.memory_.data();
    const auto take = [&]<class T>(T*& to, const T* from) {
      to = reinterpret_cast<T*>(next);
      next += larger.room_ * static_cast<std::int64_t>(sizeof(T));
      for (std::int64_t i = 0; i < count_; ++i) to[i] = from[i];
    };
    for (int a = 0; a < dimensions; ++a) take(larger.place_[a], place_[a]);
    for (int a = 0; a < velocities; ++a) take(larger.velocity_[a], velocity_[a]);
    take(larger.rank_, rank_);
    larger.count_ = count_;
    *this = std::move(larger);
  }
  void clear() { count_ = 0; }
  void set_count(std::int64_t count) { count_ = count; }

  /// put() and move() copy whole particles; columns that the case does not have are null and skipped.
  void put(std::int64_t at, const Leaver<Real>& particle) {
    for (int a = 0; a < 3; ++a) {
      if (place_[a]) place_[a][at] = particle.place[a];
      if (velocity_[a]) velocity_[a][at] = particle.velocity[a];
    }
    rank_[at] = particle.rank;
  }
  void move(std::int64_t from, std::int64_t to) {
    for (int a = 0; a < 3; ++a) {
      if (place_[a]) place_[a][to] = place_[a][from];
      if (velocity_[a]) velocity_[a][to] = velocity_[a][from];
    }
    rank_[to] = rank_[from];
  }

 private:
  Buffer<std::byte> memory_;
  std::int64_t room_ = 0, count_ = 0;
  std::array<Place*, 3> place_{};
  std::array<Real*, 3> velocity_{};
  std::uint32_t* rank_ = nullptr;
};

/// The layers of a field that are in memory, of the periodic box: a layer is a row y in two dimensions, a plane z in
/// three.
struct LayerWindow {
  int cells = 1;  // layers of the box
  int first = 0;  // in memory; may be negative
  int count = 1;

  /// The place of a layer of the box, counted from the first in memory; an absent layer gives the last.
  int at(int layer) const {
    int place = (layer - first) % cells;
    if (place < 0) place += cells;
    return place < count ? place : count - 1;
  }
};

/// The tiles of a rank and its layers of grid points, which begin at the corners of its tiles. Its clouds also touch
/// `below` and `above` layers around them, which other ranks own, or the rank itself.
struct TileSlab {
  /// The slab of this rank; ranks beyond the number of rows of tiles have none. `ranks` null: the whole box.
  TileSlab(const PlasmaOptions& options, const Communicator* ranks);

  int axis = 1;                   // across the layers: the last one of the box
  int first = 0, count = 0;       // layers
  int first_tile = 0, tiles = 0;  // by their numbers
  int below = 0, above = 0;
  LayerWindow window;          // of a field with the layers around
  std::array<int, 3> cells{};  // of the box
  int tiles_in_row = 1;        // tiles with the same place on `axis`
  std::vector<int> owner;      // rank of each row of tiles; empty: there is one rank
  std::vector<int> workers;    // ranks that have tiles, ascending

  /// With several ranks only.
  int rank_of(int tile) const { return owner[static_cast<std::size_t>(tile / tiles_in_row)]; }
  /// Rows of grid points along x in a layer.
  std::int64_t rows_in_layer() const { return axis == 2 ? cells[1] : 1; }
  SlabPlanes planes(const Communicator& ranks) const;
  /// With one more layer around on both sides, if there are any.
  TileSlab widened() const;
};

/// The pusher of a plasma.
inline physics::PusherKind pusher_of(const PlasmaOptions& options) {
  using Kind = physics::PusherKind;
  if (options.light_speed > 0)
    return options.pusher == PlasmaPusher::boris ? Kind::relativistic_boris : Kind::higuera_cary;
  return options.magnetised() ? Kind::uniform_boris : Kind::electric_kick;
}

/// Whether each of several GPUs solves for the whole field: one message replaces two, which would take longer than the
/// solution of a small field. The bits are the same.
inline bool has_whole_field(const PlasmaOptions& options) { return options.cell_count() <= std::int64_t{1} << 19; }
/// Ranks have whole blocks of this number of layers.
int slab_unit(int dimensions);
/// The largest part of the tiles that a rank has.
double largest_slab_share(const TileGrid& grid, int ranks);

}  // namespace pergola::plasma

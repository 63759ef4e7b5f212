#pragma once
// Tiles of a plasma's box on the CPU, and the particles in one.
#include <array>
#include <cstdint>

#include "device/buffer.hpp"
#include "physics/plasma_push.hpp"
#include "plasma/options.hpp"

namespace pergola::plasma {

/// Cells of a tile along an axis: particles of a tile, its field and its charge stay in the caches.
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
  int number(const std::array<int, 3>& tile) const {
    return (tile[2] * axis[1].tiles() + tile[1]) * axis[0].tiles() + tile[0];
  }
  std::array<int, 3> tile(int number) const {
    const int nx = axis[0].tiles(), ny = axis[1].tiles();
    return {number % nx, number / nx % ny, number / nx / ny};
  }
};

/// Grid points that the clouds in a tile may touch: from −before to width + before − … along an axis, x fastest.
template <int dimensions, int points>
struct Patch {
  static constexpr int before = points - 2;  // points below the corner of the tile
  static constexpr int side = tile_width<dimensions> + 2 * points - 3;
  static constexpr int rows = dimensions == 3 ? side * side : side;
  static constexpr int size = rows * side;
};

/// A particle on its way to another tile.
template <class Real>
struct Leaver {
  int tile = 0;
  std::uint32_t rank = 0;
  typename physics::PlasmaCounts<Real>::Place place[3] = {};
  Real velocity[3] = {};
};

/// A particle that cannot be moved: it or its velocity is not a number, or beyond all bounds.
struct LostParticle {
  std::uint32_t rank = 0;
  double velocity[3] = {};
};

/// The particles of one species in one tile: structure of arrays in one piece of memory. There is room for whole SIMD
/// vectors; what lies behind the last particle are zeros or old particles.
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
  static std::int64_t room_for(std::int64_t count) { return (count + count / 8 + 2 * group - 1) / group * group; }

  /// Makes room for `count` particles; keeps those that are there.
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

}  // namespace pergola::plasma

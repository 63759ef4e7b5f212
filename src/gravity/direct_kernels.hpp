#pragma once
#include <cstdint>

#include "base/vec.hpp"
#include "gravity/direct.hpp"
#include "gravity/solver.hpp"

// The data of the inner loops of the direct sum on the CPU. The loops belong to a pair law (gravity/direct_loops.inl,
// gravity/pair_laws.hpp) and are compiled for several SIMD instruction sets, one of which is chosen at run time.
// gravity/direct_cpu.cpp shares the work out over threads and calls them.
namespace pergola::direct {

/// The number of sources in a block. A sum in fp32 ends with its block and continues in fp64.
inline constexpr int block_size = 256;
/// The number of blocks in a span. Sums of a span are added up alone, and spans in their order. So results do not
/// depend on the number of threads. A span is the unit of work if there are few targets.
inline constexpr int blocks_per_span = 4;
/// The largest number of targets of one call. The law's number of packs is how many it takes, direct::Loops.
inline constexpr int tile_capacity = 64;

/// The sums that a call computes.
enum class Kind { acceleration, acceleration_potential, potential, acceleration_jerk_potential };

/// The numbers of a source, each stored as one run of block_size within a block. `softening` is the
/// pair law's number of the length; the last three are the low parts of positions that are kept as two floats.
enum Field : int { x, y, z, mass, softening, vx, vy, vz, x_low, y_low, z_low };

/// How each precision keeps the state it is given (State) and computes pairs (Pair).
template <Precision precision>
struct Numbers {
  using State = double;
  using Pair = double;
  static constexpr bool low_parts = false;
  static constexpr int fields = 8;
};
template <>
struct Numbers<Precision::single> {
  using State = float;
  using Pair = float;
  static constexpr bool low_parts = false;
  static constexpr int fields = 8;
};
template <>
struct Numbers<Precision::mixed> {
  using State = double;
  using Pair = float;
  static constexpr bool low_parts = true;
  static constexpr int fields = 11;
};

/// The sources at the time of prepare(), packed.
template <Precision precision>
struct Blocks {
  using Pair = typename Numbers<precision>::Pair;
  Pair* data = nullptr;
  std::int64_t count = 0;  // sources
  SofteningTable softening;

  std::int64_t blocks() const { return (count + block_size - 1) / block_size; }
  int filled(std::int64_t block) const {
    const std::int64_t rest = count - block * block_size;
    return static_cast<int>(rest < block_size ? rest : block_size);
  }
  Pair* field(std::int64_t block, int field) const {
    return data + (block * Numbers<precision>::fields + field) * block_size;
  }
  Vec3<double> position(std::int64_t place) const {
    const std::int64_t block = place / block_size, k = place % block_size;
    Vec3<double> at{field(block, x)[k], field(block, y)[k], field(block, z)[k]};
    if constexpr (Numbers<precision>::low_parts) {
      at.x += static_cast<double>(field(block, x_low)[k]);
      at.y += static_cast<double>(field(block, y_low)[k]);
      at.z += static_cast<double>(field(block, z_low)[k]);
    }
    return at;
  }
};

/// The targets that one call works on, each in one SIMD lane. Unused lanes repeat a used one.
template <Precision precision>
struct Tile {
  alignas(64) typename Numbers<precision>::Pair field[Numbers<precision>::fields][tile_capacity];
  std::int64_t place[tile_capacity];
};

/// Sums over sources, by lane: acceleration, jerk, potential.
struct TileSums {
  alignas(64) double value[7][tile_capacity];
};

/// Sums the sources of blocks first … last − 1 for each lane of a tile, without the lane's own particle.
template <Precision precision>
struct TileTask {
  Kind kind;
  const Blocks<precision>& sources;
  const Tile<precision>& targets;
  std::int64_t first, last;
  TileSums& sums;
};

/// Lanes of the tiles that nearest_squares() takes: those of a SIMD pack.
template <Precision precision>
int search_tile_size();

/// The square of the distance from each lane of a tile to the nearest source of each of the blocks first … last − 1,
/// without softening, the lane's own particle included: squares[block − first][lane]. In the precision of the pairs,
/// good to 1e-6; block_distances() has the digits.
template <Precision precision>
void nearest_squares(const Blocks<precision>& sources, const Tile<precision>& targets, std::int64_t first,
                     std::int64_t last, typename Numbers<precision>::Pair (*squares)[tile_capacity]);

/// Packs one block of sources, predicted to `from.now` where they carry what is needed for it. The places after the
/// last source are infinitely far away.
template <Precision precision>
void pack_block(const Sources<typename Numbers<precision>::State>& from, double gravitational_constant,
                std::int64_t block, const Blocks<precision>& to);

/// Squares of the distances, without softening and in fp64, from a point to each place of a block. Returns the
/// smallest.
template <Precision precision>
double block_distances(const Blocks<precision>& sources, std::int64_t block, const Vec3<double>& point,
                       double squares[block_size]);

}  // namespace pergola::direct

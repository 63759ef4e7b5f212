#pragma once
/// Macro-particles on the host, as plain columns: for input, output and checkpoints. Steps work on tiles (tiles.hpp).
#include <bit>
#include <cstdint>
#include <vector>

namespace pergola {

/// The macro-particles of one species on the host: positions in cells, 0 ≤ x < cells, velocities in cells ω_p. z is
/// empty in 2D, and vz if two velocities are kept. A particle is identified by its id, never by its place.
struct PlasmaParticles {
  std::vector<std::uint64_t> id;
  std::vector<double> x, y, z;
  std::vector<double> vx, vy, vz;

  std::int64_t size() const { return static_cast<std::int64_t>(id.size()); }
};

/// Some particles of a species, by their numbers: places in the order of all ids.
class PlasmaChoice {
 public:
  explicit PlasmaChoice(std::int64_t count = 0) : blocks_(static_cast<std::size_t>(count / 64 + 1)), count_(count) {}
  /// Numbers must rise from call to call.
  void add(std::int64_t number, std::uint64_t id) {
    Block& block = blocks_[static_cast<std::size_t>(number / 64)];
    if (block.chosen == 0) block.before = static_cast<std::uint32_t>(ids_.size());
    block.chosen |= std::uint64_t{1} << (number % 64);
    ids_.push_back(id);
  }
  /// The place of a particle among the chosen ones; −1: it is none.
  std::int64_t place(std::int64_t number) const {
    const Block& block = blocks_[static_cast<std::size_t>(number / 64)];
    const std::uint64_t bit = std::uint64_t{1} << (number % 64);
    return block.chosen & bit ? std::int64_t{block.before} + std::popcount(block.chosen & (bit - 1)) : -1;
  }
  const std::vector<std::uint64_t>& ids() const { return ids_; }
  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }
  /// Of all particles, chosen or not.
  std::int64_t count() const { return count_; }

 private:
  struct Block {
    std::uint64_t chosen = 0;
    std::uint32_t before = 0;
  };
  std::vector<Block> blocks_;
  std::vector<std::uint64_t> ids_;
  std::int64_t count_ = 0;
};

/// The coordinates of macro-particles: positions, then velocities. Some may be empty.
using PlasmaCoordinate = std::vector<double> PlasmaParticles::*;
inline constexpr PlasmaCoordinate plasma_coordinates[] = {&PlasmaParticles::x,  &PlasmaParticles::y,
                                                          &PlasmaParticles::z,  &PlasmaParticles::vx,
                                                          &PlasmaParticles::vy, &PlasmaParticles::vz};

}  // namespace pergola

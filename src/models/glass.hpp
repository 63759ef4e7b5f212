#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace pergola {

/// side³ points in a periodic box of side 1 that pull almost nowhere, and yet have no rows: a glass. Random points are
/// pushed apart by gravity of the opposite sign, each round by what would undo their density were it a small wave.
/// White 1996 (astro-ph/9410043). The same bits on any number of threads.
std::array<std::vector<double>, 3> make_glass(int side, std::uint64_t seed, int threads);

/// Where the particles of a box stand before they are displaced, x fastest, in distances of a lattice with `side` of
/// them: at the places of the lattice, or of a glass that is repeated.
class StartPlaces {
 public:
  /// A lattice.
  explicit StartPlaces(int side) : side_(side) {}
  /// Tiles of a glass. Throws Error(input) for a side without whole tiles.
  static StartPlaces glass(int side, std::uint64_t seed, int threads);

  double at(std::int64_t i, std::size_t axis) const {
    const std::int64_t place[3] = {i % side_, i / side_ % side_, i / side_ / side_};
    if (tile_ == 0) return static_cast<double>(place[axis]);
    const auto k = static_cast<std::size_t>((place[2] % tile_ * tile_ + place[1] % tile_) * tile_ + place[0] % tile_);
    return static_cast<double>(place[axis] / tile_ * tile_) + points_[axis][k];
  }
  /// Order of the cloud by which of() takes a field between the places of the lattice; 0: they are those.
  int window() const { return tile_ == 0 ? 0 : 3; }
  /// A field that is known at the places of the lattice, x fastest, at particle i.
  double of(const std::vector<double>& field, std::int64_t i) const;

 private:
  std::int64_t side_, tile_ = 0;
  std::array<std::vector<double>, 3> points_;  // of a tile
};

}  // namespace pergola

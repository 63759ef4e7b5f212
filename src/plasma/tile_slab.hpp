#pragma once
// What of a plasma's box a rank works on: whole rows of tiles in two dimensions, whole planes of them in three.
#include <array>
#include <vector>

#include "comm/communicator.hpp"
#include "mesh/slab_planes.hpp"
#include "plasma/tiles.hpp"

namespace pergola::plasma {

/// Layers of a field that are in memory, of those of the box, which is periodic: row y in two dimensions, plane z in
/// three.
struct LayerWindow {
  int cells = 1;  // layers of the box
  int first = 0;  // in memory; may be negative
  int count = 1;

  /// Where a layer of the box is, counted from the first in memory; one that is not there gives the last.
  int at(int layer) const {
    int place = (layer - first) % cells;
    if (place < 0) place += cells;
    return place < count ? place : count - 1;
  }
};

/// The tiles of a rank, which have consecutive numbers, and its layers of grid points, those from the corners of its
/// tiles on. Its clouds touch layers around them, `below` and `above`, which other ranks have, or the same one.
struct TileSlab {
  /// All that there is.
  explicit TileSlab(const TileGrid& grid);
  /// `points` that a cloud touches along an axis. Where there are more ranks than rows of tiles some have none.
  TileSlab(const TileGrid& grid, int points, const Communicator& ranks);

  int axis = 1;                   // across the layers: the last one of the box
  int first = 0, count = 0;       // layers
  int first_tile = 0, tiles = 0;  // by their numbers
  int below = 0, above = 0;
  LayerWindow window;          // of a field with the layers around
  std::array<int, 3> cells{};  // of the box
  int tiles_in_row = 1;        // tiles with the same place on `axis`
  std::vector<int> owner;      // rank of each row of tiles; empty: there is one rank
  std::vector<int> workers;    // ranks that have tiles, ascending

  int rank_of(int tile) const { return owner[static_cast<std::size_t>(tile / tiles_in_row)]; }
  /// Rows of grid points along x in a layer.
  std::int64_t rows_in_layer() const { return axis == 2 ? cells[1] : 1; }
  SlabPlanes planes(const Communicator& ranks) const;
};

/// Whether GPUs of several ranks each solve for the whole field. That is one message in place of two, whose way takes
/// longer than the solution of so small a field; the bits are the same.
inline bool has_whole_field(const PlasmaOptions& options) { return options.cell_count() <= std::int64_t{1} << 19; }
/// Layers are shared out so many at a time.
int slab_unit(int dimensions);
/// What the rank with most of the tiles has of them.
double largest_slab_share(const TileGrid& grid, int ranks);

}  // namespace pergola::plasma

// Slabs of tiles: see tiles.hpp. Ranks get whole rows (planes in 3D) of tiles; the last rank with tiles may have fewer.
#include "plasma/tiles.hpp"

namespace pergola::plasma {

int slab_unit(int dimensions) { return dimensions == 3 ? tile_width<3> : tile_width<2>; }

double largest_slab_share(const TileGrid& grid, int ranks) {
  const int rows = grid.axis[static_cast<std::size_t>(grid.dimensions - 1)].tiles();
  return static_cast<double>((rows + ranks - 1) / ranks) / rows;
}

TileSlab::TileSlab(const PlasmaOptions& options, const Communicator* ranks) : axis(options.dimensions - 1) {
  const TileGrid grid(options);
  for (std::size_t a = 0; a < 3; ++a) cells[a] = grid.axis[a].cells;
  count = cells[static_cast<std::size_t>(axis)];
  tiles = grid.count();
  tiles_in_row = tiles / grid.axis[static_cast<std::size_t>(axis)].tiles();
  window = {count, 0, count};
  if (!ranks) return;

  const physics::TileAxis& across = grid.axis[static_cast<std::size_t>(axis)];
  const SlabPlanes all = planes(*ranks);
  first = all.first(), count = all.count();
  for (int row = 0; row < across.tiles(); ++row) owner.push_back(all.owner(across.corner(row)));
  for (const int rank : owner)
    if (workers.empty() || workers.back() != rank) workers.push_back(rank);
  tiles = tiles_in_row * ((count + across.width - 1) / across.width);
  first_tile = count > 0 ? tiles_in_row * (first / across.width) : 0;
  const int points = static_cast<int>(options.shape);  // of a cloud along an axis
  below = points - 2, above = points - 1;
  window = {across.cells, first - below, below + count + above};
}

TileSlab TileSlab::widened() const {
  TileSlab wider = *this;
  if (above == 0) return wider;
  ++wider.below, ++wider.above;
  --wider.window.first, wider.window.count += 2;
  return wider;
}

SlabPlanes TileSlab::planes(const Communicator& ranks) const {
  return {ranks, cells[static_cast<std::size_t>(axis)], slab_unit(axis + 1)};
}

}  // namespace pergola::plasma

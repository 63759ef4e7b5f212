#pragma once
// The charge that tiles have counted, with the grid points around them, added up to a density on the grid.
#include <vector>

#include "mesh/grid.hpp"
#include "plasma/tiles.hpp"

namespace pergola::plasma {

class ChargeRows {
 public:
  /// `points` that a cloud touches along an axis.
  ChargeRows(const TileGrid& grid, int points);

  /// density = background + Σ_s factor[s] (counts of charge[s]) at every grid point. charge[s]: a patch per tile.
  /// Returns the sum over all grid points of the counts, per species, modulo 2⁶⁴.
  template <class Real>
  std::vector<std::uint64_t> add_up(int threads, const std::vector<const std::int64_t*>& charge,
                                    const std::vector<double>& factor, double background,
                                    const Field<Real>& density) const;

 private:
  /// A row of the patches of all tiles along x.
  struct Source {
    int tile_row;   // number of its first tile
    int patch_row;  // in a patch
  };
  std::vector<std::int64_t> add_row(const std::vector<Source>& sources, const std::int64_t* charge) const;

  TileGrid grid_;
  int before_, side_, patch_size_;
  std::vector<std::vector<Source>> sources_;  // per row of the grid
};

}  // namespace pergola::plasma

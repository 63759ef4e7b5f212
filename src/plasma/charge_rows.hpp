#pragma once
// The charge that tiles have counted, with the grid points around them, added up to a density on the grid.
#include <functional>
#include <vector>

#include "mesh/grid.hpp"
#include "plasma/tiles.hpp"

namespace pergola::plasma {

class ChargeRows {
 public:
  /// `points` that a cloud touches along an axis.
  ChargeRows(const TileGrid& grid, int points);

  /// Counts at the grid points of a row of the grid, of a species with these patches.
  using RowCounts = std::function<std::vector<std::int64_t>(std::size_t species, std::int64_t row)>;
  std::int64_t rows() const { return static_cast<std::int64_t>(sources_.size()); }
  std::vector<std::int64_t> add_row(std::int64_t row, const std::int64_t* patches) const;

  /// density = background + Σ_s factor[s] counts(s) at every grid point. Returns the sum over all grid points of the
  /// counts, per species, modulo 2⁶⁴.
  template <class Real>
  std::vector<std::uint64_t> add_up(int threads, const RowCounts& counts, const std::vector<double>& factor,
                                    double background, const Field<Real>& density) const;

 private:
  /// A row of the patches of all tiles along x.
  struct Source {
    int tile_row;   // number of its first tile
    int patch_row;  // in a patch
  };

  TileGrid grid_;
  int before_, side_, patch_size_;
  std::vector<std::vector<Source>> sources_;  // per row of the grid
};

}  // namespace pergola::plasma

#pragma once
/// The charge that tiles have counted, added up to a density on the grid (CPU), or to a current.
///
/// Each tile counts charge in whole units on its own patch: its grid points and those around that its clouds touch.
/// ChargeRows adds the patches up row by row, in parallel over rows; ChargeAround exchanges the counts in layers beyond
/// a rank's slab. Currents have a patch per component and one more layer around (Patch, TileSlab::widened). Sums of
/// whole units do not depend on the order, on threads or on ranks.
#include <functional>
#include <vector>

#include "mesh/grid.hpp"
#include "plasma/tiles.hpp"

namespace pergola::plasma {

class ChargeRows {
 public:
  /// `points`: grid points of a cloud along an axis. Rows are those of the box; with several ranks those of the slab,
  /// from its first layer below to its last layer above.
  /// `patches`: of a tile, one after the other, with a margin of `margin`.
  ChargeRows(const TileGrid& grid, const TileSlab& slab, int points, int margin = 0, int patches = 1);

  /// Counts of a species at the grid points of a row.
  using RowCounts = std::function<std::vector<std::int64_t>(std::size_t species, std::int64_t row)>;
  /// From the first patch of the first tile.
  std::vector<std::int64_t> add_row(std::int64_t row, const std::int64_t* patches) const;

  /// density = background + Σ_s factor[s] counts(s) at every grid point of `density`. Returns the sum of the counts per
  /// species, modulo 2⁶⁴.
  template <class Real>
  std::vector<std::uint64_t> add_up(int threads, const RowCounts& counts, const std::vector<double>& factor,
                                    double background, const Field<Real>& density) const;

 private:
  /// A row of the patches of all tiles along x.
  struct Source {
    int tile_row;   // number of its first tile, among those of the slab
    int patch_row;  // in a patch
  };

  TileGrid grid_;
  int before_, side_;
  std::int64_t tile_size_;                    // of all patches of a tile
  std::vector<std::vector<Source>> sources_;  // per row
};

/// Charge beyond the layers of a rank, which goes to the owners of those layers. All calls are collective.
class ChargeAround {
 public:
  ChargeAround(const TileSlab& slab, std::size_t species, std::shared_ptr<Communicator> ranks);

  /// Sends the counts beyond this rank's layers: row(species, row, to) writes a row of grid points, numbered as in
  /// ChargeRows.
  using WriteRow = std::function<void(std::size_t species, std::int64_t row, std::int64_t* to)>;
  void give(int threads, const WriteRow& row);
  /// Adds the counts received for a row of this rank's layers.
  void add_to(std::size_t species, std::int64_t row, std::vector<std::int64_t>& counts) const;
  /// Bytes of the messages.
  std::int64_t bytes() const { return 2 * static_cast<std::int64_t>(beyond_.size() * sizeof(std::int64_t)); }

 private:
  std::size_t place(std::size_t layer, std::size_t species, std::int64_t row) const {
    return ((layer * species_ + species) * static_cast<std::size_t>(rows_) + static_cast<std::size_t>(row)) *
           static_cast<std::size_t>(length_);
  }

  std::shared_ptr<Communicator> ranks_;
  std::size_t species_;
  std::int64_t rows_, length_;  // rows in a layer, grid points in a row
  int layers_, below_;          // of this rank
  PlanesAround around_;
  std::vector<std::int64_t> beyond_;                // [layer][species][row][x]
  const std::int64_t* arrived_ = nullptr;           // the same
  std::vector<std::vector<std::size_t>> arriving_;  // for each layer of this rank: its places among received layers
};

}  // namespace pergola::plasma

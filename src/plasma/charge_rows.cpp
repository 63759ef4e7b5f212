// Sums of the charge that tiles have counted: see charge_rows.hpp.
//
// Patches of neighbouring tiles overlap. For each row of grid points the constructor lists the patch rows on it, once;
// a sum then reads these rows, in the same order for any number of threads.
#include "plasma/charge_rows.hpp"

#include <algorithm>
#include <utility>

#include "device/parallel.hpp"

namespace pergola::plasma {

namespace {

/// For each grid point of an axis, the patch rows that lie on it: tile and row.
using PatchRows = std::vector<std::vector<std::array<int, 2>>>;
PatchRows patch_rows(const physics::TileAxis& axis, int before, int beyond) {
  PatchRows rows(static_cast<std::size_t>(axis.cells));
  for (int tile = 0; tile < axis.tiles(); ++tile)
    for (int row = 0; row < before + axis.cells_of(tile) + beyond; ++row) {
      const int point = (axis.corner(tile) + row - before) % axis.cells;
      rows[point < 0 ? point + axis.cells : point].push_back({tile, row});
    }
  return rows;
}

/// The same along the axis of a slab, for its layers and those around.
PatchRows slab_rows(const physics::TileAxis& axis, const TileSlab& slab) {
  PatchRows rows(static_cast<std::size_t>(slab.below + slab.count + slab.above));
  const int first = slab.first / axis.width, tiles = slab.tiles / slab.tiles_in_row;
  for (int tile = first; tile < first + tiles; ++tile)
    for (int row = 0; row < slab.below + axis.cells_of(tile) + slab.above; ++row)
      rows[static_cast<std::size_t>(axis.corner(tile) - slab.first + row)].push_back({tile, row});
  return rows;
}

}  // namespace

ChargeRows::ChargeRows(const TileGrid& grid, const TileSlab& slab, int points, int margin, int patches)
    : grid_(grid), before_(points - 2 + margin), side_(grid.axis[0].width + 2 * before_ + 1) {
  const bool flat = grid.dimensions == 2, part = slab.above > 0;
  tile_size_ = std::int64_t{patches} * side_ * side_ * (flat ? 1 : side_);
  const int beyond = before_ + 1;
  const auto y_rows = flat && part ? slab_rows(grid.axis[1], slab) : patch_rows(grid.axis[1], before_, beyond);
  const auto z_rows =
      !flat && part ? slab_rows(grid.axis[2], slab) : patch_rows(grid.axis[2], flat ? 0 : before_, flat ? 0 : beyond);
  for (const auto& layer : z_rows)
    for (const auto& line : y_rows) {
      auto& sources = sources_.emplace_back();
      for (const auto& [tile_z, row_z] : layer)
        for (const auto& [tile_y, row_y] : line)
          sources.push_back({grid.number({0, tile_y, tile_z}) - slab.first_tile, row_z * side_ + row_y});
    }
}

/// A row of the box from all tiles along x; places beyond the ends wrap around.
std::vector<std::int64_t> ChargeRows::add_row(std::int64_t row, const std::int64_t* patches) const {
  const physics::TileAxis& axis = grid_.axis[0];
  std::vector<std::int64_t> sum(static_cast<std::size_t>(axis.cells));
  for (const Source& source : sources_[static_cast<std::size_t>(row)])
    for (int tile = 0; tile < axis.tiles(); ++tile) {
      const std::int64_t* const from =
          patches + std::int64_t{source.tile_row + tile} * tile_size_ + std::int64_t{source.patch_row} * side_;
      const int first = axis.corner(tile) - before_, length = before_ + axis.cells_of(tile) + before_ + 1;
      if (first >= 0 && first + length <= axis.cells) {
        for (int x = 0; x < length; ++x) sum[first + x] += from[x];
      } else {
        for (int x = 0; x < length; ++x) sum[(first + x + axis.cells) % axis.cells] += from[x];
      }
    }
  return sum;
}

template <class Real>
std::vector<std::uint64_t> ChargeRows::add_up(int threads, const RowCounts& counts, const std::vector<double>& factor,
                                              double background, const Field<Real>& density) const {
  const std::size_t species = factor.size();
  const std::int64_t rows = std::int64_t{density.ny} * density.nz;
  std::vector<std::uint64_t> row_units(static_cast<std::size_t>(rows) * species);
  parallel_chunks(threads, rows, 8, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> values;
    for (std::int64_t row = begin; row < end; ++row) {
      values.assign(static_cast<std::size_t>(density.nx), background);
      for (std::size_t s = 0; s < species; ++s) {
        const auto sum = counts(s, row);
        std::uint64_t units = 0;
        for (std::size_t x = 0; x < values.size(); ++x) {
          values[x] += factor[s] * static_cast<double>(sum[x]);
          units += static_cast<std::uint64_t>(sum[x]);
        }
        row_units[static_cast<std::size_t>(row) * species + s] = units;
      }
      Real* const to = density.data + row * density.pitch;
      for (std::size_t x = 0; x < values.size(); ++x) to[x] = static_cast<Real>(values[x]);
      std::fill(to + density.nx, to + density.pitch, Real(0));
    }
  });
  std::vector<std::uint64_t> units(species);
  for (std::size_t i = 0; i < row_units.size(); ++i) units[i % species] += row_units[i];
  return units;
}

ChargeAround::ChargeAround(const TileSlab& slab, std::size_t species, std::shared_ptr<Communicator> ranks)
    : ranks_(std::move(ranks)),
      species_(species),
      rows_(slab.rows_in_layer()),
      length_(slab.cells[0]),
      layers_(slab.count),
      below_(slab.below),
      around_(*ranks_, slab.planes(*ranks_), slab.below, slab.above),
      beyond_(slab.count > 0 ? place(static_cast<std::size_t>(slab.below + slab.above), 0, 0) : 0),
      arriving_(static_cast<std::size_t>(slab.count)) {
  for (std::size_t k = 0; k < around_.arriving().size(); ++k)
    arriving_[static_cast<std::size_t>(around_.arriving()[k])].push_back(k);
}

void ChargeAround::give(int threads, const WriteRow& row) {
  const std::int64_t layers = layers_ > 0 ? around_.below() + around_.above() : 0;
  parallel_for(threads, layers * rows_, [&](std::int64_t k) {
    const std::int64_t layer = k / rows_, of_all = layer + (layer < below_ ? 0 : layers_);
    for (std::size_t s = 0; s < species_; ++s)
      row(s, of_all * rows_ + k % rows_, beyond_.data() + place(static_cast<std::size_t>(layer), s, k % rows_));
  });
  const std::byte* const arrived =
      around_.give(*ranks_, reinterpret_cast<const std::byte*>(beyond_.data()), place(1, 0, 0) * sizeof(std::int64_t));
  arrived_ = reinterpret_cast<const std::int64_t*>(arrived);
}

void ChargeAround::add_to(std::size_t species, std::int64_t row, std::vector<std::int64_t>& counts) const {
  for (const std::size_t layer : arriving_[static_cast<std::size_t>(row / rows_)]) {
    const std::int64_t* const from = arrived_ + place(layer, species, row % rows_);
    for (std::size_t x = 0; x < counts.size(); ++x) counts[x] += from[x];
  }
}

template std::vector<std::uint64_t> ChargeRows::add_up(int, const RowCounts&, const std::vector<double>&, double,
                                                       const Field<float>&) const;
template std::vector<std::uint64_t> ChargeRows::add_up(int, const RowCounts&, const std::vector<double>&, double,
                                                       const Field<double>&) const;

}  // namespace pergola::plasma

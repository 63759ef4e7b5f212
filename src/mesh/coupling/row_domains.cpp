// Which rank works on which rows of the mesh, by counted work: a cost per particle and a cost per cell (RowCosts). Rows
// are in the order of planes; each rank gets a range of them, and the planes that these rows lie in, with some spare.
// All ranks compute the same from reduced counts. It is done again only if the busiest rank has much more work.
#include "mesh/coupling/row_domains.hpp"

#include <algorithm>
#include <utility>

#include "mesh/grid.hpp"

namespace pergola {

namespace {

/// Planes that a rank has beyond those of its particles, so that they may move for a while.
constexpr int spare_planes = 2;
/// Particles are counted where the busiest rank has so much more than it might, and divided where that helps.
constexpr double lopsided = 1.25, worth_it = 1.25;

}  // namespace

RowDomains::RowDomains(int rows_in_plane, int row_cells, int ranks, const std::vector<std::int64_t>& particles,
                       const RowCosts& costs)
    : owner_(particles.size(), nobody) {
  const std::vector<std::int64_t> first_row = cut(rows_in_plane, row_cells, ranks, particles, costs);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t begin = first_row[static_cast<std::size_t>(rank)],
                       end = first_row[static_cast<std::size_t>(rank) + 1];
    std::int64_t count = 0, first = -1, last = -1;  // particles, and planes with some
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t here = particles[static_cast<std::size_t>(row)];
      if (here == 0) continue;
      count += here, last = row / rows_in_plane;
      if (first < 0) first = last;
    }
    PlaneRange range;
    if (count > 0) {
      first = std::max(first - spare_planes, begin / rows_in_plane);
      last = std::min(last + spare_planes, (end - 1) / rows_in_plane);
      range = {static_cast<int>(first), static_cast<int>(last - first + 1)};
      std::fill(owner_.begin() + std::max(begin, first * rows_in_plane),
                owner_.begin() + std::min(end, (last + 1) * rows_in_plane), static_cast<std::uint32_t>(rank));
    }
    planes_.push_back(range);
    const std::int64_t cells = std::int64_t{range.count} * rows_in_plane * row_cells;
    most_work_ = std::max(most_work_, costs.particle * count + costs.cell * cells);
  }
}

/// The first row of each rank, and the end: a row goes to the rank in whose share of the work its middle is.
std::vector<std::int64_t> RowDomains::cut(int rows_in_plane, int row_cells, int ranks,
                                          const std::vector<std::int64_t>& particles, const RowCosts& costs) {
  const std::int64_t rows = std::ssize(particles);
  std::vector<std::int64_t> work_of(particles.size());
  std::int64_t total = 0;
  for (std::int64_t plane = 0; plane < rows; plane += rows_in_plane) {
    const auto first = particles.begin() + plane, end = first + rows_in_plane;
    const bool has_some = std::any_of(first, end, [](std::int64_t count) { return count > 0; });
    std::transform(first, end, work_of.begin() + plane, [&](std::int64_t count) {
      return costs.particle * count + (has_some ? costs.cell * row_cells : 0);
    });
  }
  for (const std::int64_t one : work_of) total += one;
  std::vector<std::int64_t> first_row{0};
  std::int64_t before = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t here = work_of[static_cast<std::size_t>(row)];
    const double middle = static_cast<double>(before) + 0.5 * static_cast<double>(here);
    while (here > 0 && std::ssize(first_row) < ranks &&
           middle * ranks >= static_cast<double>(total) * static_cast<double>(std::ssize(first_row)))
      first_row.push_back(row);
    before += here;
  }
  first_row.resize(static_cast<std::size_t>(ranks) + 1, rows);
  return first_row;
}

// At the start particles go to the owners of planes (slabs); a division replaces this.
RowDivision::RowDivision(std::shared_ptr<Communicator> ranks, const Grid& grid, const RowCosts& costs)
    : ranks_(std::move(ranks)),
      costs_(costs),
      planes_(grid.cells[2]),
      rows_in_plane_(grid.cells[1]),
      row_cells_(grid.cells[0]) {}

// Cheap: one reduction per step. Counting rows costs a pass over the particles, so that it waits for a reason.
bool RowDivision::should_count(std::int64_t kept, std::int64_t arriving, bool uncovered) {
  if (ranks_->size() == 1) return false;
  // Cells of its slab a rank has anyway.
  const int planes = domains_ ? domains_->planes()[static_cast<std::size_t>(ranks_->rank())].count : 0;
  const std::int64_t cells = std::int64_t{planes} * rows_in_plane_ * row_cells_;
  std::int64_t most[3] = {costs_.particle * arriving + costs_.cell * cells, uncovered,
                          std::exchange(kept_, kept) != kept};
  ranks_->all_reduce(most, 3, Reduction::maximum);
  most_ = most[0], uncovered_ = most[1] != 0;
  if (most[2]) {
    total_ = kept;
    ranks_->all_reduce(&total_, 1, Reduction::sum);
  }
  return uncovered_ || is_lopsided(most_, best_ > 0 ? best_ : costs_.particle * total_ / ranks_->size());
}

bool RowDivision::is_lopsided(std::int64_t most, std::int64_t least) {
  return static_cast<double>(most) > lopsided * static_cast<double>(least);
}
bool RowDivision::pays(std::int64_t most, std::int64_t least, const RowDomains& domains) {
  return is_lopsided(most, least) && static_cast<double>(most) > worth_it * static_cast<double>(domains.most_work());
}

// `particles`: by row, of this rank; becomes that of all. A row without a rank forces a new division.
bool RowDivision::divide(std::vector<std::int64_t>& particles) {
  ranks_->all_reduce(particles.data(), particles.size(), Reduction::sum);
  auto found = std::make_shared<const RowDomains>(rows_in_plane_, row_cells_, ranks_->size(), particles, costs_);
  const bool helps = static_cast<double>(most_) > worth_it * static_cast<double>(found->most_work());
  best_ = helps || uncovered_ ? found->most_work() : most_;
  if (!helps && !uncovered_) return false;
  domains_ = std::move(found);
  return true;
}

}  // namespace pergola

#include "analysis/friends.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "device/parallel.hpp"
#include "particles/separation.hpp"

namespace pergola {

namespace {

using Place = std::array<std::int64_t, 3>;

/// Cells so small that all particles of one are friends, sorted by cell: a side is length/√3, or less in a periodic
/// box, which has a whole number of them.
class SmallCells {
 public:
  SmallCells(const Particles& p, const Box& box, double length) : p_(p), box_(box), length_(length) {
    find_frame();
    struct Placed {
      Place cell;
      std::size_t index;
    };
    std::vector<Placed> placed(p.id.size());
    for (std::size_t i = 0; i < placed.size(); ++i) placed[i] = {place_of(i), i};
    std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return before(a.cell, b.cell); });
    order_.reserve(placed.size()), sorted_.reserve(placed.size());
    for (const auto& [cell, i] : placed) {
      if (cells_.empty() || before(cells_.back(), cell)) cells_.push_back(cell), begin_.push_back(order_.size());
      order_.push_back(i), sorted_.push_back({p.x[i], p.y[i], p.z[i]});
    }
    begin_.push_back(order_.size());
    find_rows();
  }

  std::size_t count() const { return cells_.size(); }
  const std::vector<std::size_t>& order() const { return order_; }
  std::size_t begin(std::size_t cell) const { return begin_[cell]; }

  /// Cells after this one (so that a pair is met once) with a particle within the length of one in it.
  void add_links(std::size_t cell, std::vector<std::size_t>& to) const {
    for (std::int64_t dz = -reach_; dz <= reach_; ++dz)
      for (std::int64_t dy = -reach_; dy <= reach_; ++dy) {
        const Place row{cells_[cell][0], around(cells_[cell][1] + dy, 1), around(cells_[cell][2] + dz, 2)};
        if (std::tie(row[2], row[1]) < std::tie(cells_[cell][2], cells_[cell][1])) continue;  // these come before it
        add_row(cell, row, to);
      }
  }

 private:
  /// By z, then y, then x: the cells of a row are neighbours.
  static bool before(const Place& a, const Place& b) { return std::tie(a[2], a[1], a[0]) < std::tie(b[2], b[1], b[0]); }

  void find_frame() {
    const std::array<const std::vector<double>*, 3> x{&p_.x, &p_.y, &p_.z};
    const std::array<double, 3> corner{box_.corner.x, box_.corner.y, box_.corner.z};
    const std::array<double, 3> side{box_.side.x, box_.side.y, box_.side.z};
    const double wanted = length_ / std::sqrt(3.0) * (1 - 1e-9);
    reach_ = 2;
    for (std::size_t k = 0; k < 3; ++k) {
      if (box_.periodic()) {
        corner_[k] = corner[k];
        cells_per_side_[k] = static_cast<std::int64_t>(std::ceil(side[k] / wanted));
        cell_[k] = side[k] / static_cast<double>(cells_per_side_[k]);
      } else {
        corner_[k] = x[k]->empty() ? 0 : *std::min_element(x[k]->begin(), x[k]->end());
        cell_[k] = wanted;
      }
      reach_ = std::max(reach_, static_cast<std::int64_t>(std::ceil(length_ / cell_[k])));
    }
  }

  /// Where the cells of each row begin, where a table of all rows of the box is not much larger than that of the cells.
  void find_rows() {
    const std::int64_t rows = cells_per_side_[1] * cells_per_side_[2];
    constexpr std::int64_t most_rows = std::int64_t{1} << 20;
    if (!box_.periodic() || rows > std::max(most_rows, 8 * static_cast<std::int64_t>(cells_.size()))) return;
    rows_.assign(static_cast<std::size_t>(rows) + 1, 0);
    for (const Place& cell : cells_) ++rows_[row_number(cell) + 1];
    std::partial_sum(rows_.begin(), rows_.end(), rows_.begin());
  }
  std::size_t row_number(const Place& cell) const {
    return static_cast<std::size_t>(cell[2] * cells_per_side_[1] + cell[1]);
  }

  Place place_of(std::size_t i) const {
    const std::array<double, 3> x{p_.x[i], p_.y[i], p_.z[i]}, side{box_.side.x, box_.side.y, box_.side.z};
    Place place{};
    for (std::size_t k = 0; k < 3; ++k) {
      const double at = box_.periodic() ? wrap(x[k], corner_[k], side[k]) : x[k];
      place[k] = around(static_cast<std::int64_t>(std::floor((at - corner_[k]) / cell_[k])), k);
    }
    return place;
  }

  /// Of a place less than a box away.
  std::int64_t around(std::int64_t place, std::size_t axis) const {
    if (!box_.periodic()) return place;
    const std::int64_t n = cells_per_side_[axis];
    return place < 0 ? place + n : place >= n ? place - n : place;
  }

  /// Along a row the cells within reach: one stretch, or two where it goes around the box.
  void add_row(std::size_t cell, const Place& row, std::vector<std::size_t>& to) const {
    const std::int64_t first = row[0] - reach_, last = row[0] + reach_, n = cells_per_side_[0];
    if (!box_.periodic()) return add_stretch(cell, row, first, last, to);
    if (2 * reach_ + 1 >= n) return add_stretch(cell, row, 0, n - 1, to);
    add_stretch(cell, row, std::max<std::int64_t>(first, 0), std::min(last, n - 1), to);
    if (first < 0) add_stretch(cell, row, first + n, n - 1, to);
    if (last >= n) add_stretch(cell, row, 0, last - n, to);
  }

  void add_stretch(std::size_t cell, Place row, std::int64_t first, std::int64_t last,
                   std::vector<std::size_t>& to) const {
    row[0] = first;
    const auto place = [this](std::size_t k) { return cells_.begin() + static_cast<std::ptrdiff_t>(k); };
    const std::size_t from = rows_.empty() ? 0 : rows_[row_number(row)];
    const std::size_t to_end = rows_.empty() ? cells_.size() : rows_[row_number(row) + 1];
    auto at = static_cast<std::size_t>(std::lower_bound(place(from), place(to_end), row, before) - cells_.begin());
    for (; at < cells_.size() && cells_[at][2] == row[2] && cells_[at][1] == row[1] && cells_[at][0] <= last; ++at)
      if (at > cell && touch(cell, at)) to.push_back(at);
  }

  bool touch(std::size_t a, std::size_t b) const {
    for (std::size_t i = begin_[a]; i < begin_[a + 1]; ++i)
      for (std::size_t j = begin_[b]; j < begin_[b + 1]; ++j) {
        const Vec3<double> d = separation(sorted_[i], sorted_[j], box_);
        if (dot(d, d) <= length_ * length_) return true;
      }
    return false;
  }

  const Particles& p_;
  Box box_;
  double length_;
  std::array<double, 3> corner_{}, cell_{};
  std::array<std::int64_t, 3> cells_per_side_{1, 1, 1};
  std::int64_t reach_ = 2;
  std::vector<std::size_t> order_, begin_;
  std::vector<Vec3<double>> sorted_;  // places in this order, so that those of a cell lie together
  std::vector<Place> cells_;
  std::vector<std::size_t> rows_;  // first cell of each row; empty: to be searched for
};

/// Sets that are joined; the lowest member stands for a set.
class Sets {
 public:
  explicit Sets(std::size_t count) : above_(count) { std::iota(above_.begin(), above_.end(), std::size_t{0}); }
  std::size_t root(std::size_t i) {
    while (above_[i] != i) i = above_[i] = above_[above_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a), b = root(b);
    above_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> above_;
};

/// The particles of the sets that have at least so many.
std::vector<std::vector<std::size_t>> members_of_sets(const SmallCells& cells, Sets& sets, std::int64_t least) {
  std::vector<std::size_t> root(cells.count()), particles(cells.count(), 0), number(cells.count());
  for (std::size_t cell = 0; cell < cells.count(); ++cell) {
    root[cell] = sets.root(cell);
    particles[root[cell]] += cells.begin(cell + 1) - cells.begin(cell);
  }
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t cell = 0; cell < cells.count(); ++cell) {
    if (static_cast<std::int64_t>(particles[root[cell]]) < least) continue;
    if (cell == root[cell]) {  // the first of its set
      number[cell] = groups.size();
      groups.emplace_back().reserve(particles[cell]);
    }
    auto& group = groups[number[root[cell]]];
    for (std::size_t k = cells.begin(cell); k < cells.begin(cell + 1); ++k) group.push_back(cells.order()[k]);
  }
  return groups;
}

}  // namespace

FriendGroups friends_of_friends(const Particles& particles, const Box& box, double length, std::int64_t least,
                                int threads) {
  const double most = box.periodic() ? std::min({box.side.x, box.side.y, box.side.z}) / 4 : 0;
  if (!(length > 0) || (box.periodic() && length > most))
    throw Error(ErrorKind::input,
                fmt::format("groups: the linking length is {}, expected above 0{}", to_text(length),
                            box.periodic() ? fmt::format(" and at most a quarter of the box, {}", to_text(most)) : ""));
  const SmallCells cells(particles, box, length);
  constexpr std::int64_t chunk = 256;
  const auto count = static_cast<std::int64_t>(cells.count());
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> links(
      static_cast<std::size_t>((count + chunk - 1) / chunk));
  parallel_chunks(threads, count, chunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::size_t> found;
    for (auto cell = static_cast<std::size_t>(begin); cell < static_cast<std::size_t>(end); ++cell) {
      found.clear();
      cells.add_links(cell, found);
      for (const std::size_t other : found) links[static_cast<std::size_t>(begin / chunk)].emplace_back(cell, other);
    }
  });
  Sets sets(cells.count());
  for (const auto& some : links)
    for (const auto& [a, b] : some) sets.join(a, b);
  FriendGroups result;
  result.groups = members_of_sets(cells, sets, least);
  for (auto& group : result.groups)
    std::sort(group.begin(), group.end(),
              [&](std::size_t a, std::size_t b) { return particles.id[a] < particles.id[b]; });
  std::sort(result.groups.begin(), result.groups.end(), [&](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : particles.id[a[0]] < particles.id[b[0]];
  });
  return result;
}

}  // namespace pergola

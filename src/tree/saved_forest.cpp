#include "tree/saved_forest.hpp"

#include <algorithm>
#include <numeric>

#include "comm/agreement.hpp"
#include "comm/shares.hpp"

namespace pergola::tree {

namespace {

/// Roots that are read at once.
constexpr std::int64_t piece = 1 << 16;

/// Particles that follow one another in the whole tree and in a part of it.
struct Follow {
  std::uint32_t in_tree, in_part;
};

/// Whether a root around this place belongs to a rank.
bool is_around(const Forest& forest, const std::vector<RootsAlong>& along, const std::vector<std::uint32_t>& owner,
               std::uint32_t rank, std::uint32_t place) {
  const auto of_axis = [&](int axis) -> const RootsAlong& {
    return along[(static_cast<std::size_t>(axis) << forest.level) + root_index(place, axis)];
  };
  const RootsAlong &x = of_axis(0), &y = of_axis(1), &z = of_axis(2);
  for (std::uint32_t i = 0; i < x.count; ++i)
    for (std::uint32_t j = 0; j < y.count; ++j)
      for (std::uint32_t k = 0; k < z.count; ++k)
        if (owner[interleave(x.index[i], y.index[j], z.index[k]) >> forest.root_block_shift()] == rank) return true;
  return false;
}

}  // namespace

SavedForest::SavedForest(Communicator& ranks, int threads, SavedPieces& saved, const Forest& forest)
    : ranks_(ranks), saved_(saved), forest_(forest), counts_(static_cast<std::size_t>(forest.root_blocks())) {
  const Shares shares{saved_.roots(), ranks_.size()};
  on_all(ranks_, [&] {
    const std::int64_t end = shares.first(ranks_.rank() + 1);
    for (std::int64_t r = shares.first(ranks_.rank()); r < end; r += piece) {
      const std::int64_t n = std::min(piece, end - r);
      const auto roots = saved_.roots(r, n);
      const auto places = saved_.root_places(r, n);
      for (std::size_t k = 0; k < roots.size(); ++k)
        counts_[places[k] >> forest_.root_block_shift()] += roots[k].link.count;
    }
  });
  std::vector<std::uint32_t> places;
  on_all(ranks_, [&] { places = places_of_stretch(); });
  kept_ = find_kept(ranks_, threads, saved_, &places);
}

/// Of roots, by particle of this rank's share of the tree's order.
std::vector<std::uint32_t> SavedForest::places_of_stretch() {
  const Shares shares{saved_.particles(), ranks_.size()};
  const std::int64_t begin = shares.first(ranks_.rank()), end = shares.first(ranks_.rank() + 1);
  std::vector<std::uint32_t> places;
  places.reserve(static_cast<std::size_t>(end - begin));
  for (std::int64_t r = begin < end ? root_with(begin) : 0; begin + std::ssize(places) < end; r += piece) {
    const std::int64_t n = std::min(piece, saved_.roots() - r);
    const auto of_roots = saved_.root_places(r, n);
    const auto roots = saved_.roots(r, n);
    for (std::size_t k = 0; k < roots.size() && begin + std::ssize(places) < end; ++k) {
      const std::int64_t last = std::min(end, std::int64_t{roots[k].link.first} + roots[k].link.count);
      places.resize(static_cast<std::size_t>(last - begin), of_roots[k]);
    }
  }
  return places;
}

std::int64_t SavedForest::root_with(std::int64_t particle) {
  std::int64_t low = 0;  // the last one that begins with the particle or before it
  for (std::int64_t high = saved_.roots(); high - low > 1;) {
    const std::int64_t middle = low + (high - low) / 2;
    (saved_.at({static_cast<std::uint32_t>(middle)})[0].link.first <= particle ? low : high) = middle;
  }
  return low;
}

/// takes(place): whether this rank takes the root there.
template <class Takes>
std::vector<NumberedCell> SavedForest::taken_roots(const Takes& takes, std::vector<std::uint32_t>& places) {
  std::vector<std::uint32_t> numbers;
  for (std::int64_t r = 0; r < saved_.roots(); r += piece) {
    const auto of_roots = saved_.root_places(r, std::min(piece, saved_.roots() - r));
    for (std::size_t k = 0; k < of_roots.size(); ++k)
      if (takes(of_roots[k])) {
        numbers.push_back(static_cast<std::uint32_t>(r) + static_cast<std::uint32_t>(k));
        places.push_back(of_roots[k]);
      }
  }
  return saved_.at(numbers);
}

SavedTree SavedForest::part(const std::vector<std::uint32_t>& owner, const std::vector<std::uint32_t>& arrived) {
  const auto rank = static_cast<std::uint32_t>(ranks_.rank());
  const auto along = roots_along(forest_);
  SavedTree part;
  part.frame = saved_.frame(), part.spread = saved_.spread(), part.root_level = saved_.root_level();
  part.order.resize(arrived.size());
  std::int64_t copied = 0;
  on_all(ranks_, [&] {
    const auto is_own = [&](std::uint32_t place) { return owner[place >> forest_.root_block_shift()] == rank; };
    std::vector<std::uint32_t> places, roots, from;
    const auto taken = taken_roots(
        [&](std::uint32_t place) {
          return is_own(place) || (forest_.level > 0 && is_around(forest_, along, owner, rank, place));
        },
        places);
    Cells cells;
    Stretch own;  // particles in the tree's order
    std::vector<Follow> follow;
    std::uint32_t count = 0;
    for (std::uint32_t r = 0; r < taken.size(); ++r) {
      const CellLink& link = taken[r].link;
      if (is_own(places[r])) own = {own.count == 0 ? link.first : own.first, own.count + link.count};
      if (follow.empty() || link.first - follow.back().in_tree != count - follow.back().in_part)
        follow.push_back({link.first, count});
      cells.link.push_back({count, link.count, 0, 0}), cells.parent.push_back(r);
      roots.push_back(r), from.push_back(taken[r].number);
      count += link.count;
    }
    cells.level_begin.assign(1, 0);
    if (!taken.empty()) cells.level_begin.push_back(cells.size());
    copied = copy_branches(saved_, std::move(roots), own, cells, from);
    for (std::uint32_t number = 0; number < arrived.size(); ++number) {
      const auto next =
          std::upper_bound(follow.begin(), follow.end(), arrived[number],
                           [](std::uint32_t particle, const Follow& of) { return particle < of.in_tree; });
      part.order[std::prev(next)->in_part + (arrived[number] - std::prev(next)->in_tree)] = number;
    }
    if (saved_.root_level() > 0) part.root = std::move(places);
    if (saved_.has_accelerations()) part.acceleration = saved_.accelerations(from);
    for (const Vec3<double>& centre : saved_.centres(from))
      part.centre.insert(part.centre.end(), {centre.x, centre.y, centre.z});
    part.link = std::move(cells.link), part.parent = std::move(cells.parent);
    part.level_begin = std::move(cells.level_begin);
  });
  check_copied(ranks_, saved_, saved_.roots(), copied);
  return part;
}

}  // namespace pergola::tree

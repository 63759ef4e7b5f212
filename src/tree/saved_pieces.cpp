#include "tree/saved_pieces.hpp"

#include <algorithm>
#include <numeric>

#include "tree/forest.hpp"
#include "tree/saved_checks.hpp"

namespace pergola::tree {

bool SavedPieces::is_in(StateInput& from, const std::string& kind) {
  if (!from.has("tree.kind") || from.bytes("tree.kind") != kind.size()) return false;
  return from.get<char>("tree.kind", std::ssize(kind)) == std::vector<char>(kind.begin(), kind.end());
}

SavedPieces::SavedPieces(StateInput& from, bool periodic, std::int64_t count) : from_(from), count_(count) {
  // A cell has one particle at least, and a parent two children.
  const auto size = [&](const char* name) {
    const auto value = from.get_value<std::int64_t>(name);
    if (value < 0 || value > 2 * count + 1)
      refuse_block(name, "found " + std::to_string(value) + ", expected 0 to " + std::to_string(2 * count + 1));
    return value;
  };
  frame_ = from.get_value<Frame>("tree.frame");
  check_frame(frame_);
  cells_ = size("tree.cells"), accelerations_ = size("tree.accelerations");
  level_begin_ = from.get<std::uint32_t>("tree.level_begin", size("tree.levels"));
  if (from.has("tree.root_level")) {
    root_level_ = check_root_level(from.get_value<std::int64_t>("tree.root_level"));
    roots_ = size("tree.roots");
    from.expect<std::uint32_t>("tree.root", roots_);
  }
  check_levels(level_begin_, static_cast<std::size_t>(roots_), static_cast<std::size_t>(cells_));
  from.expect<std::uint32_t>("tree.order", count);
  from.expect<CellLink>("tree.link", cells_);
  from.expect<std::uint32_t>("tree.parent", cells_);
  from.expect<double>("tree.acceleration", accelerations_);
  if (accelerations_ > 0 && accelerations_ != cells_)
    refuse_block("tree.acceleration", std::to_string(accelerations_) + " numbers, expected none or one for each of " +
                                          std::to_string(cells_) + " cells");
  if (periodic) from.expect<double>("tree.centre", 3 * cells_);
  spread_ = from.get_value<std::int64_t>("tree.spread");
}

template <class V>
std::vector<V> SavedPieces::values(const char* block, const std::vector<std::uint32_t>& cells) {
  struct Run {
    std::size_t begin, end;
  };
  std::vector<Run> runs;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    if (k == 0 || cells[k] != cells[k - 1] + 1) runs.push_back({k, k});
    runs.back().end = k + 1;
  }
  // In the order of the block, of which readers hold a part.
  std::sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) { return cells[a.begin] < cells[b.begin]; });
  std::vector<V> found(cells.size());
  for (const auto& [begin, end] : runs)
    from_.read(block, std::uint64_t{cells[begin]} * sizeof(V), found.data() + begin, (end - begin) * sizeof(V));
  return found;
}

void SavedPieces::check(const NumberedCell& cell) const {
  const auto next = std::upper_bound(level_begin_.begin(), level_begin_.end(), cell.number);
  check_link(cell.number, cell.link, *next, next + 1 == level_begin_.end() ? *next : next[1]);
}

NumberedCell SavedPieces::root() {
  if (root_level_ > 0) refuse_block("tree.root_level", "found a forest, expected one root");
  return roots(0, 1)[0];
}

std::vector<NumberedCell> SavedPieces::roots(std::int64_t first, std::int64_t n) {
  if (n == 0) return {};
  const std::int64_t begin = std::max<std::int64_t>(first - 1, 0);  // the one before ends where the first one begins
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(first + n - begin));
  std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(begin));
  std::vector<NumberedCell> found = at(numbers);
  const auto parents = values<std::uint32_t>("tree.parent", numbers);
  const auto places = root_places(begin, std::ssize(numbers));
  std::uint64_t next = begin > 0 ? found[0].link.first : 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    check_root(numbers[k], found[k].link, parents[k], next, numbers[k] + 1 == roots_, count_);
    check_root_place(places[k], k > 0 ? &places[k - 1] : nullptr, root_level_, numbers[k]);
    next += found[k].link.count;
  }
  found.erase(found.begin(), found.end() - n);
  return found;
}

std::vector<std::uint32_t> SavedPieces::root_places(std::int64_t first, std::int64_t n) {
  std::vector<std::uint32_t> places(static_cast<std::size_t>(n));
  if (root_level_ > 0 && n > 0)
    from_.read("tree.root", static_cast<std::uint64_t>(first) * sizeof(std::uint32_t), places.data(),
               places.size() * sizeof(std::uint32_t));
  return places;
}

std::vector<NumberedCell> SavedPieces::at(const std::vector<std::uint32_t>& numbers) {
  const auto links = values<CellLink>("tree.link", numbers);
  std::vector<NumberedCell> found;
  found.reserve(numbers.size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    found.push_back({numbers[k], links[k]});
    check(found.back());
  }
  return found;
}

std::vector<NumberedCell> SavedPieces::children(const std::vector<NumberedCell>& of) {
  std::vector<std::uint32_t> numbers;
  for (const auto& [number, link] : of)
    for (std::uint32_t c = 0; c < link.children; ++c) numbers.push_back(link.child + c);
  const auto links = values<CellLink>("tree.link", numbers);
  const auto parents = values<std::uint32_t>("tree.parent", numbers);
  std::vector<NumberedCell> found;
  found.reserve(numbers.size());
  std::size_t at = 0;
  for (const auto& [number, link] : of) {
    check_children(number, link, links.data() + at, parents.data() + at);
    for (const std::size_t end = at + link.children; at < end; ++at) {
      found.push_back({numbers[at], links[at]});
      check(found.back());
    }
  }
  return found;
}

std::vector<double> SavedPieces::accelerations(const std::vector<std::uint32_t>& cells) {
  auto found = values<double>("tree.acceleration", cells);
  check_accelerations(found);
  return found;
}

std::vector<Vec3<double>> SavedPieces::centres(const std::vector<std::uint32_t>& cells) {
  auto found = values<Vec3<double>>("tree.centre", cells);
  for (const Vec3<double>& centre : found) check_centres(&centre.x, 3);
  return found;
}

std::vector<std::uint32_t> SavedPieces::order(std::int64_t first, std::int64_t n) {
  std::vector<std::uint32_t> places(static_cast<std::size_t>(n));
  from_.read("tree.order", static_cast<std::uint64_t>(first) * sizeof(std::uint32_t), places.data(),
             places.size() * sizeof(std::uint32_t));
  for (std::int64_t k = 0; k < n; ++k)
    if (const std::uint32_t place = places[static_cast<std::size_t>(k)]; place >= count_)
      refuse_block("tree.order", "place " + std::to_string(place) + " at " + std::to_string(first + k) +
                                     ", expected each of " + std::to_string(count_) + " places once");
  return places;
}

}  // namespace pergola::tree

#include "tree/saved_tree.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "tree/forest.hpp"
#include "tree/saved_checks.hpp"

namespace pergola::tree {

namespace {

std::string range(std::uint64_t first, std::uint64_t count) {
  return std::to_string(first) + " to " + std::to_string(first + count) + " (not included)";
}

}  // namespace

void refuse_block(const char* block, const std::string& what) {
  throw Error(ErrorKind::input, std::string("checkpoint: block ") + block + ": " + what);
}

void check_frame(const Frame& f) {
  const bool finite = std::isfinite(f.corner.x) && std::isfinite(f.corner.y) && std::isfinite(f.corner.z) &&
                      std::isfinite(f.side) && std::isfinite(f.mass);
  if (!finite || f.side <= 0 || f.mass <= 0)
    refuse_block("tree.frame", "expected finite numbers, side and mass above 0");
}

void check_levels(const std::vector<std::uint32_t>& begin, std::size_t roots, std::size_t cells) {
  bool good = begin.size() >= 2 && begin[0] == 0 && begin[1] == roots && begin.back() == cells;
  for (std::size_t l = 1; good && l < begin.size(); ++l) good = begin[l] > begin[l - 1];
  if (!good)
    refuse_block("tree.level_begin",
                 "expected numbers that rise from 0, " + std::to_string(roots) + " to " + std::to_string(cells));
}

int check_root_level(std::int64_t level) {
  if (level < 1 || level > finest_roots)
    refuse_block("tree.root_level",
                 "found " + std::to_string(level) + ", expected 1 to " + std::to_string(finest_roots));
  return static_cast<int>(level);
}

void check_root_place(std::uint32_t place, const std::uint32_t* before, int root_level, std::size_t root) {
  if (place >> 3 * root_level != 0 || (before && place <= *before))
    refuse_block("tree.root", "place " + std::to_string(place) + " at " + std::to_string(root) +
                                  ", expected places of level " + std::to_string(root_level) + " that rise");
}

void check_root(std::size_t root, const CellLink& link, std::uint32_t parent, std::uint64_t begin, bool is_last,
                std::int64_t particles) {
  const std::uint64_t end = std::uint64_t{link.first} + link.count, all = static_cast<std::uint64_t>(particles);
  if (link.first != begin || link.count == 0 || end > all || (is_last && end != all))
    refuse_block("tree.link", "root " + std::to_string(root) + " has the particles " + range(link.first, link.count) +
                                  ", expected some from " + std::to_string(begin) + " on, to the last one of " +
                                  std::to_string(particles));
  if (parent != root)
    refuse_block("tree.parent",
                 "root " + std::to_string(root) + " has the parent " + std::to_string(parent) + ", expected itself");
}

void check_link(std::uint32_t cell, const CellLink& link, std::uint64_t begin, std::uint64_t end) {
  const auto which = "cell " + std::to_string(cell);
  if (link.children == 0) {
    if (link.count > leaf_capacity)
      refuse_block("tree.link", which + " is a leaf of " + std::to_string(link.count) +
                                    " particles, expected at most " + std::to_string(leaf_capacity));
    return;
  }
  const std::uint64_t child = link.child;
  if (link.children > 8 || child < begin || child + link.children > end)
    refuse_block("tree.link", which + " has the children " + range(child, link.children) + ", expected up to 8 of " +
                                  range(begin, end - begin));
}

void check_children(std::uint32_t cell, const CellLink& link, const CellLink* part, const std::uint32_t* parent) {
  std::uint64_t at = link.first;
  for (std::uint32_t k = 0; k < link.children; ++k, ++part, ++parent) {
    const auto which = "cell " + std::to_string(link.child + k);
    if (*parent != cell)
      refuse_block("tree.parent",
                   which + " has the parent " + std::to_string(*parent) + ", expected " + std::to_string(cell));
    if (part->first != at || part->count == 0)
      refuse_block("tree.link", which + " has the particles " + range(part->first, part->count) +
                                    ", expected some from " + std::to_string(at));
    at += part->count;
  }
  if (link.children > 0 && at != std::uint64_t{link.first} + link.count)
    refuse_block("tree.link", "cell " + std::to_string(cell) + " has the particles " + range(link.first, link.count) +
                                  ", expected " + range(link.first, at - link.first) + " as in its children");
}

void check_accelerations(const std::vector<double>& values) {
  for (const double a : values)
    if (!(a >= 0)) refuse_block("tree.acceleration", "expected numbers of at least 0, found " + std::to_string(a));
}

void check_centres(const double* values, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k)
    if (!std::isfinite(values[k]))
      refuse_block("tree.centre", "expected finite numbers, found " + std::to_string(values[k]));
}

namespace {

/// Every particle once.
void check_order(const std::vector<std::uint32_t>& order) {
  std::vector<bool> seen(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (order[k] >= order.size() || seen[order[k]])
      refuse_block("tree.order", "place " + std::to_string(order[k]) + " at " + std::to_string(k) +
                                     ", expected each of " + std::to_string(order.size()) + " places once");
    seen[order[k]] = true;
  }
}

std::size_t root_count(const SavedTree& tree) { return tree.root_level > 0 ? tree.root.size() : 1; }

void check_roots(const SavedTree& tree) {
  for (std::size_t r = 0; r < tree.root.size(); ++r)
    check_root_place(tree.root[r], r > 0 ? &tree.root[r - 1] : nullptr, tree.root_level, r);
}

void check_cells(const SavedTree& tree) {
  std::uint64_t at = 0;
  const std::size_t roots = root_count(tree);
  for (std::size_t r = 0; r < roots; ++r) {
    check_root(r, tree.link[r], tree.parent[r], at, r + 1 == roots, std::ssize(tree.order));
    at += tree.link[r].count;
  }
  const auto& begin = tree.level_begin;
  std::uint64_t children = 0;
  for (std::size_t level = 0; level + 1 < begin.size(); ++level)
    for (std::uint32_t cell = begin[level]; cell < begin[level + 1]; ++cell) {
      const CellLink& link = tree.link[cell];
      const bool last = level + 2 == begin.size();
      check_link(cell, link, begin[level + 1], last ? begin[level + 1] : begin[level + 2]);
      if (link.children > 0) check_children(cell, link, tree.link.data() + link.child, tree.parent.data() + link.child);
      children += link.children;
    }
  // Each but the roots has one parent, so none is left over.
  if (children + roots != tree.link.size())
    refuse_block("tree.link",
                 std::to_string(children) + " children, expected " + std::to_string(tree.link.size() - roots));
}

void check(const SavedTree& tree) {
  check_frame(tree.frame);
  check_order(tree.order);
  check_levels(tree.level_begin, root_count(tree), tree.link.size());
  check_roots(tree);
  check_cells(tree);
  if (!tree.acceleration.empty() && tree.acceleration.size() != tree.link.size())
    refuse_block("tree.acceleration", std::to_string(tree.acceleration.size()) +
                                          " numbers, expected none or one for each of " +
                                          std::to_string(tree.link.size()) + " cells");
  check_accelerations(tree.acceleration);
  check_centres(tree.centre.data(), tree.centre.size());
}

}  // namespace

void SavedTree::save(StateBlocks& blocks, const std::string& kind) const {
  blocks.put("tree.kind", std::vector<char>(kind.begin(), kind.end()));
  blocks.put_value("tree.frame", frame);
  blocks.put("tree.order", order);
  blocks.put_value("tree.cells", static_cast<std::int64_t>(link.size()));
  std::vector<CellLink> links = link;
  for (CellLink& l : links)
    if (l.children == 0) l.child = 0;  // whatever a tree has there
  blocks.put("tree.link", links);
  blocks.put("tree.parent", parent);
  blocks.put_value("tree.levels", static_cast<std::int64_t>(level_begin.size()));
  blocks.put("tree.level_begin", level_begin);
  blocks.put_value("tree.accelerations", static_cast<std::int64_t>(acceleration.size()));
  blocks.put("tree.acceleration", acceleration);
  blocks.put_value("tree.spread", spread);
  if (!centre.empty()) blocks.put("tree.centre", centre);
  if (root_level == 0) return;
  blocks.put_value("tree.root_level", std::int64_t{root_level});
  blocks.put_value("tree.roots", static_cast<std::int64_t>(root.size()));
  blocks.put("tree.root", root);
}

bool SavedTree::restore(const StateBlocks& blocks, const std::string& kind, std::int64_t count) {
  const auto found = blocks.blocks().find("tree.kind");
  if (found == blocks.blocks().end() || found->second.size() != kind.size()) return false;
  if (blocks.get<char>("tree.kind", kind.size()) != std::vector<char>(kind.begin(), kind.end())) return false;
  if (count == 0) return true;
  // A cell has one particle at least, and a parent two children.
  const auto size = [&](const char* name) {
    const auto value = blocks.get_value<std::int64_t>(name);
    if (value < 0 || value > 2 * count + 1)
      refuse_block(name, "found " + std::to_string(value) + ", expected 0 to " + std::to_string(2 * count + 1));
    return static_cast<std::size_t>(value);
  };
  frame = blocks.get_value<Frame>("tree.frame");
  order = blocks.get<std::uint32_t>("tree.order", static_cast<std::size_t>(count));
  link = blocks.get<CellLink>("tree.link", size("tree.cells"));
  parent = blocks.get<std::uint32_t>("tree.parent", size("tree.cells"));
  level_begin = blocks.get<std::uint32_t>("tree.level_begin", size("tree.levels"));
  acceleration = blocks.get<double>("tree.acceleration", size("tree.accelerations"));
  spread = blocks.get_value<std::int64_t>("tree.spread");
  if (kind.ends_with("periodic")) centre = blocks.get<double>("tree.centre", 3 * link.size());
  if (blocks.blocks().contains("tree.root_level")) {
    root_level = check_root_level(blocks.get_value<std::int64_t>("tree.root_level"));
    root = blocks.get<std::uint32_t>("tree.root", size("tree.roots"));
  }
  check(*this);
  return true;
}

}  // namespace pergola::tree

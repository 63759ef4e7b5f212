#include "tree/saved_shares.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "comm/collectives.hpp"
#include "comm/shares.hpp"
#include "tree/saved_tree.hpp"

namespace pergola::tree {

namespace {

/// What of a cell ranks bring to the one whose share it is in.
struct SharedCell {
  CellLink link;
  double acceleration;
  Vec3<double> centre;
};

std::vector<Stretch> stretches_of(const Shares& shares) {
  std::vector<Stretch> all;
  for (int rank = 0; rank < shares.ranks; ++rank) all.push_back({shares.first(rank), shares.count(rank)});
  return all;
}

/// Of what ranks have one after the other, from `first` on: where each has its own.
std::vector<Stretch> in_turn(const std::vector<std::int64_t>& counts, std::int64_t first) {
  std::vector<Stretch> all;
  for (const std::int64_t count : counts) all.push_back({std::exchange(first, first + count), count});
  return all;
}

std::vector<Stretch> in_turn(Communicator& ranks, std::int64_t own) {
  return in_turn(gather_on_all(ranks, {ranks.size(), ranks.size()}, &own), 0);
}

/// Numbers that ranks have one after the other. Returns how many all have.
std::int64_t put_numbers(Communicator& ranks, const char* name, const std::vector<std::uint32_t>& own,
                         StateSource& to) {
  const auto has = in_turn(ranks, std::ssize(own));
  const std::int64_t total = has.back().end();
  to.put_share(name, fetch_stretch(ranks, has, stretches_of({total, ranks.size()}), own.data()), total);
  return total;
}

template <class V, class Field>
void put_field(StateSource& to, const char* name, const std::vector<SharedCell>& cells, std::int64_t total,
               const Field& field) {
  std::vector<V> values;
  values.reserve(cells.size());
  for (const SharedCell& cell : cells) values.push_back(field(cell));
  to.put_share(name, std::move(values), total);
}

/// On each level the cells of the ranks, sorted, follow one another in the order of ranks, and so do their children on
/// the next one.
void put_cells(Communicator& ranks, ExportedTree exported, std::uint32_t first, StateSource& to) {
  const auto size = static_cast<std::size_t>(ranks.size()), rank = static_cast<std::size_t>(ranks.rank());
  std::int64_t most = exported.cells.empty() ? 0 : exported.cells.back().level + 1;
  ranks.all_reduce(&most, 1, Reduction::maximum);
  const auto levels = static_cast<std::size_t>(most);
  std::vector<std::int64_t> own_counts(2 * levels);  // by level: cells, and their children
  for (const ExportedCell& cell : exported.cells)
    ++own_counts[2 * cell.level], own_counts[2 * cell.level + 1] += cell.children;
  const auto counts =
      gather_on_all(ranks, {static_cast<std::int64_t>(2 * levels * size), ranks.size()}, own_counts.data());
  const auto turns = [&](std::size_t number, std::int64_t begin) {
    std::vector<std::int64_t> of_ranks;
    for (std::size_t r = 0; r < size; ++r) of_ranks.push_back(counts[2 * levels * r + number]);
    return in_turn(of_ranks, begin);
  };
  std::vector<std::vector<Stretch>> runs;  // of each level and rank
  std::vector<std::uint32_t> level_begin{0};
  for (std::size_t level = 0; level < levels; ++level) {
    runs.push_back(turns(2 * level, level_begin.back()));
    level_begin.push_back(static_cast<std::uint32_t>(runs.back().back().end()));
  }

  const std::int64_t total = level_begin.back();
  const auto shares = stretches_of({total, ranks.size()});
  std::vector<SharedCell> share;
  std::vector<std::uint32_t> parent_share, parents(static_cast<std::size_t>(runs[0][rank].count));
  std::iota(parents.begin(), parents.end(), static_cast<std::uint32_t>(runs[0][rank].first));  // roots have themselves
  auto cell = exported.cells.begin();
  for (std::size_t level = 0; level < levels; ++level) {
    const auto below = turns(2 * level + 1, level_begin[level + 1]);
    auto child = static_cast<std::uint32_t>(below[rank].first);
    std::vector<SharedCell> own;
    std::vector<std::uint32_t> parents_below;
    for (std::int64_t number = runs[level][rank].first; number < runs[level][rank].end(); ++number, ++cell) {
      own.push_back({{first + cell->first, cell->count, cell->children > 0 ? child : 0, cell->children},
                     cell->acceleration,
                     cell->centre});
      parents_below.insert(parents_below.end(), cell->children, static_cast<std::uint32_t>(number));
      child += cell->children;
    }
    const Stretch all{level_begin[level], level_begin[level + 1] - level_begin[level]};
    std::vector<Stretch> wanted;
    for (const Stretch& part : shares) wanted.push_back(part.common(all));
    const auto arrived = fetch_stretch(ranks, runs[level], wanted, own.data());
    share.insert(share.end(), arrived.begin(), arrived.end());
    const auto has = level == 0 ? runs[0] : turns(2 * level - 1, level_begin[level]);
    const auto of_arrived = fetch_stretch(ranks, has, wanted, parents.data());
    parent_share.insert(parent_share.end(), of_arrived.begin(), of_arrived.end());
    parents = std::move(parents_below);
  }
  exported.cells = {};
  to.put_value("tree.cells", total);
  put_field<CellLink>(to, "tree.link", share, total, [](const SharedCell& of) { return of.link; });
  to.put_share("tree.parent", std::move(parent_share), total);
  to.put_value("tree.levels", std::ssize(level_begin));
  to.put("tree.level_begin", std::move(level_begin));
  to.put_value("tree.accelerations", exported.accelerations ? total : 0);
  if (exported.accelerations)
    put_field<double>(to, "tree.acceleration", share, total, [](const SharedCell& of) { return of.acceleration; });
  else
    to.put("tree.acceleration", std::vector<double>{});
  if (exported.centres)
    put_field<Vec3<double>>(to, "tree.centre", share, total, [](const SharedCell& of) { return of.centre; });
}

}  // namespace

void save_in_shares(Communicator& ranks, ExportedTree exported, const std::string& kind, StateSource& to) {
  const std::int64_t total = put_numbers(ranks, "tree.order", exported.order, to);
  if (total == 0) {
    StateBlocks none;
    SavedTree saved;
    saved.frame = exported.frame, saved.spread = exported.spread;
    saved.save(none, kind);
    return to.put_blocks(std::move(none));
  }
  const auto own = in_turn(ranks, std::ssize(exported.order))[static_cast<std::size_t>(ranks.rank())];
  std::int64_t accelerations = exported.accelerations ? 1 : 0;  // a rank without cells need not know of them
  ranks.all_reduce(&accelerations, 1, Reduction::maximum);
  exported.accelerations = accelerations == 1;
  exported.order = {};
  to.put("tree.kind", std::vector<char>(kind.begin(), kind.end()));
  to.put_value("tree.frame", exported.frame);
  to.put_value("tree.spread", exported.spread);
  if (exported.root_level > 0) {
    to.put_value("tree.root_level", std::int64_t{exported.root_level});
    to.put_value("tree.roots", put_numbers(ranks, "tree.root", exported.root, to));
  }
  std::sort(exported.cells.begin(), exported.cells.end(), [](const ExportedCell& a, const ExportedCell& b) {
    return a.level != b.level ? a.level < b.level : a.first < b.first;
  });
  put_cells(ranks, std::move(exported), static_cast<std::uint32_t>(own.first), to);
}

std::vector<ExportedCell> exported_cells(int rank, const DomainCells& of,
                                         const std::function<void(std::uint32_t, ExportedCell&)>& more) {
  std::vector<std::uint32_t> level(of.end), first(of.top);
  std::vector<int> teller(of.top);
  for (auto leaf = of.leaves.rbegin(); leaf != of.leaves.rend(); ++leaf)  // from the last one: the first one stays
    for (std::uint32_t cell = leaf->cell;; cell = of.parent[cell]) {
      first[cell] = of.link[leaf->cell].first, teller[cell] = leaf->rank;
      if (cell == 0) break;
    }
  std::vector<ExportedCell> exported;
  for (std::uint32_t cell = 0; cell < of.end; ++cell) {
    if (cell > 0) level[cell] = level[of.parent[cell]] + 1;
    if (cell < of.top && teller[cell] != rank) continue;
    const CellLink& link = of.link[cell];
    exported.push_back({level[cell], cell < of.top ? first[cell] : link.first, link.count, link.children});
    more(cell, exported.back());
  }
  return exported;
}

}  // namespace pergola::tree

#include "tree/build_cpu.hpp"

#include <iterator>
#include <numeric>

#include "device/parallel.hpp"
#include "tree/keys.hpp"

namespace pergola::tree {

void build_cells_cpu(int threads, std::int64_t count, const std::uint64_t* upper, const std::uint64_t* lower,
                     Cells& cells) {
  cells.link.assign(1, {0, static_cast<std::uint32_t>(count), 0, 0});
  cells.parent.assign(1, 0);
  cells.level_begin.assign({0, 1});
  grow_cells_cpu(threads, {0}, upper, lower, cells);
}

void grow_cells_cpu(int threads, std::vector<std::uint32_t> from, const std::uint64_t* upper,
                    const std::uint64_t* lower, Cells& cells) {
  constexpr std::int64_t chunk = 256;
  std::vector<Pieces> pieces;
  while (!from.empty()) {
    const std::uint32_t end = cells.size();
    pieces.resize(from.size());
    parallel_chunks(threads, std::ssize(from), chunk, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const CellLink& link = cells.link[from[at]];
        pieces[at] = split_cell(link.first, link.count, upper, lower);
      }
    });
    std::uint32_t next = end;
    for (std::size_t k = 0; k < from.size(); ++k) {
      CellLink& link = cells.link[from[k]];
      link.child = next;
      link.children = static_cast<std::uint32_t>(pieces[k].count);
      next += link.children;
    }
    if (next == end) return;
    cells.link.resize(next);
    cells.parent.resize(next);
    parallel_chunks(threads, std::ssize(from), chunk, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) {
        const std::uint32_t cell = from[static_cast<std::size_t>(k)];
        const Pieces& piece = pieces[static_cast<std::size_t>(k)];
        std::uint32_t begin = cells.link[cell].first;
        for (int c = 0; c < piece.count; ++c) {
          const std::uint32_t child = cells.link[cell].child + static_cast<std::uint32_t>(c);
          cells.link[child] = {begin, piece.end[c] - begin, 0, 0};
          cells.parent[child] = cell;
          begin = piece.end[c];
        }
      }
    });
    cells.level_begin.push_back(next);
    from.resize(next - end);
    std::iota(from.begin(), from.end(), end);
  }
}

}  // namespace pergola::tree

#include "tree/build_cpu.hpp"

#include <algorithm>
#include <array>

#include "device/parallel.hpp"
#include "tree/split.hpp"

namespace pergola::tree {

void build_cells_cpu(int threads, std::int64_t count, const std::uint64_t* upper, const std::uint64_t* lower,
                     Cells& cells) {
  constexpr std::int64_t chunk = 256;
  cells.link.assign(1, {0, static_cast<std::uint32_t>(count), 0, 0});
  cells.parent.assign(1, 0);
  cells.level_begin.assign({0, 1});
  std::vector<Pieces> pieces;
  while (true) {
    const std::uint32_t begin = cells.level_begin[cells.level_begin.size() - 2], end = cells.level_begin.back();
    pieces.resize(end - begin);
    parallel_chunks(threads, end - begin, chunk, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) {
        const auto at = static_cast<std::size_t>(k);
        pieces[at] = split_cell(cells.link[begin + at].first, cells.link[begin + at].count, upper, lower);
      }
    });
    std::uint32_t next = end;
    for (std::uint32_t cell = begin; cell < end; ++cell) {
      cells.link[cell].child = next;
      cells.link[cell].children = static_cast<std::uint32_t>(pieces[cell - begin].count);
      next += cells.link[cell].children;
    }
    if (next == end) return;
    cells.link.resize(next);
    cells.parent.resize(next);
    parallel_chunks(threads, end - begin, chunk, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) {
        const auto cell = static_cast<std::uint32_t>(begin + k);
        const Pieces& piece = pieces[static_cast<std::size_t>(k)];
        std::uint32_t from = cells.link[cell].first;
        for (int c = 0; c < piece.count; ++c) {
          const std::uint32_t child = cells.link[cell].child + static_cast<std::uint32_t>(c);
          cells.link[child] = {from, piece.end[c] - from, 0, 0};
          cells.parent[child] = cell;
          from = piece.end[c];
        }
      }
    });
    cells.level_begin.push_back(next);
  }
}

}  // namespace pergola::tree

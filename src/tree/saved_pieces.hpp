#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/state_source.hpp"
#include "tree/octree.hpp"
#include "tree/top_tree.hpp"

namespace pergola::tree {

/// A cell of a saved tree and its number there.
struct NumberedCell {
  std::uint32_t number = 0;
  CellLink link{};
};

/// A saved tree (tree/saved_tree.hpp) that is read in pieces, so that nobody needs all of it. Throws Error(input) when
/// a number that it reads leads anywhere outside of the tree.
class SavedPieces {
 public:
  /// Whether there is a tree of this kind.
  static bool is_in(StateInput& from, const std::string& kind);
  /// `count`: particles of all ranks, more than 0.
  SavedPieces(StateInput& from, bool periodic, std::int64_t count);

  const Frame& frame() const { return frame_; }
  std::int64_t spread() const { return spread_; }
  bool has_accelerations() const { return accelerations_ > 0; }
  std::int64_t particles() const { return count_; }
  std::int64_t cells() const { return cells_; }
  int levels() const { return static_cast<int>(level_begin_.size()) - 1; }
  /// Of a forest (tree/forest.hpp); 0: one root.
  int root_level() const { return root_level_; }
  std::int64_t roots() const { return roots_; }

  /// The one root.
  NumberedCell root();
  /// Roots first … first + n − 1, which have the next particles and the next places.
  std::vector<NumberedCell> roots(std::int64_t first, std::int64_t n);
  std::vector<std::uint32_t> root_places(std::int64_t first, std::int64_t n);
  /// Those that are there.
  std::vector<NumberedCell> at(const std::vector<std::uint32_t>& numbers);
  /// Of these cells, one cell's after the other's.
  std::vector<NumberedCell> children(const std::vector<NumberedCell>& of);
  std::vector<double> accelerations(const std::vector<std::uint32_t>& cells);
  std::vector<Vec3<double>> centres(const std::vector<std::uint32_t>& cells);
  /// Places in the input of particles first … first + n − 1 in the tree's order.
  std::vector<std::uint32_t> order(std::int64_t first, std::int64_t n);

 private:
  /// Of cells by their numbers; those that follow one another are read at once.
  template <class V>
  std::vector<V> values(const char* block, const std::vector<std::uint32_t>& cells);
  void check(const NumberedCell& cell) const;

  StateInput& from_;
  std::int64_t count_, cells_ = 0, accelerations_ = 0, spread_ = 0, roots_ = 1;
  int root_level_ = 0;
  Frame frame_;
  std::vector<std::uint32_t> level_begin_;
};

/// The top of a saved tree of one root on `ranks` ranks, with equal weights (tree/top_tree.hpp); `from`: the number
/// there of each cell of the top.
TopTree cut_top_tree(SavedPieces& there, int ranks, std::vector<std::uint32_t>& from);

}  // namespace pergola::tree

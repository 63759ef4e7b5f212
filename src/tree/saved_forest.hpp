#pragma once
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "tree/forest.hpp"
#include "tree/saved_domain.hpp"
#include "tree/saved_tree.hpp"

namespace pergola::tree {

/// A saved forest that ranks share out: each reads some of the roots, and the cells of those that it takes. All ranks
/// make all calls that are not const together.
class SavedForest {
 public:
  SavedForest(Communicator& ranks, int threads, SavedPieces& saved, const Forest& forest);

  /// By plot: particles in the roots that this rank has read; of all ranks they are all particles.
  const std::vector<std::int64_t>& counts() const { return counts_; }
  /// By kept particle: the place of its root, and its own in the tree's order.
  const std::vector<std::uint32_t>& place_of() const { return kept_.value; }
  const std::vector<std::uint32_t>& in_tree() const { return kept_.in_tree; }

  /// The part of the tree that a rank has: its own roots and those around them. `owner`: the ranks of plots; `arrived`:
  /// the places in the tree's order of the particles in it, by the numbers that they have here.
  SavedTree part(const std::vector<std::uint32_t>& owner, const std::vector<std::uint32_t>& arrived);

 private:
  std::vector<std::uint32_t> places_of_stretch();
  std::int64_t root_with(std::int64_t particle);
  template <class Takes>
  std::vector<NumberedCell> taken_roots(const Takes& takes, std::vector<std::uint32_t>& places);

  Communicator& ranks_;
  SavedPieces& saved_;
  const Forest& forest_;
  std::vector<std::int64_t> counts_;
  KeptInTree kept_;
};

}  // namespace pergola::tree

#pragma once
#include <cstdint>
#include <vector>

#include "tree/octree.hpp"

namespace pergola::tree {

/// Takes the sums of particles of one leaf: ψ and ∇ψ (physics/expansion.inl) in the tree's units.
struct Sink {
  void* context = nullptr;
  void (*put)(void* context, std::uint32_t place, const double (&field)[4]) = nullptr;
};

/// Which of the particles ask: null where all do.
struct ActiveSet {
  const std::uint8_t* particle = nullptr;  // in the tree's order
  const std::uint8_t* cell = nullptr;      // whether it holds one
};

/// A cell whose particles are still to be served: the cells not yet accounted for, and its local expansion.
template <class T>
struct WalkTask {
  std::uint32_t cell = 0;
  std::vector<std::uint32_t> candidates;
  std::vector<T> local;
};

/// Serves the cells above `grain` particles and returns the tasks that are left: small cells, in the tree's order. What
/// leaves get depends neither on the tasks nor on which other particles ask.
template <class T>
std::vector<WalkTask<T>> begin_walk(const TreeView<T>& tree, const Opening& opening, const ActiveSet& active,
                                    std::uint32_t grain, const Sink& sink);
/// Serves all particles of a task that ask.
template <class T>
void walk(const TreeView<T>& tree, const Opening& opening, const ActiveSet& active, const WalkTask<T>& task,
          const Sink& sink);

}  // namespace pergola::tree

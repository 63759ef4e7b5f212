#pragma once
// The walk on the CPU: which cells and particles act on which targets, and the sums of what they do.
//
// The walk goes from the root down. Each target cell inherits the cells that its parent has not decided about, and
// sorts each of them by the opening test (physics/opening.inl): far (its expansion acts on the target cell), points (on
// the target's particles), near (a leaf, summed by pairs), passed on to the target's children, or opened. begin_walk()
// serves the large cells and returns tasks for the small ones; walk() serves one task. Tasks may run on any threads in
// any order: what a particle receives depends neither on that nor on which other particles ask. Every particle acts
// exactly once on every other. Results go to a Sink, in the tree's units. tree/walk.inl has the walk; one source per
// number type and space compiles it for each instruction set.
#include <cstdint>
#include <vector>

#include "particles/box.hpp"
#include "physics/split.hpp"
#include "tree/octree.hpp"

namespace pergola::tree {

/// The cost of each part of a walk, for counting work.
struct WalkCosts {
  std::uint64_t pair = 0;   // of particles
  std::uint64_t look = 0;   // test whether a pair is within the cut-off radius
  std::uint64_t far = 0;    // a cell's expansion acts on a cell
  std::uint64_t point = 0;  // a cell's expansion acts on a particle
  std::uint64_t test = 0;   // opening test
};

/// Takes the sums of one particle: ψ and ∇ψ (physics/expansion.inl) in the tree's units.
struct Sink {
  void* context = nullptr;
  void (*put)(void* context, std::uint32_t place, const double (&field)[4]) = nullptr;
  std::uint64_t* work = nullptr;  // by cell: the cost of serving it is added; null: not counted
  WalkCosts costs{};
};

/// The active particles. Null: all are.
struct ActiveSet {
  const std::uint8_t* particle = nullptr;  // in the tree's order
  const std::uint8_t* cell = nullptr;      // whether the cell has an active particle
};

/// A cell whose particles are still to be served: the cells not yet accounted for, and its local expansion.
template <class T>
struct WalkTask {
  std::uint32_t cell = 0;
  std::vector<std::uint32_t> candidates;
  std::vector<T> local;
};

/// A search for what a walk would open of other ranks: interactions are found and not summed. Cells that are not
/// foreign are left out.
struct Search {
  struct Missing {
    std::uint32_t target, source;  // the target needs a part of the source that is on another rank
  };
  const std::uint8_t* foreign = nullptr;  // by cell: whether some of it may be elsewhere
  std::vector<Missing>* missing = nullptr;
};
/// Throws Error(numerics): a walk met a cell whose children or particles are on another rank only.
[[noreturn]] void fail_elsewhere(std::uint32_t cell);  // tree/spread_octree.cpp

/// The space of a walk. Open space: all particles act, with the softened law.
struct OpenSpace {
  static constexpr bool periodic = false;
};
/// A periodic box with the sides `period`, in the tree's units, in which nothing acts beyond the cut-off radius. 2
/// cut_off is at most the shortest side, so at most one image of a pair is within it.
struct CutOffBox {
  static constexpr bool periodic = true;
  Vec3<double> period{1, 1, 1};
  double cut_off = 0;
};
/// The same with the short-range part of the law.
template <class T>
struct ShortRangeBox : CutOffBox {
  SplitLaw<T> law;
  bool with_potential = true;
};

/// Serves the cells with more than `grain` particles and returns tasks for the others, in the tree's order. With a
/// search it only finds what is missing. Space: OpenSpace or ShortRangeBox<T>.
template <class T, class Space>
std::vector<WalkTask<T>> begin_walk(const TreeView<T>& tree, const Space& space, const Opening& opening,
                                    const ActiveSet& active, std::uint32_t grain, const Sink& sink,
                                    const Search& search = {});
/// Serves the active particles of a task.
template <class T, class Space>
void walk(const TreeView<T>& tree, const Space& space, const Opening& opening, const ActiveSet& active,
          const WalkTask<T>& task, const Sink& sink, const Search& search = {});

}  // namespace pergola::tree

#pragma once
#include <cstdint>
#include <vector>

#include "particles/box.hpp"
#include "physics/split.hpp"
#include "tree/octree.hpp"

namespace pergola::tree {

/// What the parts of a walk cost, for counting work.
struct WalkCosts {
  std::uint64_t pair = 0;   // of particles
  std::uint64_t look = 0;   // whether a pair is within the cut-off radius
  std::uint64_t far = 0;    // a cell's expansion acts on another one's
  std::uint64_t point = 0;  // it acts on a particle
  std::uint64_t test = 0;   // whether it may
};

/// Takes the sums of particles of one leaf: ψ and ∇ψ (physics/expansion.inl) in the tree's units.
struct Sink {
  void* context = nullptr;
  void (*put)(void* context, std::uint32_t place, const double (&field)[4]) = nullptr;
  std::uint64_t* work = nullptr;  // by cell: what serving it costs is added; null: that is not counted
  WalkCosts costs{};
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

/// A search for what a walk would open: interactions are found and not summed, those with cells that are not foreign
/// are left out.
struct Search {
  struct Missing {
    std::uint32_t target, source;  // what the target meets of the source is elsewhere
  };
  const std::uint8_t* foreign = nullptr;  // by cell: whether some of it may be elsewhere
  std::vector<Missing>* missing = nullptr;
};
/// Throws Error(numerics): a walk met a cell whose children or particles are on another rank only.
[[noreturn]] void fail_elsewhere(std::uint32_t cell);  // tree/spread_octree.cpp

/// Where the walk goes on. Open space: all particles act, with Newton's law but for softening.
struct OpenSpace {
  static constexpr bool periodic = false;
};
/// A periodic box with the sides `period`, in which nothing acts from the cut-off radius on, in the tree's units: of
/// the images of a pair at most one is that near, for 2 cut_off is at most the shortest side.
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

/// Serves the cells above `grain` particles and returns the tasks that are left: small cells, in the tree's order. What
/// leaves get depends neither on the tasks nor on which other particles ask. With `search` nobody is served.
template <class T>
std::vector<WalkTask<T>> begin_walk(const TreeView<T>& tree, const Opening& opening, const ActiveSet& active,
                                    std::uint32_t grain, const Sink& sink, const Search& search = {});
/// Serves all particles of a task that ask.
template <class T>
void walk(const TreeView<T>& tree, const Opening& opening, const ActiveSet& active, const WalkTask<T>& task,
          const Sink& sink, const Search& search = {});

/// The same in a periodic box, with the short-range law.
template <class T>
std::vector<WalkTask<T>> begin_short_walk(const TreeView<T>& tree, const ShortRangeBox<T>& box, const Opening& opening,
                                          const ActiveSet& active, std::uint32_t grain, const Sink& sink,
                                          const Search& search = {});
template <class T>
void short_walk(const TreeView<T>& tree, const ShortRangeBox<T>& box, const Opening& opening, const ActiveSet& active,
                const WalkTask<T>& task, const Sink& sink, const Search& search = {});

}  // namespace pergola::tree

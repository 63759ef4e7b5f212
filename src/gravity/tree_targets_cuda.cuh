#pragma once
// CUDA only: the walk over a tree on the device for the targets of an evaluation, for the tree solver and for TreePM.
#include <array>
#include <functional>

#include "device/streams.cuh"
#include "gravity/tree.hpp"
#include "tree/octree_cuda.cuh"
#include "tree/traverse_cuda.cuh"

namespace pergola {

/// As TreeTargets for the CPU. The lists of the walk suffice for a usual system. If they overflow, the walk is done
/// again with larger ones.
template <class State, class Pair>
class TreeTargetsCuda {
 public:
  using Tree = tree::OctreeCuda<Pair>;

  explicit TreeTargetsCuda(const Device& device) : device_(device) {}

  /// The tree was built anew.
  void forget() { has_rank_ = false; }
  /// From now on walks add the work of each cell to `by_cell`.
  void count_work(std::uint32_t* by_cell) { work_ = by_cell; }

  /// The arrays of results, without a choice whether they are added to.
  static tree::WalkOutput output(const Tree& on, unsigned want, double gravitational_constant,
                                 const Forces<State>& forces);
  /// Answers the targets. Returns the lowest place whose force is not a finite number, or the number of sources where
  /// all are. Waits. begin() is called before each try of the walk, which then takes the tree's arena.
  template <class Space>
  std::int64_t serve(Tree& on, const Space& space, const tree::Opening& opening, const Targets& targets,
                     tree::WalkOutput out, const std::function<void()>& begin);
  /// The same of all own particles of a forest that ranks share, which are the first `own` of its points: a root has
  /// only such, or none.
  template <class Space>
  std::int64_t serve_own(Tree& on, const Space& space, const tree::Opening& opening, std::int64_t own,
                         const tree::WalkOutput& out, const std::function<void()>& begin);
  /// The same for these cells only. If some cells that they need are missing, the results are not valid.
  template <class Space>
  std::int64_t serve(Tree& on, const Space& space, const tree::Opening& opening, const tree::ServedCells& cells,
                     const tree::MissingCells& missing, tree::WalkOutput out, const std::function<void()>& begin);
  /// Bytes for a tree of n particles with its walk. `arena_of_others`: the part of the tree's arena that others use.
  std::int64_t device_bytes(std::int64_t n, int order, const tree::TreeSoftening& softening, const tree::Forest& forest,
                            std::int64_t arena_of_others) const {
    return bytes_for_all(n, order, softening, forest, arena_of_others) + bytes_for_part(n);
  }
  /// Of these, where all particles ask, or all own ones; and what it takes besides where a part does.
  std::int64_t bytes_for_all(std::int64_t n, int order, const tree::TreeSoftening& softening,
                             const tree::Forest& forest, std::int64_t arena_of_others) const;
  std::int64_t bytes_for_part(std::int64_t n) const {
    Arena count;
    room_for_part(*this, count, n, tree::first_guess_of_cells(n));
    return count.bytes();
  }
  /// Of serve_own().
  std::int64_t bytes_for_own(std::int64_t n) const {
    Arena count;
    count.room(active_list_, tree::first_guess_of_cells(n));
    return count.bytes();
  }

  // Steps of serve(). Public, for nvcc allows no device lambda in a private function.
  void mark_active(const Tree& on, const Targets& targets);
  void list_own(Tree& on, std::int64_t own);

 private:
  /// Targets that are served together.
  static constexpr std::uint32_t at_once = 1 << 16;

  /// A batch begins before the one before it is done: each of the two has its own.
  struct BatchMemory {
    tree::PlacedMass<Pair>* field = nullptr;
    tree::WalkLists lists;
    tree::LeafOrder leaves;
  };
  struct WalkMemory {
    Pair* local = nullptr;
    BatchMemory batch[2];  // the second where there are more batches than one
    tree::PassLists passes[2];
  };
  template <class Self>
  static void room_for_part(Self& self, Arena& arena, std::int64_t n, std::int64_t cells) {
    arena.room(self.slot_, n), arena.room(self.rank_, n);
    arena.room(self.active_, cells + tree::most_levels), arena.room(self.active_cells_, cells);
    arena.room(self.active_list_, cells);
  }
  void close_list(const Tree& on, const std::uint32_t* counts, const std::uint32_t* found);
  std::int64_t lay_out(std::uint32_t cells, int order, std::byte* memory, WalkMemory& to) const;
  void start_status(std::int64_t counters);
  template <class Space>
  bool try_walk(const Tree& on, const Space& space, const tree::Opening& opening, const WalkMemory& memory,
                const tree::ServedCells& cells, const tree::MissingCells& missing, const tree::WalkOutput& out,
                tree::WalkStatus& status);

  Device device_;
  std::uint32_t* work_ = nullptr;
  /// Segments of lists: per target served together, and per cell of the tree.
  double list_segments_ = 2, pass_segments_ = 0.125;
  Buffer<tree::WalkStatus> status_;
  cuda::BatchStreams streams_;
  Buffer<std::uint32_t> counters_;
  // For a part of the sources: the place in the tree of each, its slot by place, the cells that hold one by level.
  bool has_rank_ = false;
  Buffer<std::uint32_t> rank_, slot_, active_, active_cells_, active_list_;
  Buffer<std::uint32_t> own_counts_;  // of cells, by level
  std::array<std::uint32_t, tree::most_levels> active_count_{};
};

/// As tree_failure(), for sources on a device.
template <class State>
[[noreturn]] void tree_failure_cuda(const Device& device, std::int64_t place, const Sources<State>& sources,
                                    const SolverOptions& options);

}  // namespace pergola

#pragma once
// CUDA only: the octree of tree/octree.hpp, or a forest of them (tree/forest.hpp), built on the device.
//
// build(): (1) bounds and mass, and from them the frame, (2) keys, and a sort by as many digits as needed, (3) cells
// level by level: every cell of a level is split at once, (4) the upward pass (tree/moments_cuda.cuh). The host waits
// once, for the numbers of cells. refresh() repeats step 4 with new positions. The numbers of cells below the roots
// depend on the order of atomics. No result depends on them, because lists follow the order of children.
#include <memory>

#include "base/exact_sum.hpp"
#include "comm/communicator.hpp"
#include "device/arena.hpp"
#include "tree/cells_cuda.cuh"
#include "tree/kept_tree.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/roots_cuda.cuh"

namespace pergola::tree {

/// The first values of an array on a device; none of an array that is not there.
template <class T>
std::vector<T> on_host(const Device& device, const T* values, std::int64_t count) {
  std::vector<T> host(static_cast<std::size_t>(values ? count : 0));
  if (!host.empty()) device.memory().to_host(host.data(), values, host.size() * sizeof(T));
  return host;
}

/// More than the digits of both keys can make.
inline constexpr int most_levels = 64;

/// The depth of the sort: 16 levels of the upper keys, which nearly always suffice, or all 21, or both keys.
enum class KeyDepth { coarse, fine, both };
inline constexpr int coarse_unsorted_bits = 15;

/// What the host reads of the device after the cells are made.
struct BuildReport {
  std::uint32_t cells[most_levels + 1];  // per level, also those that found no room
  std::uint32_t crowded;                 // 1: the upper keys do not tell enough particles apart
  std::uint32_t finite;                  // 0: a position or a mass is no finite number
  int softening_level;                   // of SofteningDigit, where lengths differ
  Frame frame;
};

/// The size of the leaves, in whole numbers; tree/kept_tree.hpp.
struct TreeSpread {
  std::int64_t sum, leaves;
  std::uint32_t broken;  // 1: a position is no finite number
  std::uint32_t astray;  // 1: a leaf has left the periodic box, or particles the cube of their root
};

/// Of a forest that ranks share: the particles of a rank's roots are its own, and after them come ghosts, those of the
/// roots around these. All ranks make all calls that are not const together.
struct ForestShare {
  Communicator* ranks = nullptr;  // null: the tree has all particles
  std::int64_t own = 0;
  double mass = 0;  // of all particles of all ranks
};

template <class T>
class OctreeCuda {
 public:
  explicit OctreeCuda(const Device& device) : device_(device) {}
  virtual ~OctreeCuda() = default;

  /// As OctreeCpu::build, with the roots of a forest. Waits for the device once, for levels, frame and crowded keys.
  template <class Real>
  void build(const Points<Real>& points, const TreeSoftening& softening, int order, const Forest& forest = {},
             const ForestShare& share = {});
  /// As OctreeCpu::refresh; the forest is that of a tree built now. Waits once.
  template <class Real>
  bool refresh(const Points<Real>& points, const TreeSoftening& softening, int order, const Forest& forest = {});
  /// As OctreeCpu's.
  void keep(KeptTree& to);
  void take_up(const KeptTree& kept);
  /// The cells of a kept tree again, for points that have its keys and accelerations (null: none). refresh() follows.
  template <class Real>
  void make_again(const Points<Real>& points, const double* acceleration, const KeptTree& kept,
                  const Forest& forest = {}, const ForestShare& share = {});
  /// Of a forest that ranks share: adds the work of cells, but for those of ghosts, to that of the plots of their
  /// roots.
  void add_work(const std::uint32_t* work, unsigned long long* by_root_block);
  /// Estimates the accelerations for opening tests with a tolerance; once after each build.
  void estimate_accelerations();
  /// As OctreeCpu::estimate_accelerations, from what find_rest() has found along each axis.
  void estimate_accelerations(const ShortRangeBox<float>& box, const float* const (&rest)[3]);
  /// The mean acceleration without the short range for each group of particles, from accelerations by source times
  /// `unit`: a number per cell.
  template <class Real>
  void find_rest(const Real* acceleration, double unit, float* rest);

  CudaTree<T> view() const;
  const Frame& frame() const { return report_.frame; }
  /// As OctreeCpu::frame_of. Waits.
  template <class Real>
  Frame frame_of(const Points<Real>& points);
  /// The limbs of the exact sum of masses; false where a position is not finite. Waits.
  template <class Real>
  bool sum_masses(const Points<Real>& points, std::int64_t (&limbs)[ExactSum::limbs]);
  int level_count() const { return level_count_; }
  /// Cells level_begin(l) … level_begin(l + 1) − 1 are those of level l.
  std::uint32_t level_begin(int level) const { return level_begin_[level]; }
  /// With those that were fetched of other ranks.
  std::uint32_t cells() const { return level_begin_[level_count_] + fetched_cells_; }
  std::uint32_t roots_count() const { return level_begin_[1]; }
  RootsView roots() const;
  std::int64_t root_blocks() const { return forest_.root_blocks(); }
  const std::uint32_t* order() const { return place_.data(); }
  std::int64_t count() const { return count_; }
  std::int64_t total() const { return count_; }
  /// Memory for others between two builds: keys lie in it while the tree is built.
  std::byte* arena(std::int64_t bytes);
  /// Room for so many ids, good until the tree is built: its particles will lie there.
  std::uint64_t* room_for_ids(std::int64_t count);
  /// Bytes that a tree of n particles takes, the arena apart.
  static std::int64_t device_bytes(std::int64_t n, int order, const TreeSoftening& softening, const Forest& forest);
  /// What build() takes of that, in its order. Public, for nvcc.
  template <class Self>
  static void room_for_links(Self& tree, Arena& arena, std::int64_t cells);
  template <class Self>
  static void room_for_roots(Self& tree, Arena& arena, const Forest& forest) {
    if (forest.level == 0) return;
    arena.room(tree.root_place_, forest.places()), arena.room(tree.root_at_, forest.places() + 1);
    arena.room(tree.root_begin_, forest.places() + 1), arena.room(tree.roots_along_, std::int64_t{3} << forest.level);
  }
  template <class Self>
  static void room_to_sort(Self& tree, Arena& arena, std::int64_t n);
  template <class Self>
  static void room_for_moments(Self& tree, Arena& arena, std::int64_t n, std::int64_t cells, int order,
                               bool by_particle);
  template <class Self>
  static void room_for_accelerations(Self& tree, Arena& arena, std::int64_t cells);
  /// Keys twice, and places once more.
  static std::int64_t arena_bytes(std::int64_t n) {
    return n * static_cast<std::int64_t>(2 * sizeof(std::uint64_t) + sizeof(std::uint32_t));
  }

  // The steps of build(). Public, for nvcc allows no device lambda in a private function.
  template <class Real>
  void find_bounds(const Points<Real>& points);
  template <class Real>
  void find_frame(const Points<Real>& points, double apart, double mass);
  template <class Real>
  void sort_points(const Points<Real>& points, const SofteningDigit& digit, KeyDepth depth);
  void sort_keys(int unsorted_bits, int key_bits);
  void order_by_id(const std::uint64_t* id, int unsorted_bits);
  /// `ranks`: all of them sort as deep as one must; null: there are no others. `crowded`: the coarse digits will not
  /// do.
  template <class Real>
  void make_cells(const Points<Real>& points, const SofteningDigit& digit, Communicator* ranks, bool crowded = false);
  template <class Real>
  void begin(const Points<Real>& points, const ForestShare& share);
  void begin_report(const Frame& frame, int digit_level);
  void plant(const Forest& forest);
  void start_roots();  // tree/roots_cuda.cu, as plant()
  bool split_cells(KeyDepth depth);
  /// `moved`: particles stay with their leaf.
  template <class Real>
  void upward(const Points<Real>& points, const TreeSoftening& softening, int order, bool moved);
  void measure_spread(int which, const Vec3<double>& period);
  void know_spread();
  /// Of the first `own` points.
  void keep_points(std::int64_t own, KeptTree& to);

 protected:
  /// The cells of level 0, where these are not the one root.
  virtual void start_level() {
    if (forest_.level > 0) start_roots();
  }

  Device device_;
  std::int64_t count_ = 0;
  bool has_accelerations_ = false, periodic_ = false;
  SofteningKernel kernel_ = SofteningKernel::plummer;
  bool by_particle_ = false;
  double same_epsilon2_ = 0;
  bool knows_spread_ = false;
  std::int64_t spread_ = 0;  // when it was built; found when it is first asked for
  int digit_level_ = SofteningDigit::no_digit;
  bool has_lower_ = false;
  const KeptTree* again_ = nullptr;  // not null: cells are yet to be made of it
  BuildReport report_{};
  Forest forest_;
  ForestShare share_;
  std::uint32_t level_begin_[most_levels + 2] = {};
  int level_count_ = 0, expected_levels_ = 15;
  std::uint32_t fetched_cells_ = 0;  // after all others; tree/spread_octree_cuda.cuh
  std::uint64_t* keys_ = nullptr;    // in the arena: sorted ones, after sort_keys()
  Buffer<std::byte> arena_, sort_scratch_;
  Buffer<std::uint64_t> upper_, lower_;  // keys when it was built, in the tree's order; lower_ where it has them
  Buffer<double> partial_;
  Buffer<unsigned long long> mass_limbs_;  // zeros between two uses
  Buffer<BuildReport> device_report_;
  Buffer<TreeSpread> device_spread_;                         // when it was built, now
  Buffer<std::uint32_t> root_place_, root_at_, root_begin_;  // RootsView; the first particle by place, and the end
  Buffer<RootsAlong> roots_along_;
  Buffer<std::uint32_t> place_, parent_;
  Buffer<PlacedMass<T>> particle_;
  Buffer<T> softening_, row_;
  Buffer<CellLink> link_;
  Buffer<CellRecord> record_;
  Buffer<float> acceleration_;
};

}  // namespace pergola::tree

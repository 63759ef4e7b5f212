#pragma once
// The octree on the CPU: from particles to a tree, and from a tree to the tree of the same particles a little later.
//
// build(): (1) the cube of all particles, (2) their keys, (3) a stable sort by key, with ids where keys are the same,
// (4) cells over the sorted keys, (5) from the leaves up: centres, radii and multipoles (tree/shape.hpp,
// tree/moments.cpp), (6) if asked for, the estimated accelerations of cells (tree/estimate.hpp).
// refresh() repeats step 5 with new positions and keeps the cells, until they have grown too much.
// Always: the same bits on any number of threads, and for any order of the particles in memory if they have ids.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "device/arena.hpp"
#include "device/sort.hpp"
#include "particles/box.hpp"
#include "tree/kept_tree.hpp"
#include "tree/keys.hpp"
#include "tree/octree.hpp"
#include "tree/walk.hpp"

namespace pergola::tree {

/// The particles for a tree, in the user's units.
template <class Real>
struct Points {
  std::int64_t count = 0;
  const Real *x = nullptr, *y = nullptr, *z = nullptr, *mass = nullptr;
  const std::uint8_t* species = nullptr;
  const std::uint64_t* id = nullptr;  // null: particles with the same keys stand as in memory
  Box box{};                          // periodic: the tree's cube is that of the box; positions are wrapped into it
  /// Keys when a tree that is made again was built; null: those of the positions. Without lower ones all are the same.
  const std::uint64_t *upper = nullptr, *lower = nullptr;
};

/// A position in the tree's units. What is not finite stays so.
template <class Real>
PERGOLA_HD Vec3<double> unit_position(const Points<Real>& points, const Frame& frame, std::int64_t i) {
  if (points.box.periodic()) {
    const Box& box = points.box;
    const auto along = [&](Real x, double corner, double side) {
      const auto at = static_cast<double>(x);
      return at - at == 0 ? (pergola::wrap(at, corner, side) - corner) / frame.side : at;
    };
    return {along(points.x[i], box.corner.x, box.side.x), along(points.y[i], box.corner.y, box.side.y),
            along(points.z[i], box.corner.z, box.side.z)};
  }
  return {(static_cast<double>(points.x[i]) - frame.corner.x) / frame.side,
          (static_cast<double>(points.y[i]) - frame.corner.y) / frame.side,
          (static_cast<double>(points.z[i]) - frame.corner.z) / frame.side};
}

template <class Real>
PERGOLA_HD std::uint64_t upper_key(const Points<Real>& points, const Frame& frame, const SofteningDigit& digit,
                                   std::int64_t i) {
  return points.upper ? points.upper[i] : digit.upper(unit_position(points, frame, i), digit.of(points.species, i));
}
template <class Real>
PERGOLA_HD std::uint64_t lower_key(const Points<Real>& points, const Frame& frame, const SofteningDigit& digit,
                                   std::int64_t i) {
  if (points.upper) return points.lower ? points.lower[i] : 0;
  return digit.lower(unit_position(points, frame, i));
}

/// Points with their keys at the build of a kept tree.
template <class Real>
Points<Real> with_keys(Points<Real> points, const KeptTree& kept) {
  points.upper = kept.upper.data(), points.lower = kept.has_lower() ? kept.lower.data() : nullptr;
  return points;
}

/// The sides of a periodic box in the tree's units.
PERGOLA_HD Vec3<double> unit_period(const Box& box, const Frame& frame) {
  return {box.side.x / frame.side, box.side.y / frame.side, box.side.z / frame.side};
}

/// Box of the particles of a cell, and the mean of |d|² over its mass about the centre.
struct CellExtent {
  double low[3], high[3];
  double second;
};

/// The frame of particles within these bounds with that mass in all.
Frame frame_within(const double (&low)[3], const double (&high)[3], double mass, const Box& box);

/// A guess of the number of cells. Measured: one cell for 13 to 16 particles in spheres and discs of 10,000 particles
/// and more, one for 9 to 34 in uniform boxes.
inline std::int64_t first_guess_of_cells(std::int64_t n) { return n / 14 + 1024; }

/// Masses are added up in chunks of this size, and the sums of the chunks in their order.
inline constexpr std::int64_t sum_chunk = 8192;

/// The sum of n equal numbers, with the bits of the sum in chunks.
inline double sum_of_equal(double value, std::int64_t n) {
  const auto sum_of = [](double one, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += one;
    return sum;
  };
  const double whole = sum_of(value, std::min(n, sum_chunk)), last = sum_of(value, n % sum_chunk);
  double sum = whole;
  for (std::int64_t begin = sum_chunk; begin < n; begin += sum_chunk) sum += n - begin >= sum_chunk ? whole : last;
  return sum;
}

/// Everything that the upward pass reads and writes.
template <class T>
struct UpwardPass {
  const Cells* cells = nullptr;
  const double *x = nullptr, *y = nullptr, *z = nullptr, *mass = nullptr;  // in the tree's order and units
  const double* epsilon2 = nullptr;                                        // null: the same for all
  double same_epsilon2 = 0;
  SofteningKernel kernel = SofteningKernel::plummer;
  CellShape* shape = nullptr;
  CellExtent* extent = nullptr;
  T* scale = nullptr;
  T* multipole = nullptr;
  T *rx = nullptr, *ry = nullptr, *rz = nullptr, *rmass = nullptr, *rsoftening = nullptr;
};

/// Centres, radii and multipoles of the cells begin … end − 1, all on one level; their children are done.
template <class T>
void upward(const UpwardPass<T>& pass, int order, std::uint32_t begin, std::uint32_t end);

/// Particles of a leaf as they are stored: from its centre, in the number type of interactions.
template <class T>
struct LeafParticles {
  const T *x = nullptr, *y = nullptr, *z = nullptr, *mass = nullptr;
  std::uint32_t count = 0;
};

/// The multipoles of a leaf with that scale, with the bits of the upward pass.
template <class T>
void leaf_multipoles(int order, const LeafParticles<T>& particles, T scale, T* to);

/// An octree on the CPU: keys, sort, cells, moments. The same bits on any number of threads.
template <class T>
class OctreeCpu {
 public:
  static constexpr bool on_ranks = false;  // it has all particles

  explicit OctreeCpu(const Device& device) : device_(device) {}

  /// `accelerations`: whether the accelerations of cells are estimated. Throws Error(numerics) if a position is not
  /// finite.
  template <class Real>
  void build(const Points<Real>& points, const TreeSoftening& softening, int order, bool accelerations);

  /// The points of the last build() have moved. Keeps the cells, their particles and the estimated accelerations, and
  /// finds new centres, radii and moments. In a periodic box a particle that left through a side stays with its leaf.
  /// False: the tree is of no use, because cells have grown or moved too much or a position is not finite.
  template <class Real>
  bool refresh(const Points<Real>& points, const TreeSoftening& softening, int order);

  /// The accelerations of the cells in a periodic box: of the short range plus `rest`, the other accelerations at each
  /// point, times `unit` in the tree's units.
  template <class Real>
  void estimate_accelerations(const ShortRangeBox<double>& box, const Real* const (&rest)[3], double unit);

  /// Writes what refresh() builds on, by point; nothing where no tree was built.
  void keep(KeptTree& to) const;
  /// The next refresh() builds on this: it makes the cells again. It must last until then.
  void take_up(const KeptTree& kept);

  TreeView<T> view() const;
  const Frame& frame() const { return frame_; }
  /// The frame of build(), with the total mass. Throws as build() does.
  template <class Real>
  Frame frame_of(const Points<Real>& points) const;
  const Cells& cells() const { return cells_; }
  /// Place among the points of each particle in the tree's order.
  const std::uint32_t* order() const { return sort_.values.data(); }
  std::int64_t count() const { return count_; }
  std::int64_t total() const { return count_; }
  /// Bytes that a tree of n particles takes.
  std::int64_t device_bytes(std::int64_t n, int order, const TreeSoftening& softening) const;

 protected:
  // The buffers of build(), in its order.
  template <class Self>
  static void room_to_sort(Self& tree, Arena& arena, std::int64_t n);
  template <class Self>
  static void room_for_particles(Self& tree, Arena& arena, std::int64_t n, bool by_particle);
  template <class Self>
  static void room_for_cells(Self& tree, Arena& arena, std::int64_t cells, int order);
  template <class Self>
  static void room_for_accelerations(Self& tree, Arena& arena, std::int64_t cells);
  /// By the keys of the upper levels, stably.
  template <class Real>
  void sort_by_place(const Points<Real>& points, const SofteningDigit& digit);
  /// Then by the lower levels, if they are needed, and by ids. With `ranks` each rank has the particles of whole cells
  /// and has sorted them.
  template <class Real>
  void order_points(const Points<Real>& points, const SofteningDigit& digit, Communicator* ranks = nullptr);
  void order_by_id(const std::uint64_t* id);
  template <class Real>
  void make_cells(const Points<Real>& points, const SofteningDigit& digit);
  template <class Real>
  void make_again(Points<Real> points);
  template <class Real>
  void gather(const Points<Real>& points, const TreeSoftening& softening);
  void upward_pass();
  UpwardPass<T> begin_upward_pass();
  /// The levels from the last one up to `first_level`.
  void upward_levels(const UpwardPass<T>& pass, std::size_t first_level);
  /// From those of groups: of_group(cell).
  template <class OfGroup>
  void set_accelerations(const OfGroup& of_group);
  struct LeafSurvey {
    std::int64_t spread = 0, leaves = 0;
    bool astray = false;
  };
  LeafSurvey survey(const Vec3<double>& period) const;
  void follow_leaves(const Vec3<double>& period);

  Device device_;
  std::int64_t count_ = 0;
  int expansion_order_ = 0;
  bool has_lower_ = false, has_accelerations_ = false, periodic_ = false;
  bool by_particle_ = false;  // softening
  SofteningKernel kernel_ = SofteningKernel::plummer;
  double same_epsilon2_ = 0;
  std::int64_t spread_ = 0;  // when it was built
  int digit_level_ = SofteningDigit::no_digit;
  const KeptTree* again_ = nullptr;  // not null: cells are yet to be made of it
  Frame frame_;
  SortBuffers sort_;  // keys when it was built, and the places of particles in their order
  Buffer<std::uint64_t> lower_;
  Buffer<double> x_, y_, z_, mass_, epsilon2_;
  Buffer<T> rx_, ry_, rz_, rmass_, rsoftening_, scale_, multipole_;
  Cells cells_;
  Buffer<CellShape> shape_;
  Buffer<CellExtent> extent_;
  Buffer<double> acceleration_;
};

}  // namespace pergola::tree

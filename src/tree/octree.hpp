#pragma once
// The octree as data: cells, their shapes and links, and the finished tree that a walk reads.
//
// Particles are sorted by their keys (tree/keys.hpp), so a cell is a range of particles. Cells of a level follow each
// other, and the children of a cell follow each other. Cells with one child are left out.
// Units: positions are (x − corner) / side of the cube that holds all particles, masses are parts of the total mass.
// Centres are doubles. Particles are stored from the centre of their leaf, in the number type T of interactions.
// OctreeCpu (tree/octree_cpu.hpp) and OctreeCuda (tree/octree_cuda.cuh) build it.
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/multi_index.hpp"
#include "physics/pair.hpp"

namespace pergola::tree {

/// A cell with more particles than this is split.
inline constexpr std::uint32_t leaf_capacity = 64;
/// A cell acts through its multipoles on single particles only if it has at least this number of particles.
inline constexpr std::uint32_t point_capacity = 32;
inline constexpr int lowest_order = 2, highest_order = 5;

/// Numbers from one cell's multipoles to the next: those of an expansion, rounded up to whole groups of four.
constexpr int multipole_stride(int order) { return (physics::expansion_terms(order) + 3) / 4 * 4; }

/// The cube that holds all particles, and the units of the tree. With them no unit system leaves the range of a float.
struct Frame {
  Vec3<double> corner{0, 0, 0};
  double side = 1;
  double mass = 1;
};

/// Softening lengths by species in the user's units; `uniform`: all the same.
struct TreeSoftening {
  const double* epsilon = nullptr;
  bool uniform = true;
  SofteningKernel kernel = SofteningKernel::plummer;
  double apart = 0;  // cells narrower than this hold particles with one length only; in the user's units

  /// Whether each particle has its own softening number.
  bool by_particle() const { return !uniform || !physics::has_few_operations(kernel); }
};

/// The numbers of a cell for the opening test and the interactions. One line of cache.
struct alignas(64) CellShape {
  double x, y, z;  // centre of mass, about which the cell is expanded
  double r;        // no particle of the cell is farther from it
  double rho;      // average radius: rho^order bounds the mean of |d|^order over the mass
  double mass;
  double epsilon2;  // the largest ε² of its particles
  double mixed;     // 1: they are not all the same
};

/// Stands for `first` of a leaf, or `child` of another cell, whose particles or children are on another rank only
/// (tree/spread_octree.hpp).
inline constexpr std::uint32_t elsewhere = 0xffffffff;

/// Particles first … first + count − 1 in the tree's order; its children are cells child … child + children − 1.
struct CellLink {
  std::uint32_t first, count;
  std::uint32_t child, children;  // children = 0: a leaf

  PERGOLA_HD bool is_elsewhere() const { return (children == 0 ? first : child) == elsewhere; }
};

/// The criterion for a cell to act through its expansion on another one; formulas are in physics/opening.inl.
struct Opening {
  int order = 4;
  double angle = 0.7;         // the radii's sum over the distance, at most
  double target_angle = 0.4;  // the target's radius over the distance, at most
  double tolerance = 0;       // neglected terms over the target's acceleration, at most; 0: angles alone decide
  // If the pairs of two cells have different softening lengths: the effect of that over the target's acceleration, at
  // most (tolerance 0: over the source's). Cells narrower than `apart` times the largest length hold one length only.
  double softening = 1e-4, apart = 16;
};

/// The finished tree, as a walk reads it. T is the number type of interactions.
template <class T>
struct TreeView {
  std::int64_t count = 0;
  const CellShape* shape = nullptr;
  const CellLink* link = nullptr;
  const T* scale = nullptr;                          // the length that expansions are scaled with: r, but above 0
  const T* multipole = nullptr;                      // multipole_stride(order) per cell
  const double* acceleration = nullptr;              // estimate of the smallest in the cell; null: angles alone decide
  const T *x = nullptr, *y = nullptr, *z = nullptr;  // of the particles, from the centre of their leaf
  const T* mass = nullptr;
  SofteningKernel kernel = SofteningKernel::plummer;
  double support = 0;            // of its law (physics/pair_laws.inl)
  const T* softening = nullptr;  // the law's numbers of the particles' lengths; null: same_epsilon2 for all
  double same_epsilon2 = 0;
};

/// The cells of an octree, level by level: those of level l are level_begin[l] … level_begin[l + 1] − 1. Cells with one
/// child are left out, so that a level here is not a level of the keys.
struct Cells {
  std::vector<CellLink> link;
  std::vector<std::uint32_t> parent;
  std::vector<std::uint32_t> level_begin;
  std::uint32_t size() const { return static_cast<std::uint32_t>(link.size()); }
};

/// Builds the cells over sorted keys, on the CPU. Cells are split by the digits of `upper`, then of `lower` (null:
/// none), and particles with the same keys by their number. So every leaf has at most leaf_capacity particles, and the
/// depth is bounded.
void build_cells_cpu(int threads, std::int64_t count, const std::uint64_t* upper, const std::uint64_t* lower,
                     Cells& cells);
/// The same for existing cells `from`: adds their descendants at the end, level by level.
void grow_cells_cpu(int threads, std::vector<std::uint32_t> from, const std::uint64_t* upper,
                    const std::uint64_t* lower, Cells& cells);

}  // namespace pergola::tree

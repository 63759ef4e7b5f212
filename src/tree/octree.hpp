#pragma once
#include <cstdint>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/multi_index.hpp"
#include "physics/pair.hpp"

namespace pergola::tree {

/// A cell with more particles than this is split.
inline constexpr std::uint32_t leaf_capacity = 64;
/// A multipole acts on single particles (rather than a leaf's local expansion) where that replaces at least so many
/// pairs per particle.
inline constexpr std::uint32_t point_capacity = 32;
inline constexpr int lowest_order = 2, highest_order = 5;

/// Numbers from one cell's multipoles to the next: those of an expansion, rounded up to whole groups of four.
constexpr int multipole_stride(int order) { return (physics::expansion_terms(order) + 3) / 4 * 4; }

/// The cube that holds all particles and the units of the tree: positions are (x − corner) / side, masses are in units
/// of the total. So no unit system brings a float to the ends of its range.
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
  double apart = 0;  // cells narrower than this hold particles with one length only

  /// Whether pairs look at their particles' own numbers.
  bool by_particle() const { return !uniform || !physics::has_few_operations(kernel); }
};

/// What the opening test and the interactions need to know of a cell. One line of cache.
struct alignas(64) CellShape {
  double x, y, z;  // centre of mass, about which the cell is expanded
  double r;        // no particle of the cell is farther from it
  double rho;      // average radius: rho^order bounds the mean of |d|^order over the mass
  double mass;
  double epsilon2;  // the largest ε² of its particles
  double mixed;     // 1: they are not all the same
};

/// Where the particles of a leaf, or the children of another cell, are on another rank only (tree/spread_octree.hpp).
inline constexpr std::uint32_t elsewhere = 0xffffffff;

/// Particles first … first + count − 1 in the tree's order; its children are cells child … child + children − 1.
struct CellLink {
  std::uint32_t first, count;
  std::uint32_t child, children;  // children = 0: a leaf

  PERGOLA_HD bool is_elsewhere() const { return (children == 0 ? first : child) == elsewhere; }
};

/// When a cell may act through its expansion on another one; physics/opening.inl.
struct Opening {
  int order = 4;
  double angle = 0.7;         // the radii's sum over the distance, at most
  double target_angle = 0.4;  // the target's radius over the distance, at most
  double tolerance = 0;       // neglected terms over the target's acceleration, at most; 0: angles alone decide
  // Where the pairs of two cells have different softening lengths: what that does over the target's acceleration, at
  // most (tolerance 0: over the source's). Cells narrower than `apart` times the largest length hold one length only.
  double softening = 1e-4, apart = 16;
};

/// The finished tree. T is the number type of interactions.
template <class T>
struct TreeView {
  std::int64_t count = 0;
  const CellShape* shape = nullptr;
  const CellLink* link = nullptr;
  const T* scale = nullptr;              // the length that expansions are scaled with: r, but above 0
  const T* multipole = nullptr;          // multipole_stride(order) per cell
  const double* acceleration = nullptr;  // estimate of the smallest in the cell; null where angles alone decide
  const T *x = nullptr, *y = nullptr, *z = nullptr;  // of the particles, from the centre of their leaf
  const T* mass = nullptr;
  SofteningKernel kernel = SofteningKernel::plummer;
  double support = 0;            // of its law (physics/pair_laws.inl)
  const T* softening = nullptr;  // the law's numbers of the particles' lengths; null: same_epsilon2 for all
  double same_epsilon2 = 0;
};

}  // namespace pergola::tree

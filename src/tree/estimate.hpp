#pragma once
// A rough acceleration for each cell, which the opening test compares neglected terms with (Opening::tolerance).
//
// Cells are grouped: a group has at most estimate_capacity particles, its parent has more. For each group one
// acceleration is computed at its centre. Cells within a group have its value, cells above the smallest of their
// children.
#include <cstdint>

#include "tree/octree.hpp"

namespace pergola::tree {

template <class T>
struct ShortRangeBox;  // tree/walk.hpp

/// Accelerations are estimated for cells of at most this many particles.
inline constexpr std::uint32_t estimate_capacity = 128;
/// Whether a cell is a group. `parent`: of each cell; the parent of a root is the root.
PERGOLA_HD bool is_group(const CellLink* link, const std::uint32_t* parent, std::uint32_t cell) {
  if (link[cell].count > estimate_capacity) return false;
  const std::uint32_t above = parent[cell];
  return above == cell || link[above].count > estimate_capacity;
}
/// Marks a GPU's cells without a value: all bytes 0x7f, larger than any acceleration.
inline constexpr float unknown_acceleration = 0x1.fefefep127f;
/// Cells seen under at most this angle act as points there.
inline constexpr float estimate_angle = 0.8f;

/// The acceleration at a cell's centre, in the tree's units, from monopoles of cells seen under an angle of at most
/// 0.8, softened by their own radius. Its error is some ten percent, which suffices for the opening criterion.
double estimate_acceleration(const CellShape* shape, const CellLink* link, std::uint32_t target);
/// The same in a periodic box. `rest`: the acceleration without the short range.
double estimate_acceleration(const CellShape* shape, const CellLink* link, std::uint32_t target,
                             const ShortRangeBox<double>& box, const Vec3<double>& rest);

}  // namespace pergola::tree

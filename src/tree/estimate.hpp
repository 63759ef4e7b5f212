#pragma once
#include <cstdint>

#include "tree/octree.hpp"

namespace pergola::tree {

template <class T>
struct ShortRangeBox;  // tree/walk.hpp

/// Accelerations are estimated for cells of at most this many particles.
inline constexpr std::uint32_t estimate_capacity = 128;
/// The largest of these are groups; parent: of each cell, a root's is itself.
PERGOLA_HD bool is_group(const CellLink* link, const std::uint32_t* parent, std::uint32_t cell) {
  if (link[cell].count > estimate_capacity) return false;
  const std::uint32_t above = parent[cell];
  return above == cell || link[above].count > estimate_capacity;
}
/// Of a GPU's cells that have none: all bytes 0x7f, larger than any.
inline constexpr float unknown_acceleration = 0x1.fefefep127f;
/// Cells seen under at most this angle act as points there.
inline constexpr float estimate_angle = 0.8f;

/// The acceleration at a cell's centre, from monopoles of cells seen under an angle of at most 0.8, softened by their
/// own radius; good to some ten percent, which is all that the opening criterion needs. In the tree's units.
double estimate_acceleration(const CellShape* shape, const CellLink* link, std::uint32_t target);
/// The same in a periodic box, where `rest` is the acceleration by what lies beyond the short range.
double estimate_acceleration(const CellShape* shape, const CellLink* link, std::uint32_t target,
                             const ShortRangeBox<double>& box, const Vec3<double>& rest);

}  // namespace pergola::tree

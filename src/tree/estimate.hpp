#pragma once
#include <cmath>
#include <cstdint>

#include "base/host_device.hpp"
#include "tree/octree.hpp"

namespace pergola::tree {

/// Accelerations are estimated for cells of at most this many particles.
inline constexpr std::uint32_t estimate_capacity = 128;
/// Cells seen under at most this angle act as points there.
inline constexpr float estimate_angle = 0.8f;

/// The acceleration at a cell's centre, from monopoles of cells seen under an angle of at most 0.8, softened by their
/// own radius; good to some ten percent, which is all that the opening criterion needs. In the tree's units.
PERGOLA_HD double estimate_acceleration(const CellShape* shape, const CellLink* link, std::uint32_t target) {
  constexpr double angle = estimate_angle;
  constexpr int deepest = 8 * 64;
  const CellShape& t = shape[target];
  std::uint32_t stack[deepest];
  int depth = 0;
  stack[depth++] = 0;
  double ax = 0, ay = 0, az = 0;
  while (depth > 0) {
    const std::uint32_t cell = stack[--depth];
    const CellShape& s = shape[cell];
    const double dx = s.x - t.x, dy = s.y - t.y, dz = s.z - t.z;
    const double square = dx * dx + dy * dy + dz * dz;
    const CellLink& l = link[cell];
    const bool far = s.r * s.r <= angle * angle * square;
    if (!far && l.children > 0 && depth + 8 <= deepest) {
      for (std::uint32_t c = 0; c < l.children; ++c) stack[depth++] = l.child + c;
      continue;
    }
    const double epsilon2 = s.epsilon2 > t.epsilon2 ? s.epsilon2 : t.epsilon2;
    const double softened = square + epsilon2 + (far ? 0 : s.r * s.r);
    if (!(softened > 0)) continue;
    const double factor = s.mass / (softened * std::sqrt(softened));
    ax += factor * dx, ay += factor * dy, az += factor * dz;
  }
  return std::sqrt(ax * ax + ay * ay + az * az);
}

}  // namespace pergola::tree

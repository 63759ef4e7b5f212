#pragma once
#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

template <class R>
struct PointField {
  Vec3<R> acceleration;
  R potential;
};

/// Field at a separation d from a point of GM: −GM d/r³ and −GM/r; in two dimensions, where ∇²φ = 4πGρ makes the point
/// a line, −2GM d/r² and 2GM ln r. d ≠ 0; all zero for GM = 0.
template <int dimensions, class R>
PERGOLA_HD PointField<R> point_field(const Vec3<R>& d, R gravitating_mass) {
  static_assert(dimensions == 2 || dimensions == 3);
  if (gravitating_mass == R(0)) return {{R(0), R(0), R(0)}, R(0)};
  if constexpr (dimensions == 3) {
    const R inverse = R(1) / std::sqrt(d.x * d.x + d.y * d.y + d.z * d.z);
    const R factor = -gravitating_mass * inverse * inverse * inverse;
    return {{factor * d.x, factor * d.y, factor * d.z}, -gravitating_mass * inverse};
  } else {
    const R square = d.x * d.x + d.y * d.y, factor = R(-2) * gravitating_mass / square;
    return {{factor * d.x, factor * d.y, R(0)}, gravitating_mass * std::log(square)};
  }
}

}  // namespace pergola::physics

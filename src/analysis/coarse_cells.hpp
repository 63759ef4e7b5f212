#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "particles/box.hpp"

namespace pergola {

/// Coarse cells of a periodic box, in which particles near a place are looked for; one of them in open space. They are
/// numbered by z, then y, then x. One for CPU and CUDA.
struct CoarseCells {
  Box box;
  std::int64_t side = 1;  // of them along an axis

  /// `filled`: the part of a periodic box that so many particles are in.
  CoarseCells(const Box& of, std::int64_t particles, double filled = 1) : box(of) {
    if (box.periodic())
      side = std::clamp(static_cast<std::int64_t>(std::cbrt(static_cast<double>(particles) / (8 * filled))),
                        std::int64_t{1}, std::int64_t{256});
  }
  std::int64_t count() const { return side * side * side; }
  PERGOLA_HD double cell_side() const { return box.side.x / static_cast<double>(side); }
  PERGOLA_HD std::int64_t around(std::int64_t k) const { return ((k % side) + side) % side; }
  PERGOLA_HD std::int64_t index(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return (z * side + y) * side + x;
  }
  /// Of a place along an axis whose lowest is `low`.
  PERGOLA_HD std::int64_t place(double x, double low) const {
    if (side == 1) return 0;
    const double from_corner = wrap(x, low, box.side.x) - low;
    const auto at = static_cast<std::int64_t>(from_corner / cell_side());
    return at < side ? at : side - 1;
  }
  PERGOLA_HD std::int64_t cell_of(const Vec3<double>& at) const {
    return index(place(at.x, box.corner.x), place(at.y, box.corner.y), place(at.z, box.corner.z));
  }
  /// How many cells away particles within `radius` may be; -1: anywhere.
  PERGOLA_HD std::int64_t reach(double radius) const {
    if (side == 1 || 2 * std::ceil(radius / cell_side()) + 1 >= static_cast<double>(side)) return -1;
    return static_cast<std::int64_t>(std::ceil(radius / cell_side()));
  }
};

}  // namespace pergola

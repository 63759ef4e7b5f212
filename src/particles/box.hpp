#pragma once
#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/separation.hpp"

namespace pergola {

enum class Boundary { isolated, periodic };

/// The box that a run lives in and what lies beyond it: nothing (isolated) or the same box again (periodic).
struct Box {
  Vec3<double> corner{0, 0, 0};  // lowest
  Vec3<double> side{0, 0, 0};    // all zero: no box, open space
  Boundary boundary = Boundary::isolated;

  PERGOLA_HD bool periodic() const { return boundary == Boundary::periodic; }
  bool given() const { return side.x > 0; }
  double volume() const { return side.x * side.y * side.z; }
};

/// The image of x that lies in [corner, corner + side), also where rounding would put it on the upper edge.
template <class R>
PERGOLA_HD R wrap(R x, R corner, R side) {
  if (x >= corner && x < corner + side) return x;
  const R moved = x - side * std::floor((x - corner) / side);
  return moved < corner + side && moved >= corner ? moved : corner;
}

/// The same on each axis of a periodic box.
template <class R>
PERGOLA_HD Vec3<R> wrap(const Vec3<R>& x, const Box& box) {
  return {wrap(x.x, static_cast<R>(box.corner.x), static_cast<R>(box.side.x)),
          wrap(x.y, static_cast<R>(box.corner.y), static_cast<R>(box.side.y)),
          wrap(x.z, static_cast<R>(box.corner.z), static_cast<R>(box.side.z))};
}

/// The nearest image of a separation in a periodic box.
template <class R>
PERGOLA_HD R nearest_image(R dx, R side) {
  return dx - side * std::rint(dx / side);
}

/// Where b is as seen from a: in a periodic box, the nearest of its images.
template <class R>
PERGOLA_HD Vec3<R> separation(const Vec3<R>& a, const Vec3<R>& b, const Box& box) {
  const Vec3<R> d = physics::separation(a, b);
  if (!box.periodic()) return d;
  return {nearest_image(d.x, static_cast<R>(box.side.x)), nearest_image(d.y, static_cast<R>(box.side.y)),
          nearest_image(d.z, static_cast<R>(box.side.z))};
}

}  // namespace pergola

#pragma once
#include "particles/box.hpp"
#include "physics/separation.hpp"

namespace pergola {

/// Where b is as seen from a: in a periodic box, the nearest of its images.
template <class R>
PERGOLA_HD Vec3<R> separation(const Vec3<R>& a, const Vec3<R>& b, const Box& box) {
  const Vec3<R> d = physics::separation(a, b);
  if (!box.periodic()) return d;
  return {nearest_image(d.x, static_cast<R>(box.side.x)), nearest_image(d.y, static_cast<R>(box.side.y)),
          nearest_image(d.z, static_cast<R>(box.side.z))};
}

}  // namespace pergola

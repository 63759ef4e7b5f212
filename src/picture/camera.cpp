#include "picture/camera.hpp"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.hpp"
#include "base/text.hpp"

// The frame of the camera: forward to the target, right and up across it. Positions are scaled to the plane of the
// target.
namespace pergola {

namespace {

constexpr double nearest_seen = 0.01;     // in distances of the target
constexpr double inside_particle = 1e-6;  // likewise

double length(Vec3<double> v) { return std::sqrt(dot(v, v)); }

std::string text_of(Vec3<double> v) { return fmt::format("{},{},{}", to_text(v.x), to_text(v.y), to_text(v.z)); }

}  // namespace

/// An orthonormal frame; `up` needs only not to be along the line of sight.
CameraView::CameraView(const Camera& camera) : position_(camera.position) {
  const Vec3<double> sight = camera.target - camera.position;
  distance_ = length(sight);
  if (!(distance_ > 0) || !std::isfinite(distance_))
    throw Error(ErrorKind::input,
                fmt::format("camera: expected a place away from the target, found both at {}", text_of(camera.target)));
  forward_ = (1 / distance_) * sight;
  const Vec3<double> right = cross(forward_, camera.up);
  if (!(length(right) > 1e-9 * length(camera.up)) || !std::isfinite(length(right)))
    throw Error(ErrorKind::input,
                fmt::format("camera: expected a direction up across the line of sight, found {}", text_of(camera.up)));
  right_ = (1 / length(right)) * right;
  up_ = cross(right_, forward_);
  const double angle = camera.field_of_view_degrees;
  if (!(angle > 0 && angle < 170))
    throw Error(ErrorKind::input,
                fmt::format("camera: expected a field of view between 0 and 170 degrees, found {}", to_text(angle)));
  width_ = 2 * distance_ * std::tan(angle / 2 * std::numbers::pi / 180);
}

Frame CameraView::frame() const { return {{0, 0, 0}, width_}; }

/// Perspective: lengths across shrink as distance over depth.
Vec3<double> CameraView::place(Vec3<double> x) const {
  const Vec3<double> away = x - position_;
  const double depth = dot(away, forward_);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (!(depth > nearest_seen * distance_)) return {none, none, none};
  const double scale = distance_ / depth;
  return {scale * dot(away, right_), scale * dot(away, up_), depth};
}

/// Velocities are not projected: pictures do not use them.
Particles CameraView::see(const Particles& particles) const {
  Particles seen;
  for (std::size_t i = 0; i < particles.id.size(); ++i) {
    const Vec3<double> x{particles.x[i], particles.y[i], particles.z[i]};
    const double far = length(x - position_);
    if (far < inside_particle * distance_)
      throw Error(
          ErrorKind::input,
          fmt::format("camera: expected a place between the particles, found {}, which is inside particle id {}",
                      text_of(position_), particles.id[i]));
    const Vec3<double> at = place(x);
    if (!std::isfinite(at.x)) continue;
    const double scale = distance_ / at.z;
    seen.id.push_back(particles.id[i]), seen.species.push_back(particles.species[i]);
    seen.mass.push_back(particles.mass[i] * scale * scale * far / at.z);
    seen.x.push_back(at.x), seen.y.push_back(at.y), seen.z.push_back(at.z);
    seen.vx.push_back(0), seen.vy.push_back(0), seen.vz.push_back(0);
  }
  return seen;
}

}  // namespace pergola

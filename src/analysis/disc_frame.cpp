#include "analysis/disc_frame.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"

namespace pergola {

namespace {

Vec3<double> spin_of(const AnalysisSnapshot& snapshot, const SystemCenter& center) {
  Vec3<double> spin{0, 0, 0};
  for (const std::size_t i : seen_from(snapshot, center.place).order)
    spin = spin + snapshot.particles.mass[i] *
                      cross(place_from(snapshot, i, center.place), velocity_from(snapshot, i, center.velocity));
  return spin;
}

/// Two directions across the axis: those of x and y where it is z.
void set_directions(DiscFrame& frame) {
  const Vec3<double> x{1, 0, 0}, y{0, 1, 0};
  const Vec3<double> start = std::abs(frame.axis.x) < 0.9 ? x : y;
  const Vec3<double> across = start - dot(start, frame.axis) * frame.axis;
  frame.first = (1 / std::sqrt(dot(across, across))) * across;
  frame.second = cross(frame.axis, frame.first);
}

}  // namespace

double DiscFrame::radial_part(std::size_t k, const Vec3<double>& vector) const {
  return radius[k] > 0 ? (x[k] * dot(vector, first) + y[k] * dot(vector, second)) / radius[k] : 0;
}

DiscFrame disc_frame(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device) {
  const Particles& p = snapshot.particles;
  DiscFrame frame;
  frame.center = find_center(snapshot, options, device);
  const Vec3<double> spin = spin_of(snapshot, frame.center);
  const double size = std::sqrt(dot(spin, spin));
  if (!(size > 0))
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a disc that turns, found particles without angular momentum", snapshot.name));
  frame.axis = (1 / size) * spin;
  set_directions(frame);
  const std::size_t n = p.id.size();
  std::vector<double> x(n), y(n), radius(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3<double> d = place_from(snapshot, i, frame.center.place);
    x[i] = dot(d, frame.first), y[i] = dot(d, frame.second), radius[i] = std::hypot(x[i], y[i]);
  }
  frame.order.resize(n);
  std::iota(frame.order.begin(), frame.order.end(), std::size_t{0});
  std::sort(frame.order.begin(), frame.order.end(), [&](std::size_t a, std::size_t b) {
    return radius[a] != radius[b] ? radius[a] < radius[b] : p.id[a] < p.id[b];
  });
  for (const std::size_t i : frame.order) {
    const Vec3<double> v = velocity_from(snapshot, i, frame.center.velocity);
    const double vx = dot(v, frame.first), vy = dot(v, frame.second), r = radius[i];
    frame.radius.push_back(r), frame.x.push_back(x[i]), frame.y.push_back(y[i]);
    frame.v_radial.push_back(r > 0 ? (x[i] * vx + y[i] * vy) / r : 0);
    frame.v_azimuthal.push_back(r > 0 ? (x[i] * vy - y[i] * vx) / r : 0);
    frame.v_vertical.push_back(dot(v, frame.axis));
  }
  return frame;
}

}  // namespace pergola

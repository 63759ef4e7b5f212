#include "models/merge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.hpp"
#include "base/text.hpp"
#include "models/sampling.hpp"

namespace pergola {

namespace {

/// Turns v by an angle about the axis (cos φ, sin φ, 0). Rodrigues' formula.
Vec3<double> turned(const Vec3<double>& v, double phi, double angle) {
  const Vec3<double> axis{std::cos(phi), std::sin(phi), 0};
  const double c = std::cos(angle), s = std::sin(angle);
  return c * v + s * cross(axis, v) + ((1 - c) * dot(axis, v)) * axis;
}

/// Tilts a system whose companion has its pericentre in the direction `pericentre` of the orbit's plane: about the line
/// in which the companion rises through the disc, so that the orbit has the inclination over the disc.
void tilt(Particles& p, const DiscTilt& by, double pericentre, int threads) {
  constexpr double degree = std::numbers::pi / 180;
  const double node = pericentre - by.argument * degree, angle = -by.inclination * degree;
  parallel_chunks(threads, p.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto x = turned({p.x[i], p.y[i], p.z[i]}, node, angle),
                 v = turned({p.vx[i], p.vy[i], p.vz[i]}, node, angle);
      p.x[i] = x.x, p.y[i] = x.y, p.z[i] = x.z;
      p.vx[i] = v.x, p.vy[i] = v.y, p.vz[i] = v.z;
    }
  });
}

void renumber(Particles& second, const Particles& first) {
  const auto largest = [](const Particles& p) { return *std::max_element(p.id.begin(), p.id.end()); };
  const std::uint64_t offset = largest(first);
  if (largest(second) > std::numeric_limits<std::uint64_t>::max() - offset)
    throw Error(ErrorKind::input,
                fmt::format("ids: expected ids of both that together fit into 64 bits, found {} and {}", offset,
                            largest(second)));
  for (auto& id : second.id) id += offset;
}

}  // namespace

double total_mass(const Particles& particles) {
  double sum = 0;
  for (const double m : particles.mass) sum += m;
  return sum;
}

physics::KeplerState<double> merge_orbit(double total, const MergeOptions& o) {
  const double apocentre = o.eccentricity < 1 ? o.pericentre * (1 + o.eccentricity) / (1 - o.eccentricity)
                                              : std::numeric_limits<double>::infinity();
  if (o.separation < o.pericentre || o.separation > apocentre * (1 + 1e-12))
    throw Error(ErrorKind::input, fmt::format("separation: expected a distance from the pericentre {} to the apocentre "
                                              "{} of the orbit, found {}",
                                              to_text(o.pericentre), to_text(apocentre), to_text(o.separation)));
  return physics::kepler_inbound_state(o.gravitational_constant * total, o.pericentre, o.eccentricity, o.separation);
}

Particles merge_on_orbit(Particles first, Particles second, const MergeOptions& options, int threads) {
  const double mass_1 = total_mass(first), mass_2 = total_mass(second), total = mass_1 + mass_2;
  if (!(mass_1 > 0 && mass_2 > 0))
    throw Error(ErrorKind::input, fmt::format("mass: expected two systems with masses > 0, found {} and {}",
                                              to_text(mass_1), to_text(mass_2)));
  const auto orbit = merge_orbit(total, options);
  centre(first, threads), centre(second, threads);
  tilt(first, options.first, 0, threads);
  tilt(second, options.second, std::numbers::pi, threads);
  shift(first, {-mass_2 / total * orbit.x, -mass_2 / total * orbit.v});
  shift(second, {mass_1 / total * orbit.x, mass_1 / total * orbit.v});
  renumber(second, first);
  first.potential.clear(), second.potential.clear();
  first.append(second);
  return first;
}

}  // namespace pergola

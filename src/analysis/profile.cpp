#include "analysis/profile.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/text.hpp"
#include "physics/halo.hpp"
#include "physics/profiles.hpp"

namespace pergola {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Sums over the particles of a shell, weighted with mass where there is any.
struct ShellSums {
  std::int64_t count = 0;
  double mass = 0, mass2 = 0, weight = 0;
  double first[3] = {}, second[3] = {};  // moments of the radial, polar and azimuthal velocity
  double distance = 0;
  Vec3<double> turning{0, 0, 0};  // r × v/r

  void add(double m, double w, const Vec3<double>& place, const Vec3<double>& velocity) {
    ++count;
    mass += m, mass2 += m * m, weight += w;
    const double r = std::sqrt(dot(place, place));
    distance += w * r;
    if (r > 0) turning = turning + (w / r) * cross(place, velocity);
    const auto v = physics::spherical_velocity(place, velocity);
    const double component[3] = {v.radial, v.polar, v.azimuthal};
    for (int k = 0; k < 3; ++k) first[k] += w * component[k], second[k] += w * component[k] * component[k];
  }
  double mean(int k) const { return first[k] / weight; }
  double variance(int k) const { return std::max(0.0, second[k] / weight - mean(k) * mean(k)); }
};

/// a H, in the velocity over the length of the file; 0 without expansion.
double expansion_of(const AnalysisSnapshot& snapshot) {
  if (!snapshot.universe) return 0;
  const double a = snapshot.universe->scale_factor;
  const physics::Background background = snapshot.universe->cosmology.background(snapshot.universe->hubble);
  return physics::hubble_speed(background.rate(a), a, 1);
}

ProfileShell shell_of(const ShellSums& sums, double inner, double outer, double mass_before, double flow_per_radius) {
  ProfileShell shell{inner, outer, sums.count, sums.mass, mass_before + sums.mass};
  const double volume = physics::shell_volume(inner, outer);
  shell.density = sums.mass / volume;
  shell.density_error = std::sqrt(sums.mass2) / volume;
  const bool several = sums.count > 1;
  shell.radial_velocity = sums.count > 0 ? sums.mean(0) : none;
  shell.tangential_velocity = sums.count > 0 ? std::sqrt(dot(sums.turning, sums.turning)) / sums.weight : none;
  shell.hubble_flow = sums.count > 0 ? flow_per_radius * sums.distance / sums.weight : none;
  shell.sigma_radial = several ? std::sqrt(sums.variance(0)) : none;
  shell.sigma_tangential = several ? std::sqrt((sums.variance(1) + sums.variance(2)) / 2) : none;
  shell.anisotropy = several && sums.variance(0) > 0
                         ? physics::anisotropy(sums.variance(0), sums.variance(1), sums.variance(2))
                         : none;
  return shell;
}

}  // namespace

std::vector<double> profile_edges(const SeenFromCenter& seen, std::int64_t bins, double low, double high) {
  if (seen.radius.empty()) throw Error(ErrorKind::input, "profile: there are no particles, expected at least 1");
  const std::size_t n = seen.radius.size();
  const bool chosen = low == 0 && high == 0;
  if (low == 0) low = seen.radius[std::min(n - 1, std::max<std::size_t>(10, n / 1000))];
  if (high == 0) high = seen.radius[std::min(n - 1, n - 1 - n / 200)];
  if (chosen && !(high > low))
    throw Error(ErrorKind::input,
                fmt::format("profile: expected particles at several distances from the centre, found {} at {}", n,
                            to_text(high)));
  if (!(low > 0) || !(high > low))
    throw Error(ErrorKind::input,
                fmt::format("--from, --to: expected 0 < from < to, found {} and {}", to_text(low), to_text(high)));
  const auto first = std::lower_bound(seen.radius.begin(), seen.radius.end(), low);
  if (first == seen.radius.end() || *first > high)
    throw Error(ErrorKind::input,
                fmt::format("--from, --to: expected particles at distances from {} to {} from the centre, found none",
                            to_text(low), to_text(high)));
  std::vector<double> edges{0};
  for (std::int64_t k = 0; k < bins; ++k)
    edges.push_back(low * std::pow(high / low, static_cast<double>(k) / static_cast<double>(bins)));
  edges.push_back(high);
  return edges;
}

bool has_mass(const Particles& particles) {
  return std::any_of(particles.mass.begin(), particles.mass.end(), [](double m) { return m != 0; });
}

std::vector<ProfileShell> profile_of(const AnalysisSnapshot& snapshot, const SystemCenter& center,
                                     const SeenFromCenter& seen, const std::vector<double>& edges, bool by_mass) {
  const Particles& p = snapshot.particles;
  const double flow = expansion_of(snapshot);
  std::vector<ProfileShell> shells;
  double mass_before = 0;
  std::size_t next = 0;
  for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
    ShellSums sums;
    for (; next < seen.order.size() && seen.radius[next] <= edges[k + 1]; ++next) {
      const std::size_t i = seen.order[next];
      const double weight = by_mass ? p.mass[i] : 1;
      if (weight > 0)
        sums.add(p.mass[i], weight, place_from(snapshot, i, center.place), velocity_from(snapshot, i, center.velocity));
    }
    shells.push_back(shell_of(sums, edges[k], edges[k + 1], mass_before, flow));
    mass_before = shells.back().mass_within;
  }
  return shells;
}

}  // namespace pergola

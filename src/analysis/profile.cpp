#include "analysis/profile.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/text.hpp"
#include "physics/halos.hpp"
#include "physics/measures.hpp"

namespace pergola {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

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

void ShellSums::add(double m, double w, const Vec3<double>& place, const Vec3<double>& velocity) {
  ++count;
  mass += m, mass2 += m * m, weight += w;
  const double r = std::sqrt(dot(place, place));
  distance += w * r;
  if (r > 0) turning = turning + (w / r) * cross(place, velocity);
  const auto v = physics::spherical_velocity(place, velocity);
  const double component[3] = {v.radial, v.polar, v.azimuthal};
  for (int k = 0; k < 3; ++k) first[k] += w * component[k], second[k] += w * component[k] * component[k];
}

std::vector<double> profile_edges(const SortedRadii& radii, std::int64_t bins, double low, double high) {
  const std::size_t n = radii.count;
  if (n == 0) throw Error(ErrorKind::input, "profile: there are no particles, expected at least 1");
  const bool chosen = low == 0 && high == 0;
  if (low == 0) {
    low = radii.at(std::min((n - 1) / 2, std::max<std::size_t>(10, n / 1000)));
    if (low == 0) low = radii.not_below(std::numeric_limits<double>::min());
  }
  if (high == 0) high = radii.at(std::min(n - 1, n - 1 - n / 200));
  if (chosen && !(high > low))
    throw Error(ErrorKind::input,
                fmt::format("profile: expected particles at several distances from the centre, found {}",
                            n == 1 ? "one particle" : fmt::format("{}, all at {}", n, to_text(high))));
  if (!(low > 0) || !(high > low))
    throw Error(ErrorKind::input,
                fmt::format("--from, --to: expected 0 < from < to, found {} and {}", to_text(low), to_text(high)));
  if (radii.not_below(low) > high)
    throw Error(ErrorKind::input,
                fmt::format("--from, --to: expected particles at distances from {} to {} from the centre, found none",
                            to_text(low), to_text(high)));
  std::vector<double> edges{0};
  for (std::int64_t k = 0; k < bins; ++k)
    edges.push_back(low * std::pow(high / low, static_cast<double>(k) / static_cast<double>(bins)));
  edges.push_back(high);
  return edges;
}

std::vector<double> profile_edges(const SeenFromCenter& seen, std::int64_t bins, double low, double high) {
  const auto& radius = seen.radius;
  const SortedRadii radii{radius.size(), [&](std::size_t k) { return radius[k]; },
                          [&](double length) {
                            const auto found = std::lower_bound(radius.begin(), radius.end(), length);
                            return found == radius.end() ? std::numeric_limits<double>::infinity() : *found;
                          }};
  return profile_edges(radii, bins, low, high);
}

bool has_mass(const Particles& particles) {
  return std::any_of(particles.mass.begin(), particles.mass.end(), [](double m) { return m != 0; });
}

void add_to_shells(const AnalysisSnapshot& snapshot, const SystemCenter& center, const SeenFromCenter& seen,
                   const std::vector<double>& edges, bool by_mass, std::vector<ShellSums>& sums) {
  const Particles& p = snapshot.particles;
  std::size_t next = 0;
  for (std::size_t k = 0; k < sums.size(); ++k)
    for (; next < seen.order.size() && seen.radius[next] <= edges[k + 1]; ++next) {
      const std::size_t i = seen.order[next];
      const double weight = by_mass ? p.mass[i] : 1;
      if (weight > 0)
        sums[k].add(p.mass[i], weight, place_from(snapshot, i, center.place),
                    velocity_from(snapshot, i, center.velocity));
    }
}

std::vector<ProfileShell> shells_from(const AnalysisSnapshot& frame, const std::vector<ShellSums>& sums,
                                      const std::vector<double>& edges) {
  const double flow = expansion_of(frame);
  std::vector<ProfileShell> shells;
  double mass_before = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    shells.push_back(shell_of(sums[k], edges[k], edges[k + 1], mass_before, flow));
    mass_before = shells.back().mass_within;
  }
  return shells;
}

std::vector<ProfileShell> profile_of(const AnalysisSnapshot& snapshot, const SystemCenter& center,
                                     const SeenFromCenter& seen, const std::vector<double>& edges, bool by_mass) {
  std::vector<ShellSums> sums(edges.size() - 1);
  add_to_shells(snapshot, center, seen, edges, by_mass, sums);
  return shells_from(snapshot, sums, edges);
}

}  // namespace pergola

#include "analysis/radii.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

using Indices = std::vector<std::size_t>;

Vec3<double> position(const Particles& p, std::size_t i) { return {p.x[i], p.y[i], p.z[i]}; }

double distance2(const Particles& p, std::size_t i, const Vec3<double>& from) {
  const auto d = position(p, i) - from;
  return dot(d, d);
}

bool all_massless(const Particles& p) {
  return std::all_of(p.mass.begin(), p.mass.end(), [](double m) { return m == 0; });
}

Vec3<double> center_of(const Particles& p, const Indices& members, bool equal_weights) {
  Vec3<double> sum{0, 0, 0};
  double total = 0;
  for (const std::size_t i : members) {
    const double weight = equal_weights ? 1.0 : p.mass[i];
    sum = sum + weight * position(p, i);
    total += weight;
  }
  if (total == 0) return center_of(p, members, true);  // massless ones only
  return (1 / total) * sum;
}

Indices everybody(const Particles& p) {
  if (p.size() == 0) throw Error(ErrorKind::input, "radii: there are no particles, expected at least 1");
  Indices all(p.id.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

Vec3<double> mass_center(const Particles& particles) {
  return center_of(particles, everybody(particles), all_massless(particles));
}

Vec3<double> density_center(const Particles& particles) {
  constexpr double shrink = 0.975;
  constexpr std::size_t too_few = 16;
  auto members = everybody(particles);
  const bool equal_weights = all_massless(particles);
  auto center = center_of(particles, members, equal_weights);
  if (members.size() <= too_few) return center;
  const std::size_t enough = std::max(members.size() / 100, std::min<std::size_t>(100, members.size() / 4));
  while (members.size() > enough) {
    double farthest2 = 0;
    for (const std::size_t i : members) farthest2 = std::max(farthest2, distance2(particles, i, center));
    const double limit2 = shrink * shrink * farthest2;
    Indices inside;
    for (const std::size_t i : members)
      if (distance2(particles, i, center) < limit2) inside.push_back(i);
    if (inside.size() < enough) break;
    members = std::move(inside);
    center = center_of(particles, members, equal_weights);
  }
  return center;
}

std::vector<double> lagrangian_radii(const Particles& particles, const Vec3<double>& center,
                                     const std::vector<double>& fractions) {
  auto order = everybody(particles);
  const bool equal_weights = all_massless(particles);
  std::vector<double> radius(order.size());
  for (const std::size_t i : order) radius[i] = std::sqrt(distance2(particles, i, center));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return radius[a] != radius[b] ? radius[a] < radius[b] : particles.id[a] < particles.id[b];
  });
  std::vector<double> mass_within(order.size());
  double sum = 0;
  for (std::size_t k = 0; k < order.size(); ++k) mass_within[k] = sum += equal_weights ? 1.0 : particles.mass[order[k]];
  std::vector<double> radii;
  for (const double fraction : fractions) {
    if (!(fraction > 0 && fraction <= 1))
      throw Error(
          ErrorKind::input,
          fmt::format("Lagrangian radii: the mass fraction is {}, expected above 0 and at most 1", to_text(fraction)));
    // A hair less than the fraction: the sum of N equal masses may miss f M by rounding.
    const double wanted = fraction * sum * (1 - 1e-12);
    const auto found = std::lower_bound(mass_within.begin(), mass_within.end(), wanted);
    radii.push_back(radius[order[static_cast<std::size_t>(found - mass_within.begin())]]);
  }
  return radii;
}

std::string lagrangian_column(double fraction) { return fmt::format("r{:g}", 100 * fraction); }

double half_mass_radius(const Particles& particles) {
  return lagrangian_radii(particles, density_center(particles), {0.5}).front();
}

}  // namespace pergola

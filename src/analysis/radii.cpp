#include "analysis/radii.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/gather.hpp"

namespace pergola {

namespace {

using Indices = std::vector<std::size_t>;

Vec3<double> position(const Particles& p, std::size_t i) { return {p.x[i], p.y[i], p.z[i]}; }

double distance2(const Particles& p, std::size_t i, const Vec3<double>& from) {
  const auto d = position(p, i) - from;
  return dot(d, d);
}

bool all_massless(const Particles& p, Communicator& ranks) {
  std::int64_t massive = std::any_of(p.mass.begin(), p.mass.end(), [](double m) { return m != 0; }) ? 1 : 0;
  ranks.all_reduce(&massive, 1, Reduction::maximum);
  return massive == 0;
}

std::int64_t count_of(const Indices& members, Communicator& ranks) {
  auto count = std::ssize(members);
  ranks.all_reduce(&count, 1, Reduction::sum);
  return count;
}

Vec3<double> center_of(const Particles& p, const Indices& members, bool equal_weights, Communicator& ranks) {
  struct Sums {
    Vec3<double> places{0, 0, 0};
    double total = 0;
  };
  const Sums sums = add_in_turn(ranks, Sums(), [&](Sums& to) {
    for (const std::size_t i : members) {
      const double weight = equal_weights ? 1.0 : p.mass[i];
      to.places = to.places + weight * position(p, i);
      to.total += weight;
    }
  });
  if (sums.total == 0) return center_of(p, members, true, ranks);  // massless ones only
  return (1 / sums.total) * sums.places;
}

Indices everybody(const Particles& p, Communicator& ranks) {
  Indices all(p.id.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (count_of(all, ranks) == 0) throw Error(ErrorKind::input, "radii: there are no particles, expected at least 1");
  return all;
}

}  // namespace

Vec3<double> mass_center(const Particles& particles) { return mass_center(particles, *serial_communicator()); }

Vec3<double> mass_center(const Particles& own, Communicator& ranks) {
  const Indices members = everybody(own, ranks);
  return center_of(own, members, all_massless(own, ranks), ranks);
}

Vec3<double> density_center(const Particles& particles) { return density_center(particles, *serial_communicator()); }

Vec3<double> density_center(const Particles& own, Communicator& ranks) {
  constexpr double shrink = 0.975;
  constexpr std::int64_t too_few = 16;
  auto members = everybody(own, ranks);
  const bool equal_weights = all_massless(own, ranks);
  auto center = center_of(own, members, equal_weights, ranks);
  std::int64_t count = count_of(members, ranks);
  if (count <= too_few) return center;
  const std::int64_t enough = std::max(count / 100, std::min<std::int64_t>(100, count / 4));
  while (count > enough) {
    double farthest2 = 0;
    for (const std::size_t i : members) farthest2 = std::max(farthest2, distance2(own, i, center));
    ranks.all_reduce(&farthest2, 1, Reduction::maximum);
    const double limit2 = shrink * shrink * farthest2;
    Indices inside;
    for (const std::size_t i : members)
      if (distance2(own, i, center) < limit2) inside.push_back(i);
    count = count_of(inside, ranks);
    if (count < enough) break;
    members = std::move(inside);
    center = center_of(own, members, equal_weights, ranks);
  }
  return center;
}

std::vector<double> lagrangian_radii(const Particles& particles, const Vec3<double>& center,
                                     const std::vector<double>& fractions) {
  const auto alone = serial_communicator();
  auto order = everybody(particles, *alone);
  const bool equal_weights = all_massless(particles, *alone);
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

#include "analysis/orbit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "physics/separation.hpp"

namespace pergola {

namespace {

struct RelativeState {
  Vec3<double> position, velocity;
};

RelativeState relative_state(const Particles& p, std::size_t i, std::size_t j) {
  return {physics::separation<double>({p.x[i], p.y[i], p.z[i]}, {p.x[j], p.y[j], p.z[j]}),
          physics::separation<double>({p.vx[i], p.vy[i], p.vz[i]}, {p.vx[j], p.vy[j], p.vz[j]})};
}

}  // namespace

Pair pair_orbit(const Particles& particles, std::int64_t first, std::int64_t second, double gravitational_constant) {
  if (first < 0 || second < 0 || first >= particles.size() || second >= particles.size() || first == second)
    throw Error(ErrorKind::input,
                fmt::format("orbit: particles {} and {} of {} are no pair, expected two different ones", first, second,
                            particles.size()));
  const auto i = static_cast<std::size_t>(first), j = static_cast<std::size_t>(second);
  const auto [r, v] = relative_state(particles, i, j);
  const double distance = std::sqrt(dot(r, r)), mu = gravitational_constant * (particles.mass[i] + particles.mass[j]);
  if (!(distance > 0) || !(mu > 0))
    throw Error(ErrorKind::input,
                fmt::format("orbit: particles id {} and id {} {}, so they have no orbit", particles.id[i],
                            particles.id[j], mu > 0 ? "are in one place" : "have no mass"));
  return {first, second, distance,
          physics::pair_binding_energy(r, v, particles.mass[i], particles.mass[j], gravitational_constant),
          physics::orbit_elements(r, v, mu)};
}

std::optional<Pair> most_bound_pair(const Particles& particles, double gravitational_constant) {
  const double heaviest = particles.size() > 0 ? *std::max_element(particles.mass.begin(), particles.mass.end()) : 0.0;
  std::vector<std::size_t> order(particles.id.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return particles.x[a] != particles.x[b] ? particles.x[a] < particles.x[b] : particles.id[a] < particles.id[b];
  });
  double best = 0;
  std::optional<Pair> found;
  // A pair closer bound than the best so far is closer than G m₁ m₂ / best, so the search along x may end there.
  for (std::size_t a = 0; a < order.size(); ++a) {
    const std::size_t i = order[a];
    const double reach = gravitational_constant * particles.mass[i] * heaviest;
    for (std::size_t b = a + 1; b < order.size(); ++b) {
      const std::size_t j = order[b];
      if ((particles.x[j] - particles.x[i]) * best > reach) break;
      const auto [r, v] = relative_state(particles, i, j);
      if (!(dot(r, r) > 0) || particles.mass[i] * particles.mass[j] == 0) continue;
      const double energy =
          physics::pair_binding_energy(r, v, particles.mass[i], particles.mass[j], gravitational_constant);
      if (energy <= best) continue;
      best = energy;
      found = pair_orbit(particles, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j), gravitational_constant);
    }
  }
  return found;
}

}  // namespace pergola

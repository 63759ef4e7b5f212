#include "analysis/escapers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace pergola {

namespace {

/// By id, so that sums do not depend on the order of a file.
std::vector<std::size_t> by_id(const Particles& p) {
  std::vector<std::size_t> order(p.id.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&p](std::size_t a, std::size_t b) { return p.id[a] < p.id[b]; });
  return order;
}

}  // namespace

AnalysisSnapshot in_proper_lengths(AnalysisSnapshot snapshot) {
  if (!snapshot.universe) return snapshot;
  const AnalysisUniverse& universe = *snapshot.universe;
  const double a = universe.scale_factor, rate = universe.cosmology.background(universe.hubble).rate(a);
  Particles& p = snapshot.particles;
  for (const auto& [place, velocity] : {std::pair{&p.x, &p.vx}, std::pair{&p.y, &p.vy}, std::pair{&p.z, &p.vz}})
    for (std::size_t i = 0; i < place->size(); ++i) {
      (*place)[i] *= a;
      (*velocity)[i] += rate * (*place)[i];
    }
  for (double& potential : p.potential) potential /= a;
  snapshot.universe.reset();
  return snapshot;
}

Escapers find_escapers(const AnalysisSnapshot& snapshot, const std::vector<double>& potential) {
  constexpr int most_rounds = 50;
  const Particles& p = snapshot.particles;
  const auto order = by_id(p);
  Escapers found;
  found.escapes.assign(p.id.size(), false);
  for (int round = 0; round < most_rounds; ++round) {
    Vec3<double> sum{0, 0, 0};
    double mass = 0;
    for (const std::size_t i : order)
      if (!found.escapes[i]) sum = sum + p.mass[i] * Vec3<double>{p.vx[i], p.vy[i], p.vz[i]}, mass += p.mass[i];
    if (!(mass > 0)) break;
    found.velocity = (1 / mass) * sum;
    std::vector<bool> now(p.id.size());
    for (const std::size_t i : order) {
      const Vec3<double> v = Vec3<double>{p.vx[i], p.vy[i], p.vz[i]} - found.velocity;
      now[i] = dot(v, v) / 2 + potential[i] > 0;
    }
    if (now == found.escapes) break;
    found.escapes = std::move(now);
  }
  for (const std::size_t i : order) {
    if (!found.escapes[i]) continue;
    const Vec3<double> v = Vec3<double>{p.vx[i], p.vy[i], p.vz[i]} - found.velocity;
    ++found.count;
    found.mass += p.mass[i];
    found.kinetic_energy += p.mass[i] * dot(v, v) / 2;
    found.fastest = std::max(found.fastest, std::sqrt(dot(v, v)));
  }
  return found;
}

}  // namespace pergola

#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/philox.hpp"

namespace pergola::g6 {

/// A j-particle in the terms of the interface: a/2, jerk/6, snap/18.
struct NaiveParticle {
  int index = 0;
  double t = 0, mass = 0;
  double x[3] = {}, v[3] = {}, a2[3] = {}, j6[3] = {}, k18[3] = {};
};

struct NaiveForce {
  long double a[3] = {}, j[3] = {}, potential = 0;
  long double a_size = 0, j_size = 0;  // sums of the terms' magnitudes: rounding errors are proportional to them
  int nearest = -1;
  long double nearest2 = std::numeric_limits<long double>::infinity();
  std::vector<int> neighbours;
};

/// What the interface promises, in long double, from the formulas in its description and nothing of physics/.
inline NaiveForce naive_force(const std::vector<NaiveParticle>& particles, double ti, int index, const double x[3],
                              const double v[3], double eps2, double h2 = 0, bool self_neighbour = false) {
  using Real = long double;
  NaiveForce f;
  for (const auto& p : particles) {
    const Real dt = Real(ti) - p.t;
    Real d[3], w[3], r2 = 0;
    for (int k = 0; k < 3; ++k) {
      const Real xp = p.x[k] + dt * (p.v[k] + dt * (p.a2[k] + dt * (p.j6[k] + Real(0.75) * dt * p.k18[k])));
      const Real vp = p.v[k] + dt * (2 * Real(p.a2[k]) + dt * (3 * Real(p.j6[k]) + 3 * dt * p.k18[k]));
      d[k] = xp - x[k], w[k] = vp - v[k];
      r2 += d[k] * d[k];
    }
    if (r2 < h2 && (self_neighbour || p.index != index)) f.neighbours.push_back(p.index);
    if (p.index == index) continue;
    if (r2 < f.nearest2) f.nearest2 = r2, f.nearest = p.index;
    const Real r = std::sqrt(r2 + eps2), dw = d[0] * w[0] + d[1] * w[1] + d[2] * w[2];
    for (int k = 0; k < 3; ++k) {
      f.a[k] += p.mass * d[k] / (r * r * r);
      f.j[k] += p.mass * (w[k] / (r * r * r) - 3 * dw * d[k] / (r * r * r * r * r));
    }
    f.potential -= p.mass / r;
    f.a_size += p.mass * std::sqrt(r2) / (r * r * r);
    f.j_size += p.mass * 4 * std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) / (r * r * r);
  }
  return f;
}

/// Particles in a unit cube with times of their own; `order` is the highest derivative that is not zero: 1 the velocity
/// … 4 the snap.
inline std::vector<NaiveParticle> naive_particles(int n, std::uint64_t seed, int order = 4) {
  std::vector<NaiveParticle> all(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::uint32_t words[20];
    const Philox random(seed, 0, i);
    for (std::uint32_t b = 0; b < 5; ++b) random.block(b, words + 4 * b);
    const auto unit = [&words](int k) { return (words[k] + 0.5) / 4294967296.0; };
    NaiveParticle& p = all[i];
    p.index = static_cast<int>(i);
    p.t = -0.5 * unit(15);
    p.mass = (0.5 + unit(16)) / n;
    for (int k = 0; k < 3; ++k) {
      p.x[k] = unit(k);
      if (order >= 1) p.v[k] = unit(3 + k) - 0.5;
      if (order >= 2) p.a2[k] = unit(6 + k) - 0.5;
      if (order >= 3) p.j6[k] = unit(9 + k) - 0.5;
      if (order >= 4) p.k18[k] = unit(12 + k) - 0.5;
    }
  }
  return all;
}

}  // namespace pergola::g6

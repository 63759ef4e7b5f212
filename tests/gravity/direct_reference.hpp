#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/philox.hpp"
#include "gravity/solver.hpp"

namespace pergola {

/// A softened pair of unit mass: acceleration along d over |d|, the derivative of that by r over r, and −potential.
struct ReferencePair {
  long double a, b, p;
};

/// Plummer's law, or the spline as the papers write it: Springel, Yoshida & White 2001, eqs. 71 and A1.
inline ReferencePair reference_pair(SofteningKernel kernel, long double epsilon, long double r) {
  using Real = long double;
  const Real h = 2.8L * epsilon, u = r / h;
  if (kernel == SofteningKernel::plummer || epsilon == 0 || u >= 1) {
    const Real x = std::sqrt(r * r + (kernel == SofteningKernel::plummer ? epsilon * epsilon : 0));
    return {1 / (x * x * x), -3 / (x * x * x * x * x), 1 / x};
  }
  const Real h3 = h * h * h, u2 = u * u, u3 = u2 * u;
  if (u < 0.5L)
    return {(32 / 3.0L - 192 / 5.0L * u2 + 32 * u3) / h3, (-384 / 5.0L + 96 * u) / (h3 * h * h),
            (14 / 5.0L - 16 / 3.0L * u2 + 48 / 5.0L * u2 * u2 - 32 / 5.0L * u2 * u3) / h};
  return {(64 / 3.0L - 48 * u + 192 / 5.0L * u2 - 32 / 3.0L * u3 - 1 / (15 * u3)) / h3,
          (-48 / u + 384 / 5.0L - 32 * u + 1 / (5 * u2 * u3)) / (h3 * h * h),
          (-1 / (15 * u) - 32 / 3.0L * u2 + 16 * u3 - 48 / 5.0L * u2 * u2 + 32 / 15.0L * u2 * u3 + 16 / 5.0L) / h};
}

/// What Newton's law gives for one target, written out in long double, independent of physics/ and of every kernel.
/// The sizes are the sums of the terms' magnitudes: rounding errors are proportional to them.
struct ReferenceForce {
  long double a[3] = {}, j[3] = {}, potential = 0;
  long double a_size = 0, j_size = 0;
  std::int64_t nearest = -1;
};

inline ReferenceForce reference_force(const Particles& p, const Softening& softening, std::size_t i,
                                      double constant = 1) {
  ReferenceForce f;
  long double nearest2 = std::numeric_limits<long double>::infinity();
  for (std::size_t k = 0; k < p.x.size(); ++k) {
    if (k == i) continue;
    using Real = long double;
    const Real d[3] = {Real(p.x[k]) - p.x[i], Real(p.y[k]) - p.y[i], Real(p.z[k]) - p.z[i]};
    const Real w[3] = {Real(p.vx[k]) - p.vx[i], Real(p.vy[k]) - p.vy[i], Real(p.vz[k]) - p.vz[i]};
    const Real epsilon = std::max(softening.epsilon[p.species[i]], softening.epsilon[p.species[k]]);
    const Real distance2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    const ReferencePair pair = reference_pair(softening.kernel, epsilon, std::sqrt(distance2));
    const Real m = Real(constant) * p.mass[k], dw = d[0] * w[0] + d[1] * w[1] + d[2] * w[2];
    for (int axis = 0; axis < 3; ++axis) {
      f.a[axis] += m * pair.a * d[axis];
      f.j[axis] += m * (pair.a * w[axis] + pair.b * dw * d[axis]);
    }
    f.potential -= m * pair.p;
    f.a_size += m * std::sqrt(distance2) * pair.a;
    f.j_size += m * 4 * std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) * pair.a;
    if (distance2 < nearest2) nearest2 = distance2, f.nearest = static_cast<std::int64_t>(k);
  }
  return f;
}

/// What the law gives for these targets; none: for all. Where long double has 113 bits and no processor for it, this
/// takes longer than anything that is compared with it: once for every precision and answer, then.
inline std::vector<ReferenceForce> reference_forces(const Particles& p, const Softening& softening,
                                                    const std::vector<std::int64_t>& targets = {},
                                                    double constant = 1) {
  std::vector<ReferenceForce> exact;
  for (std::size_t t = 0; t < (targets.empty() ? p.x.size() : targets.size()); ++t)
    exact.push_back(
        reference_force(p, softening, targets.empty() ? t : static_cast<std::size_t>(targets[t]), constant));
  return exact;
}

/// Particles all over a unit cube with masses, velocities and species of their own; the numbers are floats, so that a
/// solver in single precision sees the same ones.
inline Particles random_particles(std::int64_t n, std::uint64_t seed) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    std::uint32_t words[8];
    const Philox random(seed, 0, i);
    random.block(0, words);
    random.block(1, words + 4);
    const auto unit = [&](int k) { return static_cast<double>(static_cast<float>(words[k] >> 8) / 16777216.0f); };
    p.x[i] = unit(0), p.y[i] = unit(1), p.z[i] = unit(2);
    p.vx[i] = unit(3) - 0.5, p.vy[i] = unit(4) - 0.5, p.vz[i] = unit(5) - 0.5;
    p.mass[i] = 0.5 + unit(6);
    p.species[i] = static_cast<std::uint8_t>(words[7] % species_count);
  }
  return p;
}

}  // namespace pergola

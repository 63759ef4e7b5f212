#pragma once
#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/quadrature.hpp"

namespace pergola::physics {

// The split of Plummer's law, 1/s with s² = r² + ε². As 1/s = 2/√π ∫₀^∞ exp(−u² s²) du, its waves up to u = α are the
// long range, erf(α s)/s, and erfc(α s)/s, which ends as fast as without softening, is left to the short range. With
// the long range of Newton's law in its place 3/2 (ε/r)² of the force would be left to be summed at any distance.

/// The longest ε in units of r_s for which softened_split_factor() is good to 1e-4; it goes on as the sixth power.
inline constexpr double longest_split_softening = 0.5;

/// What the Green factor of the unsoftened long range, −4π/k² e^{−x}, x = k² r_s², is multiplied by for an ε with
/// q = (ε / 2r_s)²: x e^x ∫₁^∞ exp(−x v − q/v) dv = 1 − q h + q²/2 x (1 − h) − …, where h = x e^x E₁(x) is fitted to
/// 1.4e-4. x > 0.
template <class R>
PERGOLA_HD R softened_split_factor(R x, R q) {
  const R w = x / (1 + x);
  const R logarithm = x * std::log(1 + R(0.561459484) / x);
  const R rest = std::fma(std::fma(std::fma(R(0.295762612), w, R(-0.652695481)), w, R(0.745576983)), w, R(-0.47261076));
  const R h = std::fma(logarithm, std::fma(R(0.930362003), w, R(1)), w * w * rest);
  return std::fma(-q, std::fma(R(-0.5) * q * x, 1 - h, h), R(1));
}

/// The same for waves on a mesh, by k² in some unit.
template <class R>
struct SoftenedSplit {
  R per_square = 0, q = 0;  // x = k² per_square; q = 0: no softening
  PERGOLA_HD R factor(R k2) const { return q > 0 ? softened_split_factor(k2 * per_square, q) : R(1); }
};

/// ∫ erf(α r)/r − erf(α s)/s over a box about its centre, divided by its volume: how much higher the mean of the
/// potential of a unit mass is, without G, whose nearest image is softened.
inline double softened_mean_potential(double split, double softening, const Vec3<double>& side) {
  if (!(softening > 0)) return 0;
  constexpr double pi = 3.14159265358979323846;
  const auto wave = [&](double u) {
    const auto part = [&](double length) { return std::sqrt(pi) / (u * length) * std::erf(0.5 * u * length); };
    return -std::expm1(-u * u * softening * softening) * part(side.x) * part(side.y) * part(side.z);
  };
  return 2 / std::sqrt(pi) * integrate(wave, 0, 1 / (2 * split), 1e-9);
}

}  // namespace pergola::physics

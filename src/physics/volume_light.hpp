#pragma once
#include <numbers>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

// Light along a ray through smoothed particles that emit and absorb.

/// Mass per area along a ray that passes the centre of a particle of unit mass at the distance b, with
/// `inverse_length2` = 1/h²: 3/(π h²) (1 − b²/h²)², the column of a density ∝ (1 − r²/h²)^{3/2}.
template <class R>
PERGOLA_HD R smoothed_column(R b2, R inverse_length2) {
  const R left = R(1) - b2 * inverse_length2;
  return left > R(0) ? R(3 * std::numbers::inv_pi) * inverse_length2 * left * left : R(0);
}

/// b² of a point as seen from the ray's start, for a ray of unit direction.
template <class R>
PERGOLA_HD R distance2_from_ray(const Vec3<R>& point, const Vec3<R>& direction) {
  const Vec3<R> off = cross(point, direction);
  return dot(off, off);
}

/// Light behind a layer that transmits `passing` = exp(−τ) and emits `source` if opaque: the solution of dI/dτ = S − I.
/// Chandrasekhar 1950, "Radiative transfer", section 7; for particles Dolag et al. 2008, New J. Phys. 10, 125006,
/// eq. 5.
template <class R>
PERGOLA_HD R light_through(R light, R source, R passing) {
  return source + (light - source) * passing;
}

}  // namespace pergola::physics

#pragma once
/// The field of a laser pulse in vacuum: a plane wave or a Gaussian beam in the paraxial approximation, under a
/// Gaussian envelope in time. Siegman 1986, Lasers, section 17.1.
#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

/// The beam crosses the origin in the direction (cos angle, sin angle, 0). In two dimensions it is a sheet, which
/// spreads along one axis only.
struct LaserPulse {
  double field = 1;        // the amplitude E₀ in the focus
  double frequency = 1;    // ω
  double light_speed = 1;  // k = ω/c
  double waist = 0;        // w₀, where the field is 1/e of that on the axis; 0: a plane wave
  double focus = 0;        // from the origin along the beam
  double duration = 1;     // half the time between the points where the field is 1/e
  double delay = 0;        // when the middle crosses the origin
  double angle = 0;
  int axes_across = 2;  // 1 in two dimensions
};

/// E₀ (w₀/w)^{n/2} exp(−r²/w²) exp(−(t'/τ)²) cos(ω t' − k r²/2R + n ψ/2), with n axes across, t' = t − delay − s/c at
/// the distance s along the beam, w = w₀ √(1 + ζ²), ζ = (s − focus)/z_R, z_R = k w₀²/2, R its radius and ψ = atan ζ.
PERGOLA_HD double laser_field(const LaserPulse& pulse, const Vec3<double>& place, double time) {
  const double cosine = cos(pulse.angle), sine = sin(pulse.angle);
  const double along = place.x * cosine + place.y * sine, across = place.y * cosine - place.x * sine;
  const double late = time - pulse.delay - along / pulse.light_speed;
  double amplitude = pulse.field * exp(-late * late / (pulse.duration * pulse.duration)),
         phase = pulse.frequency * late;
  if (pulse.waist > 0) {
    const double k = pulse.frequency / pulse.light_speed, rayleigh = 0.5 * k * pulse.waist * pulse.waist;
    const double zeta = (along - pulse.focus) / rayleigh, square = across * across + place.z * place.z;
    const double width_2 = pulse.waist * pulse.waist * (1 + zeta * zeta);
    amplitude *= pow(1 + zeta * zeta, -0.25 * pulse.axes_across) * exp(-square / width_2);
    phase += 0.5 * pulse.axes_across * atan(zeta) - zeta * square / width_2;
  }
  return amplitude * cos(phase);
}

}  // namespace pergola::physics

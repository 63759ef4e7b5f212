#pragma once
#include <cmath>

#include "base/host_device.hpp"

namespace pergola::physics {

/// The halo of Navarro, Frenk & White 1996 (ApJ 462, 563) with scale radius 1, 4π ρ r (1 + r)² = 1 within the radius c,
/// the concentration; beyond it the density falls as r^ε exp(−r/d), with ε so that the slope is continuous.
/// Kazantzidis, Magorrian & Moore 2004, ApJ 601, 37, eqs. 2 and 3. The mass within r ≤ c is nfw_mass (external.hpp).
template <class R>
struct TruncatedNfw {
  R concentration, decay;  // c and d

  /// dlnρ/dlnr: −(1 + 3 r)/(1 + r) within c, ε − r/d beyond.
  PERGOLA_HD R log_slope(R r) const {
    if (r <= concentration) return inner_slope(r);
    return inner_slope(concentration) + (concentration - r) / decay;
  }

  PERGOLA_HD R density(R r) const {
    if (r <= concentration) return inner_density(r);
    const R power = inner_slope(concentration) + concentration / decay;
    return inner_density(concentration) * std::exp(power * std::log(r / concentration) - (r - concentration) / decay);
  }

 private:
  PERGOLA_HD static R inner_slope(R r) { return -(R(1) + R(3) * r) / (R(1) + r); }
  PERGOLA_HD static R inner_density(R r) { return R(1) / (R(12.566370614359172954) * r * (R(1) + r) * (R(1) + r)); }
};

}  // namespace pergola::physics

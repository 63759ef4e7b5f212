#pragma once
#include <cmath>

#include "base/host_device.hpp"

namespace pergola {

/// The softening of a pair's force: 1/√(r² + ε²), or the cubic spline of GADGET, which is Newton's law beyond 2.8 ε and
/// has the same potential at r = 0.
enum class SofteningKernel { plummer, spline };

namespace physics {

/// h/ε with the radius h of the spline's sphere (Springel 2005, section 2.1).
inline constexpr double spline_support = 2.8;

/// The number of a softening length in the pair laws of physics/pair.inl: ε² for Plummer's, 1/h for the spline. Of a
/// pair the larger ε² or the smaller 1/h counts.
PERGOLA_HD double softening_number(SofteningKernel kernel, double epsilon2) {
  return kernel == SofteningKernel::plummer ? epsilon2 : 1 / (spline_support * std::sqrt(epsilon2));
}

/// The comoving softening length at the scale factor a, at most `most_proper` in proper units; 0: no limit. GADGET's
/// SofteningMaxPhys (Springel 2005, section 3.2).
PERGOLA_HD double comoving_softening(double epsilon, double most_proper, double a) {
  return most_proper > 0 && a * epsilon > most_proper ? most_proper / a : epsilon;
}

}  // namespace physics
}  // namespace pergola

#pragma once
#include <cmath>

#include "base/host_device.hpp"

namespace pergola {

/// How the force of a pair is softened: by 1/√(r² + ε²), or by the cubic spline of GADGET, which is Newton's law from
/// 2.8 ε on and has the same potential at r = 0.
enum class SofteningKernel { plummer, spline };

namespace physics {

/// h/ε: a mass is spread over a sphere of radius h (Springel 2005, section 2.1).
inline constexpr double spline_support = 2.8;

/// The number by which the pair laws of physics/pair.inl know a softening length: ε² for Plummer's, where the larger
/// one of a pair counts, and 1/h for the spline, where the smaller one does.
PERGOLA_HD double softening_number(SofteningKernel kernel, double epsilon2) {
  return kernel == SofteningKernel::plummer ? epsilon2 : 1 / (spline_support * std::sqrt(epsilon2));
}

/// The comoving length at the scale factor a of one that is comoving and, in proper units, at most `most_proper` long;
/// 0: any length. GADGET's SofteningMaxPhys (Springel 2005, section 3.2).
PERGOLA_HD double comoving_softening(double epsilon, double most_proper, double a) {
  return most_proper > 0 && a * epsilon > most_proper ? most_proper / a : epsilon;
}

}  // namespace physics
}  // namespace pergola

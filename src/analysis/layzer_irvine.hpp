#pragma once
#include <algorithm>
#include <cmath>

#include "physics/cosmology.hpp"

namespace pergola {

/// How well a run keeps d/da [a (T + W)] = −T, the energy equation of matter in an expanding universe: T the kinetic
/// energy of peculiar velocities, W the potential energy of the contrast, both in physical lengths. Irvine 1961;
/// Layzer 1963; Peebles 1980, section 24. Comoving softening is part of W; a proper one adds a term that is left out.
struct LayzerIrvine {
  double start_kinetic = 0, start_potential = 0;  // a T and a W at the start
  double scale_factor = 0, kinetic = 0;           // of the latest line
  double integral = 0;                            // ∫ T da
  bool begun = false;

  /// Takes T and W at the scale factor a and returns what is missing in the equation so far, over the largest of its
  /// three terms. Between two lines T is taken as a power of a.
  double add(double a, double t, double w) {
    if (!begun) {
      *this = {a * t, a * w, a, t, 0, true};
      return 0;
    }
    integral += physics::power_law_integral(scale_factor, kinetic, a, t);
    scale_factor = a, kinetic = t;
    const double grown = a * t - start_kinetic, sunk = a * w - start_potential;
    const double largest = std::max({std::abs(grown), std::abs(sunk), integral});
    return largest > 0 ? (grown + sunk + integral) / largest : 0;
  }
};

}  // namespace pergola

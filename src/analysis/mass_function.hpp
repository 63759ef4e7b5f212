#pragma once
#include "analysis/analysis.hpp"
#include "base/host_device.hpp"
#include "physics/power_spectrum.hpp"

// The number of halos that theory expects in a box, by mass: Sheth & Tormen 1999, and Tinker et al. 2008 for spheres of
// 200 mean densities. The analysis `mass-function` counts groups of friends and writes these beside them.
// Formulas are in physics/halo_mass_function.hpp. Masses are in the unit of the box and are turned into the Lagrangian
// radius of the mean density; the linear power spectrum gives the variance at this radius. What always holds: numbers
// are per volume in the box's unit of length, comoving.
namespace pergola {

/// Expected halos per volume, in the box's unit of length.
class PERGOLA_API ExpectedHalos {
 public:
  /// `mean_density`: in the units of the box. `power`: linear, at z = 0.
  ExpectedHalos(const AnalysisUniverse& universe, double mean_density, const physics::LinearPower& power);

  /// Halos per logarithm of mass.
  double sheth_tormen(double mass) const;
  double tinker(double mass) const;
  /// Halos between two masses, by Tinker et al. 2008.
  double tinker_between(double low, double high) const;

 private:
  template <class Multiplicity>
  double of(double mass, const Multiplicity& multiplicity) const;

  AnalysisUniverse universe_;
  double mean_density_;
  physics::LinearPower power_;
  double growth_;  // over today's
};

}  // namespace pergola

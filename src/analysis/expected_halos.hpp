#pragma once
#include "analysis/analysis_input.hpp"
#include "base/host_device.hpp"
#include "physics/power_spectrum.hpp"

namespace pergola {

/// What theory expects of the halos in a box of a universe, per volume in the box's unit of length.
class PERGOLA_API ExpectedHalos {
 public:
  /// `mean_density` in the units of the box; `power`: linear, today.
  ExpectedHalos(const AnalysisUniverse& universe, double mean_density, const physics::LinearPower& power);

  /// Halos per logarithm of mass.
  double sheth_tormen(double mass) const;
  double tinker(double mass) const;
  /// Halos from one mass to another, of Tinker et al. 2008.
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

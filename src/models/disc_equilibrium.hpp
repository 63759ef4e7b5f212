#pragma once
// The motions of an exponential disc.
//
// Circular speeds are Freeman's formula for a thin disc, less what the thickness takes, plus the external potentials.
// Dispersions follow from Toomre's Q and the epicyclic frequency; the mean rotation falls short of the circular speed
// by the asymmetric drift. All of it is tabulated once, in equal steps of R.
#include <vector>

#include "gravity/external.hpp"
#include "models/sampling.hpp"
#include "physics/exponential_disc.hpp"

namespace pergola {

/// An exponential disc about the z axis, in its own field and that of external potentials.
struct DiscOptions {
  double mass = 1, scale_length = 1, scale_height = 0.1;
  double cutoff = 5;         // largest radius, in scale lengths; `mass` lies within
  double toomre_q = 1.2;     // at toomre_radius, or everywhere
  double toomre_radius = 0;  // in scale lengths; σ_R falls as exp(−R/2 R_d) from there. 0: Q is the same everywhere
  double gravitational_constant = 1;
  std::vector<ExternalPotential> external;
};

/// The circular speed and the velocity dispersions of the disc by the epicyclic approximation.
class DiscEquilibrium {
 public:
  explicit DiscEquilibrium(const DiscOptions& options);

  /// Surface density at R, not cut off.
  double surface_density(double radius) const;
  /// v_c² and d(v_c²)/dR at R > 0, as a mean over the disc's layer: the disc's by Freeman's formula less what its
  /// thickness takes, that of the external potentials in the plane by their mean over azimuth.
  struct Curve {
    double speed2, slope;
  };
  Curve rotation_curve(double radius) const;
  double epicyclic_frequency(double radius) const;

  /// Mean speed about the centre and dispersions along R, φ and z.
  struct Motion {
    double mean = 0, radial = 0, azimuthal = 0, vertical = 0;
  };
  /// From a table with equal steps in R up to the cutoff.
  Motion motion(double radius) const;

  /// The part of its mass within R.
  double mass_within(double radius) const;
  /// One star.
  PhaseSpacePoint draw(Philox& random) const;

 private:
  double loss_place(double radius) const;
  double radial_dispersion(double radius) const;
  double external_pull(double radius, double height, bool vertical) const;
  Motion compute(double radius) const;

  DiscOptions options_;
  double central_density_;
  double step_;
  double reference_dispersion_ = 0;           // σ_R at R = 0 where it falls as exp(−R/2 R_d)
  std::vector<physics::ThicknessLoss> loss_;  // in knots of equal steps in √R; empty: no thickness
  std::vector<Motion> table_;
};

}  // namespace pergola

#pragma once
// Galaxies: halo, bulge and disc in equilibrium in their common field.
//
// Spheres get isotropic velocities by Eddington's inversion, with the mass of all parts within each radius as their
// field. The disc gets those of the epicyclic approximation, with the spheres as external potentials
// (disc_equilibrium.hpp). Then each part is drawn with a random stream of its own and centred.
#include <optional>
#include <string>

#include "models/disc_equilibrium.hpp"
#include "models/isotropic_sphere.hpp"

namespace pergola {

/// A halo, a bulge and an exponential disc about one centre. A part of mass 0 is not there.
struct GalaxyOptions {
  std::string halo_profile = "nfw";  // hernquist
  double halo_mass = 0, halo_scale_radius = 1;
  double halo_concentration = 10;  // radius of the halo in scale radii; a Hernquist halo ends there
  double halo_truncation = 0.3;    // nfw: length over which it fades beyond, in its radii
  double bulge_mass = 0, bulge_scale_radius = 1;
  DiscOptions disc;
};

/// The parts in their common field: the spheres by Eddington's inversion in the total potential, with the disc as the
/// sphere of the same mass within each radius, and the disc in the fields of the spheres and its own.
class Galaxy {
 public:
  /// Throws Error(input) that names the option of the model `model` when there is no equilibrium.
  Galaxy(const GalaxyOptions& options, const std::string& model);

  PhaseSpacePoint draw_halo(Philox& random) const { return halo_->draw(random); }
  PhaseSpacePoint draw_bulge(Philox& random) const { return bulge_->draw(random); }
  /// The disc's motions, and in them the circular speed of all parts in the plane.
  const DiscEquilibrium& disc() const { return *disc_; }
  /// The part of a component's mass within its scale radius.
  double halo_part() const { return halo_part_; }
  double bulge_part() const { return bulge_part_; }

 private:
  std::optional<IsotropicSphere> halo_, bulge_;
  std::optional<DiscEquilibrium> disc_;
  double halo_part_ = 0, bulge_part_ = 0;
};

}  // namespace pergola

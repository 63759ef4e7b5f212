#pragma once
// Spheres in equilibrium with isotropic velocities.
//
// A sphere is given in knots of rising radius: mass within, depth of the potential, and the distribution function f, by
// a formula (Hernquist, King) or by Eddington's inversion of a density. A star's radius comes from the mass between
// knots; its speed by rejection from v² f at its depth. The bound for the rejection is found knot by knot.
#include <cstddef>
#include <functional>
#include <vector>

#include "models/model_entry.hpp"
#include "models/sampling.hpp"
#include "physics/spheres.hpp"

namespace pergola {

/// A sphere in knots of rising radius. `potential` is its depth, positive, falling with the radius, with G put in; `f`
/// the isotropic distribution function at the binding energy of the knot's depth, in any unit, zero below the last
/// one's.
struct SphereKnots {
  std::vector<double> radius, mass, potential, f;
  std::size_t size() const { return radius.size(); }
};

/// Radii from `low` to `high` in equal ratios close to `step` in ln r.
std::vector<double> equal_ratio_radii(double low, double high, double step = 0.01);

/// Density and dlnρ/dlnr at a radius.
struct SphereDensity {
  double density, log_slope;
};
using SphereLaw = std::function<SphereDensity(double radius)>;

/// The mass within each radius.
std::vector<double> mass_within(const std::vector<double>& radii, const SphereLaw& law);

/// The depth of the potential of all mass within each radius; nothing lies beyond the last one.
std::vector<double> potential_depth(const std::vector<double>& radii, const std::vector<double>& mass,
                                    double gravitational_constant);

/// A sphere with isotropic velocities, by Eddington's inversion, in the field of `field_mass` (its own and that of all
/// else, as spheres).
SphereKnots eddington_sphere(const std::vector<double>& radii, const SphereLaw& law,
                             const std::vector<double>& field_mass, double gravitational_constant);

/// Whether the velocities exist: f is negative nowhere by more than the knots' accuracy.
bool has_isotropic_velocities(const SphereKnots& knots);

/// Draws stars from knots.
class IsotropicSphere {
 public:
  /// Stars have radii up to that of the knot `populated` − 1; 0: up to the last one.
  explicit IsotropicSphere(SphereKnots knots, std::size_t populated = 0);

  /// The mass that stars are drawn from.
  double mass() const { return knots_.mass[populated_ - 1]; }
  /// The radius within which this mass lies.
  double radius_of(double mass) const;
  /// ∫ M dM/r, of which G times is the size of the potential energy of the sphere alone.
  double self_energy() const;
  PhaseSpacePoint draw(Philox& random) const;

 private:
  /// The knot below a mass, and how far it is to the next one in ln r.
  struct Place {
    std::size_t knot;
    double t, radius;
  };
  Place place_of(double mass) const;
  double draw_speed(Philox& random, double depth, double bound) const;
  double distribution(double energy) const;

  SphereKnots knots_;
  std::size_t populated_;
  std::vector<double> bound_;  // of v² f at the knot's depth and anywhere farther out
};

/// Particles of a sphere alone, scaled to the model's options `mass` and `half_mass_radius` or `virial_radius`. The
/// knots are in units with G = 1.
DrawnModel draw_isotropic_sphere(const ModelInput& input, IsotropicSphere sphere);

/// The options `mass`, `virial_radius` and `half_mass_radius`, after `own`.
std::vector<ModelOption> sphere_options(std::vector<ModelOption> own);

ModelOption half_mass_radius_option();

/// King's sphere of central depth w0 with lengths in King radii, speeds in σ and G = 1. The last knot is the edge.
SphereKnots king_sphere(double w0);

/// The radius beyond which a truncated halo has no mass to speak of (1e-12 of it).
double nfw_edge(const physics::TruncatedNfw<double>& halo);

}  // namespace pergola

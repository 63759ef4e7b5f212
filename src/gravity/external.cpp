// Kinds of external potentials with their parameters, and the sum of several.
#include "gravity/external.hpp"

namespace pergola {

using physics::ExternalKind;

const std::vector<ExternalKindInfo>& external_kinds() {
  using P = ExternalPotential;
  const ExternalParameter mass{"mass", &P::mass, Range::above(0), true, dimension::mass};
  const ExternalParameter radius{"radius", &P::radius, Range::above(0), true, dimension::length};
  static const std::vector<ExternalKindInfo> all{
      {"point",
       ExternalKind::point,
       "a point mass",
       {mass, {"softening", &P::softening, Range::at_least(0), false, dimension::length}}},
      {"plummer", ExternalKind::plummer, "Plummer's sphere", {mass, radius}},
      {"hernquist", ExternalKind::hernquist, "Hernquist's sphere, for a bulge or a halo", {mass, radius}},
      {"isochrone", ExternalKind::isochrone, "Henon's isochrone", {mass, radius}},
      {"nfw",
       ExternalKind::nfw,
       "the halo of Navarro, Frenk & White; mass is 4 pi rho_0 radius^3, 5.2 times that within the radius",
       {mass, radius}},
      {"logarithmic",
       ExternalKind::logarithmic,
       "a halo with a flat rotation curve of the given speed beyond its core radius",
       {{"speed", &P::speed, Range::above(0), true, dimension::velocity}, radius},
       false},
      {"miyamoto-nagai",
       ExternalKind::miyamoto_nagai,
       "a disc in the plane z = 0 of its centre",
       {mass,
        {"radius", &P::radius, Range::at_least(0), true, dimension::length},
        {"height", &P::height, Range::above(0), true, dimension::length}}},
      {"homogeneous",
       ExternalKind::homogeneous,
       "matter of one density everywhere; a negative one pushes away from the centre",
       {{"density", &P::density, Range{}, true, dimension::density}},
       false},
      {"cosmological-constant",
       ExternalKind::cosmological_constant,
       "omega_lambda hubble^2 r away from the centre: dark energy in coordinates that do not expand",
       {{"omega_lambda", &P::omega_lambda, Range{}, true},
        {"hubble", &P::hubble, Range::above(0), true, dimension::rate}},
       false}};
  return all;
}

const ExternalKindInfo& external_kind(ExternalKind kind) { return external_kinds()[static_cast<std::size_t>(kind)]; }

physics::ExternalLaw<double> external_law(const ExternalPotential& p, double gravitational_constant) {
  const auto strength = [&] {
    switch (p.kind) {
      case ExternalKind::logarithmic:
        return p.speed * p.speed;
      case ExternalKind::homogeneous:
        return physics::homogeneous_strength(gravitational_constant, p.density);
      case ExternalKind::cosmological_constant:
        return physics::cosmological_constant_strength(p.omega_lambda, p.hubble);
      default:
        return gravitational_constant * p.mass;
    }
  };
  return {p.kind, strength(), p.kind == ExternalKind::point ? p.softening : p.radius, p.height, p.centre};
}

physics::ExternalField<double> external_field_at(const std::vector<ExternalPotential>& potentials,
                                                 double gravitational_constant, const Vec3<double>& x) {
  physics::ExternalField<double> sum{{0, 0, 0}, 0};
  for (const auto& potential : potentials) {
    const auto field = physics::external_field(external_law(potential, gravitational_constant), x);
    sum.acceleration = sum.acceleration + field.acceleration;
    sum.potential += field.potential;
  }
  return sum;
}

}  // namespace pergola

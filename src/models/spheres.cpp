// Models whose particles are drawn one by one: the spheres of Plummer, Hernquist, Navarro, Frenk & White, and King in
// equilibrium, an even sphere of any virial ratio, and a cube. Formulas are in physics/, the drawing of stars from
// knots in isotropic_sphere.hpp.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gravity/solver.hpp"
#include "models/isotropic_sphere.hpp"
#include "models/model_entry.hpp"
#include "models/sampling.hpp"
#include "physics/spheres.hpp"

namespace pergola {

namespace {

void scale_values(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

double softened_potential_energy(const Particles& p, double softening, const ModelInput& input) {
  Sources<double> sources;
  sources.count = p.size();
  sources.x = p.x.data(), sources.y = p.y.data(), sources.z = p.z.data();
  sources.mass = p.mass.data();
  SolverOptions options;
  options.softening = Softening::same(softening);
  options.gravitational_constant = input.gravitational_constant();
  return potential_energy(Device::open("cpu", input.threads()), sources, options);
}

/// The factor s for the places with which the potential energy is `wanted`. Stretching by s with softening ε is
/// softening by ε/s and dividing by s, so that s solves W(ε/s)/wanted = s: at once without softening, else by the
/// secant method.
double stretch_for_potential(const Particles& p, double softening, double wanted, const ModelInput& input) {
  const auto next = [&](double s) { return softened_potential_energy(p, softening / s, input) / wanted; };
  double s0 = 1, f0 = next(s0) - s0, s = s0 + f0;
  if (softening == 0) return s;
  for (int round = 0; round < 30 && s > 0 && std::isfinite(s); ++round) {
    const double f = next(s) - s;
    if (std::abs(f) <= 4e-16 * s || f == f0) return s;
    const double step = -f * (s - s0) / (f - f0);
    s0 = s, f0 = f;
    s += step;
    if (std::abs(step) <= 4e-16 * s) return s;
  }
  throw Error(ErrorKind::input, fmt::format("plummer: softening: expected a length small enough for W = -1/2, found {}",
                                            to_text(softening)));
}

/// Scales places and velocities so that K = −E and W = 2 E hold exactly with E = −G M²/(4 virial radius).
void scale_to_exact_energy(Particles& p, double energy, const ModelInput& input) {
  if (p.size() < 2)
    throw Error(ErrorKind::input, "plummer: exact_energy: expected n >= 2, found 1: a single star has no energy");
  const double s = stretch_for_potential(p, input.number("softening"), 2 * energy, input);
  for (auto* values : {&p.x, &p.y, &p.z}) scale_values(*values, s);
  const double faster = std::sqrt(-energy / kinetic_energy(p, input.threads()));
  for (auto* values : {&p.vx, &p.vy, &p.vz}) scale_values(*values, faster);
}

/// From the half-mass radius, if this is given.
double plummer_scale(const ModelInput& input) {
  const double half_mass_radius = input.number("half_mass_radius");
  if (!(half_mass_radius > 0)) return physics::plummer_scale_per_virial_radius * input.number("virial_radius");
  return half_mass_radius / physics::plummer_radius(0.5 * physics::plummer_mass_within(input.number("cutoff")));
}

/// -G M²/(4 r_v) of all stars within any cutoff.
double plummer_energy(const ModelInput& input) {
  const double mass = input.number("mass");
  return -input.gravitational_constant() * mass * mass * physics::plummer_scale_per_virial_radius /
         (4 * plummer_scale(input));
}

/// Drawn in units of the scale radius and G M = 1, then scaled to the options.
DrawnModel plummer_stars(const ModelInput& input) {
  const double mass = input.number("mass"), length = plummer_scale(input);
  const double speed = std::sqrt(input.gravitational_constant() * mass / length);
  const double within = physics::plummer_mass_within(input.number("cutoff"));
  const auto draw = [=](Philox& random) {
    const PhaseSpacePoint p = draw_plummer_star(random, within);
    return PhaseSpacePoint{length * p.x, speed * p.v};
  };
  return {input.n(), mass, input.seed(), draw};
}

Particles make_plummer(const ModelInput& input) {
  Particles particles = make_drawn(plummer_stars(input), input.threads());
  if (input.flag("exact_energy"))
    scale_to_exact_energy(
        particles, input.number("half_mass_radius") > 0 ? plummer_energy(input) : equilibrium_energy(input), input);
  return particles;
}

/// The exact energy is known only when all stars are.
std::optional<DrawnModel> draw_plummer(const ModelInput& input) {
  return input.flag("exact_energy") ? std::nullopt : std::optional(plummer_stars(input));
}

}  // namespace

ModelEntry plummer_model() {
  return {
      .info = {"plummer",
               "Plummer's sphere in equilibrium (Aarseth, Henon & Wielen 1974); N-body units: E = -1/4",
               4096,
               true,
               {{"cutoff", 22.8, "largest radius, in scale radii", Range::above(0), {}},
                {"mass", 1.0, "total mass", Range::above(0), {}, false, dimension::mass},
                {"virial_radius",
                 1.0,
                 "G M^2 / (2 |W|); the scale radius is 3 pi/16 of it",
                 Range::above(0),
                 {},
                 false,
                 dimension::length,
                 OptionValue{"half_mass_radius", 0.0}},
                half_mass_radius_option(),
                {"exact_energy", false, "scale to K = 1/4 and W = -1/2 exactly; costs a sum over all pairs", {}, {}},
                {"softening",
                 0.0,
                 "softening length that exact_energy counts with",
                 Range::at_least(0),
                 {},
                 false,
                 dimension::length,
                 OptionValue{"exact_energy", true}}}},
      .make = make_plummer,
      .expectations = equilibrium_expectations,
      .drawn = draw_plummer};
}

namespace {

std::optional<DrawnModel> draw_hernquist(const ModelInput& input) {
  const double cutoff = input.number("cutoff");
  SphereKnots knots;
  knots.radius = equal_ratio_radii(1e-6 * std::min(1.0, cutoff), cutoff);
  const std::size_t populated = knots.size();
  // No star is farther out, but their speeds reach up to that of escape.
  const auto beyond = equal_ratio_radii(cutoff, 1e6 * std::max(1.0, cutoff));
  knots.radius.insert(knots.radius.end(), beyond.begin() + 1, beyond.end());
  for (const double r : knots.radius) {
    knots.mass.push_back(physics::hernquist_mass_within(r));
    knots.potential.push_back(physics::hernquist_depth(r));
    knots.f.push_back(physics::hernquist_distribution(knots.potential.back()));
  }
  return draw_isotropic_sphere(input, IsotropicSphere(knots, populated));
}

}  // namespace

ModelEntry hernquist_model() {
  return {
      .info = {"hernquist", "Hernquist's sphere in equilibrium, a bulge or a halo; N-body units: E = -1/4", 4096, true,
               sphere_options({{"cutoff", 100.0, "largest radius, in scale radii", Range::between(0.01, 1e6), {}}})},
      .expectations = equilibrium_expectations,
      .drawn = draw_hernquist};
}

/// The radius, in scale radii, beyond which a shell holds less than 1e-12 of that at the halo's radius.
double nfw_edge(const physics::TruncatedNfw<double>& halo) {
  const auto shell = [&](double r) { return r * r * r * halo.density(r); };
  double r = halo.concentration;
  while (shell(r) > 1e-12 * shell(halo.concentration)) r += halo.decay;
  return r;
}

namespace {

/// f has no closed form here, so that Eddington's inversion finds it. A sharp edge may have no positive f.
std::optional<DrawnModel> draw_nfw(const ModelInput& input) {
  const double concentration = input.number("concentration"), truncation = input.number("truncation");
  const physics::TruncatedNfw<double> halo{concentration, truncation * concentration};
  const SphereLaw law = [&](double r) { return SphereDensity{halo.density(r), halo.log_slope(r)}; };
  const auto radii = equal_ratio_radii(1e-6, nfw_edge(halo));
  const SphereKnots knots = eddington_sphere(radii, law, mass_within(radii, law), 1);
  if (!has_isotropic_velocities(knots))
    throw Error(ErrorKind::input,
                fmt::format("nfw: truncation: expected a wider edge, which isotropic velocities can hold, found {}",
                            to_text(truncation)));
  return draw_isotropic_sphere(input, IsotropicSphere(knots));
}

}  // namespace

ModelEntry nfw_model() {
  return {
      .info = {"nfw", "the halo of Navarro, Frenk & White with a smooth edge, in equilibrium; N-body units: E = -1/4",
               4096, true,
               sphere_options(
                   {{"concentration", 10.0, "radius of the halo in scale radii", Range::between(0.1, 1000), {}},
                    {"truncation",
                     0.3,
                     "length over which the density falls by e beyond it, in its radii",
                     Range::between(0.01, 10),
                     {}}})},
      .expectations = equilibrium_expectations,
      .drawn = draw_nfw};
}

namespace {

/// W and dW/ds at s = ln x.
struct KingLayer {
  double s, w, slope;
};

/// One step of the classical Runge-Kutta method in s.
KingLayer king_step(const KingLayer& from, double h, double central_density) {
  const auto rate = [&](double ds, double w, double slope) {
    return physics::king_curvature(std::exp(from.s + ds), w, slope, central_density);
  };
  const double k1 = from.slope, l1 = rate(0, from.w, from.slope);
  const double k2 = from.slope + h / 2 * l1, l2 = rate(h / 2, from.w + h / 2 * k1, k2);
  const double k3 = from.slope + h / 2 * l2, l3 = rate(h / 2, from.w + h / 2 * k2, k3);
  const double k4 = from.slope + h * l3, l4 = rate(h, from.w + h * k3, k4);
  return {from.s + h, from.w + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), from.slope + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)};
}

/// The step from a layer to the edge, where W = 0, by bisection below `longest`.
KingLayer king_edge(const KingLayer& from, double longest, double central_density) {
  double low = 0, high = longest;
  for (int round = 0; round < 60; ++round) {
    const double middle = (low + high) / 2;
    (king_step(from, middle, central_density).w > 0 ? low : high) = middle;
  }
  KingLayer last = king_step(from, high, central_density);
  last.w = 0;
  return last;
}

constexpr double king_first_radius = 1e-4, king_log_step = 0.01;

}  // namespace

SphereKnots king_sphere(double w0) {
  const double central_density = physics::king_density(w0);
  // About the centre W = W₀ − (3/2) x².
  KingLayer layer{std::log(king_first_radius), w0 - 1.5 * king_first_radius * king_first_radius,
                  -3 * king_first_radius * king_first_radius};
  SphereKnots knots;
  const auto keep = [&](const KingLayer& l) {
    knots.radius.push_back(std::exp(l.s));
    knots.mass.push_back(-knots.radius.back() * l.slope);
    knots.potential.push_back(l.w);
    knots.f.push_back(physics::king_distribution(l.w));
  };
  while (true) {
    keep(layer);
    const KingLayer next = king_step(layer, king_log_step, central_density);
    if (!(next.w > 0)) break;
    layer = next;
  }
  keep(king_edge(layer, king_log_step, central_density));
  return knots;
}

namespace {

std::optional<DrawnModel> draw_king(const ModelInput& input) {
  return draw_isotropic_sphere(input, IsotropicSphere(king_sphere(input.number("w0"))));
}

}  // namespace

ModelEntry king_model() {
  return {
      .info = {"king", "King's sphere, a star cluster with an edge, in equilibrium; N-body units: E = -1/4", 4096, true,
               sphere_options({{"w0",
                                6.0,
                                "central depth of the potential below the edge, in squares of King's sigma",
                                Range::between(0.1, 16),
                                {}}})},
      .expectations = equilibrium_expectations,
      .drawn = draw_king};
}

namespace {

double uniform_sphere_energy(const ModelInput& input) {
  return physics::uniform_sphere_potential_energy(input.gravitational_constant(), input.number("mass"),
                                                  input.number("radius"));
}

/// Radii by inversion of r³; a Maxwellian with the dispersion that gives the virial ratio.
std::optional<DrawnModel> draw_sphere(const ModelInput& input) {
  const double radius = input.number("radius"), mass = input.number("mass");
  // K = (3/2) M σ² = Q |W|.
  const double sigma = std::sqrt(2 * input.number("virial_ratio") * -uniform_sphere_energy(input) / (3 * mass));
  const auto draw = [=](Philox& random) {
    const double r = radius * std::cbrt(random.uniform());
    const Vec3<double> x = r * random_direction(random);
    const double vx = sigma * random_normal(random), vy = sigma * random_normal(random);
    return PhaseSpacePoint{x, {vx, vy, sigma * random_normal(random)}};
  };
  return DrawnModel{input.n(), mass, input.seed(), draw};
}

std::vector<Expectation> expect_sphere(const ModelInput& input) {
  const double noise = 1 / std::sqrt(static_cast<double>(input.n()));
  const double energy = (1 - input.number("virial_ratio")) * uniform_sphere_energy(input);
  return {{"energy", energy, std::max(0.02, 4 * noise) * -uniform_sphere_energy(input)}};
}

}  // namespace

ModelEntry sphere_model() {
  return {.info = {"sphere",
                   "a sphere of even density with a Maxwellian of any virial ratio; the default is the cold collapse",
                   4096,
                   true,
                   {{"virial_ratio", 0.0, "K/|W| at the start: 0 cold, 0.5 virial", Range::at_least(0), {}},
                    {"radius", 1.0, "of the sphere", Range::above(0), {}, false, dimension::length},
                    {"mass", 1.0, "total mass", Range::above(0), {}, false, dimension::mass}}},
          .expectations = expect_sphere,
          .drawn = draw_sphere};
}

namespace {

/// "Particles randomly distributed in a cubic space with random velocities": Aubert, Amini & David, "A fast
/// particle-mesh integrator for galactic dynamics powered by GPGPUs", the third of their initial conditions.
std::optional<DrawnModel> draw_cube(const ModelInput& input) {
  const double side = input.number("side"), speed = input.number("speed");
  const auto draw = [=](Philox& random) {
    PhaseSpacePoint p{};
    for (double* x : {&p.x.x, &p.x.y, &p.x.z}) *x = side * random.uniform();
    for (double* v : {&p.v.x, &p.v.y, &p.v.z}) *v = speed * (2 * random.uniform() - 1);
    return p;
  };
  return DrawnModel{input.n(), input.number("mass"), input.seed(), draw, false};
}

}  // namespace

ModelEntry cube_model() {
  return {
      .info = {"cube",
               "random places in a cube from the origin, random velocities",
               4096,
               true,
               {{"side", 1.0, "of the cube, from 0 on each axis", Range::above(0), {}, false, dimension::length},
                {"speed", 0.1, "largest velocity along each axis", Range::at_least(0), {}, false, dimension::velocity},
                {"mass", 1.0, "total mass", Range::above(0), {}, false, dimension::mass}}},
      .box_side = [](const ModelInput& input) { return input.number("side"); },
      .drawn = draw_cube};
}

}  // namespace pergola

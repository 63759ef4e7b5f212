#include "physics/spheres.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gravity/solver.hpp"
#include "models/model_entry.hpp"
#include "models/sampling.hpp"

namespace pergola {

namespace {

using namespace physics;

void scale(std::vector<double>& values, double factor) {
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
  for (auto* values : {&p.x, &p.y, &p.z}) scale(*values, s);
  const double faster = std::sqrt(-energy / kinetic_energy(p, input.threads()));
  for (auto* values : {&p.vx, &p.vy, &p.vz}) scale(*values, faster);
}

DrawnModel stars(const ModelInput& input) {
  const double mass = input.number("mass");
  const double length = plummer_scale_per_virial_radius * input.number("virial_radius");
  const double speed = std::sqrt(input.gravitational_constant() * mass / length);
  const double within = plummer_mass_within(input.number("cutoff"));
  const auto draw = [=](Philox& random) {
    const PhaseSpacePoint p = draw_plummer_star(random, within);
    return PhaseSpacePoint{length * p.x, speed * p.v};
  };
  return {input.n(), mass, input.seed(), draw};
}

Particles make_plummer(const ModelInput& input) {
  Particles particles = make_drawn(stars(input), input.threads());
  if (input.flag("exact_energy")) scale_to_exact_energy(particles, equilibrium_energy(input), input);
  return particles;
}

/// The exact energy is known only when all stars are.
std::optional<DrawnModel> draw_plummer(const ModelInput& input) {
  return input.flag("exact_energy") ? std::nullopt : std::optional(stars(input));
}

}  // namespace

ModelEntry plummer_model() {
  return {{"plummer",
           "Plummer's sphere in equilibrium (Aarseth, Henon & Wielen 1974); N-body units: E = -1/4",
           4096,
           true,
           {{"cutoff", 22.8, "largest radius, in scale radii", Range::above(0), {}},
            {"mass", 1.0, "total mass", Range::above(0), {}},
            {"virial_radius", 1.0, "G M^2 / (2 |W|); the scale radius is 3 pi/16 of it", Range::above(0), {}},
            {"exact_energy", false, "scale to K = 1/4 and W = -1/2 exactly; costs a sum over all pairs", {}, {}},
            {"softening", 0.0, "softening length that exact_energy counts with", Range::at_least(0), {}}}},
          make_plummer,
          equilibrium_expectations,
          nullptr,
          nullptr,
          draw_plummer};
}

}  // namespace pergola

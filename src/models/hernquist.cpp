#include "physics/spheres.hpp"

#include <algorithm>

#include "models/isotropic_sphere.hpp"

namespace pergola {

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
  return {{"hernquist", "Hernquist's sphere in equilibrium, a bulge or a halo; N-body units: E = -1/4", 4096, true,
           sphere_options({{"cutoff", 100.0, "largest radius, in scale radii", Range::between(0.01, 1e6), {}}})},
          [](const ModelInput& input) { return make_drawn(*draw_hernquist(input), input.threads()); },
          equilibrium_expectations,
          nullptr,
          nullptr,
          draw_hernquist};
}

}  // namespace pergola

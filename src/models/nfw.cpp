#include "physics/spheres.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "models/isotropic_sphere.hpp"
#include "models/nfw.hpp"

namespace pergola {

double nfw_edge(const physics::TruncatedNfw<double>& halo) {
  const auto shell = [&](double r) { return r * r * r * halo.density(r); };
  double r = halo.concentration;
  while (shell(r) > 1e-12 * shell(halo.concentration)) r += halo.decay;
  return r;
}

namespace {

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
  return {{"nfw", "the halo of Navarro, Frenk & White with a smooth edge, in equilibrium; N-body units: E = -1/4", 4096,
           true,
           sphere_options({{"concentration", 10.0, "radius of the halo in scale radii", Range::between(0.1, 1000), {}},
                           {"truncation",
                            0.3,
                            "length over which the density falls by e beyond it, in its radii",
                            Range::between(0.01, 10),
                            {}}})},
          [](const ModelInput& input) { return make_drawn(*draw_nfw(input), input.threads()); },
          equilibrium_expectations,
          nullptr,
          nullptr,
          draw_nfw};
}

}  // namespace pergola

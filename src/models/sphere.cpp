#include <algorithm>
#include <cmath>

#include "models/model_entry.hpp"
#include "models/sampling.hpp"
#include "physics/spheres.hpp"

namespace pergola {

namespace {

double potential(const ModelInput& input) {
  return physics::uniform_sphere_potential_energy(input.gravitational_constant(), input.number("mass"),
                                                  input.number("radius"));
}

std::optional<DrawnModel> draw_sphere(const ModelInput& input) {
  const double radius = input.number("radius"), mass = input.number("mass");
  // K = (3/2) M σ² = Q |W|.
  const double sigma = std::sqrt(2 * input.number("virial_ratio") * -potential(input) / (3 * mass));
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
  const double energy = (1 - input.number("virial_ratio")) * potential(input);
  return {{"energy", energy, std::max(0.02, 4 * noise) * -potential(input)}};
}

}  // namespace

ModelEntry sphere_model() {
  return {{"sphere",
           "a sphere of even density with a Maxwellian of any virial ratio; the default is the cold collapse",
           4096,
           true,
           {{"virial_ratio", 0.0, "K/|W| at the start: 0 cold, 0.5 virial", Range::at_least(0), {}},
            {"radius", 1.0, "of the sphere", Range::above(0), {}},
            {"mass", 1.0, "total mass", Range::above(0), {}}}},
          [](const ModelInput& input) { return make_drawn(*draw_sphere(input), input.threads()); },
          expect_sphere,
          nullptr,
          nullptr,
          draw_sphere};
}

}  // namespace pergola

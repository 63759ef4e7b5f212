#include "models/model_entry.hpp"

namespace pergola {

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
  return {{"cube",
           "random places in a cube from the origin, random velocities",
           4096,
           true,
           {{"side", 1.0, "of the cube, from 0 on each axis", Range::above(0), {}},
            {"speed", 0.1, "largest velocity along each axis", Range::at_least(0), {}},
            {"mass", 1.0, "total mass", Range::above(0), {}}}},
          [](const ModelInput& input) { return make_drawn(*draw_cube(input), input.threads()); },
          [](const ModelInput&) { return std::vector<Expectation>{}; },
          [](const ModelInput& input) { return input.number("side"); },
          nullptr,
          draw_cube};
}

}  // namespace pergola

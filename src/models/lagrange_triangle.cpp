#include <array>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "models/model_entry.hpp"
#include "models/sampling.hpp"
#include "physics/kepler.hpp"

namespace pergola {

namespace {

std::array<double, 3> masses(const ModelInput& input) {
  return {input.number("mass_1"), input.number("mass_2"), input.number("mass_3")};
}

/// Any three masses on an equilateral triangle that turns about their centre of mass. Lagrange 1772.
Particles make_lagrange_triangle(const ModelInput& input) {
  const auto m = masses(input);
  const double total = m[0] + m[1] + m[2], side = input.number("side");
  if (!(total > 0))
    throw Error(ErrorKind::input, "lagrange-triangle: mass_1, mass_2, mass_3: expected a sum > 0, found 0");
  const double omega = physics::lagrange_angular_speed(input.gravitational_constant() * total, side);
  Particles p;
  p.resize(3);
  p.mass.assign(m.begin(), m.end());
  p.x = {0, -side / 2, side / 2};
  p.y = {side * std::numbers::sqrt3 / 3, -side * std::numbers::sqrt3 / 6, -side * std::numbers::sqrt3 / 6};
  centre(p, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    p.vx[i] = -omega * p.y[i];
    p.vy[i] = omega * p.x[i];
  }
  return p;
}

std::vector<Expectation> expect_lagrange_triangle(const ModelInput& input) {
  const auto m = masses(input);
  const double pairs = m[0] * m[1] + m[1] * m[2] + m[2] * m[0];
  const double energy = -input.gravitational_constant() * pairs / (2 * input.number("side"));
  if (energy == 0) return {};
  return {{"energy", energy, 1e-3 * std::abs(energy)}};
}

}  // namespace

ModelEntry lagrange_triangle_model() {
  const Range mass = Range::at_least(0);
  return {{"lagrange-triangle",
           "three masses on a turning equilateral triangle; period 2 pi sqrt(side^3 / (G M))",
           3,
           false,
           {{"side", 1.0, "of the triangle", Range::above(0), {}},
            {"mass_1", 1.0, "mass of the first body", mass, {}},
            {"mass_2", 1.0, "mass of the second body", mass, {}},
            {"mass_3", 1.0, "mass of the third body", mass, {}}}},
          make_lagrange_triangle,
          expect_lagrange_triangle};
}

}  // namespace pergola

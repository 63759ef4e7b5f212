#include <cmath>

#include "models/model_entry.hpp"

namespace pergola {

namespace {

// Three equal masses that chase each other on one eight-shaped curve. Chenciner & Montgomery 2000, Ann. Math. 152, 881;
// C. Simó's initial conditions, continued to 17 digits: in quadruple precision the bodies change places after a third
// of the period 6.32591398292622855 to 1e-30.
constexpr double x_outer = 0.97000435669734, y_outer = -0.24308753153583;
constexpr double vx_middle = -0.932407371441034272, vy_middle = -0.864731460921023734;
constexpr double energy_with_unit_g = -1.28714199563185542;

Particles make_figure_eight(const ModelInput& input) {
  const double speed = std::sqrt(input.gravitational_constant());
  const double vx = speed * vx_middle, vy = speed * vy_middle;
  Particles p;
  p.resize(3);
  p.mass = {1, 1, 1};
  p.x = {x_outer, -x_outer, 0};
  p.y = {y_outer, -y_outer, 0};
  p.vx = {-vx / 2, -vx / 2, vx};
  p.vy = {-vy / 2, -vy / 2, vy};
  return p;
}

std::vector<Expectation> expect_figure_eight(const ModelInput& input) {
  const double energy = input.gravitational_constant() * energy_with_unit_g;
  return {{"energy", energy, 1e-3 * std::abs(energy)}};
}

}  // namespace

ModelEntry figure_eight_model() {
  return {{"figure-eight", "three equal masses on one eight-shaped orbit; period 6.32591398 for G = 1", 3, false, {}},
          make_figure_eight,
          expect_figure_eight};
}

}  // namespace pergola

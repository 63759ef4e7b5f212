// Models of two to six bodies: a Kepler orbit, the figure eight, Burrau's problem, Lagrange's triangle, six random
// bodies. Energies that are known in closed form are the expectations of a run.
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/vec.hpp"
#include "models/model_entry.hpp"
#include "models/sampling.hpp"
#include "physics/kepler.hpp"

namespace pergola {

namespace {

/// 1/a: 0 for a parabola, negative for a hyperbola.
double kepler_inverse_axis(const ModelInput& input) {
  const double e = input.number("eccentricity");
  if (e == 1) return 0;
  return (e < 1 ? 1 : -1) / input.number("semi_major_axis");
}

/// The pericentre distance |a (1 − e)|, of a parabola the given length itself.
double kepler_start_distance(const ModelInput& input) {
  const double e = input.number("eccentricity"), a = input.number("semi_major_axis");
  const std::string& start = input.word("start");
  if (start == "apocentre" && e >= 1)
    throw Error(ErrorKind::input, "kepler: start: expected pericentre, found apocentre: an orbit with eccentricity " +
                                      to_text(e) + " has none");
  if (start == "pericentre" || e >= 1) return e == 1 ? a : a * std::abs(1 - e);
  return a * (1 + e);
}

/// The bodies on the x axis at an end of the orbit, the centre of mass at rest in the origin, velocities along y.
Particles make_kepler(const ModelInput& input) {
  const double m1 = input.number("mass_1"), m2 = input.number("mass_2"), total = m1 + m2;
  if (!(total > 0)) throw Error(ErrorKind::input, "kepler: mass_1, mass_2: expected a sum > 0, found 0");
  const double r = kepler_start_distance(input);
  const double v = physics::vis_viva_speed(input.gravitational_constant() * total, r, kepler_inverse_axis(input));
  Particles p;
  p.resize(2);
  p.mass = {m1, m2};
  p.x = {-m2 / total * r, m1 / total * r};
  p.vy = {-m2 / total * v, m1 / total * v};
  return p;
}

/// A parabola's energy is 0: no tolerance relative to it can be stated.
std::vector<Expectation> expect_kepler(const ModelInput& input) {
  const double energy = physics::kepler_energy(input.gravitational_constant(), input.number("mass_1"),
                                               input.number("mass_2"), kepler_inverse_axis(input));
  if (energy == 0) return {};
  return {{"energy", energy, 1e-3 * std::abs(energy)}};
}

}  // namespace

ModelEntry kepler_model() {
  return {.info = {"kepler",
                   "two bodies on a Kepler orbit of any eccentricity; the default has period 2 pi",
                   2,
                   false,
                   {{"eccentricity", 0.5, "0 circle, < 1 ellipse, 1 parabola, > 1 hyperbola", Range::at_least(0), {}},
                    {"semi_major_axis",
                     1.0,
                     "of the relative orbit; a parabola's pericentre distance",
                     Range::above(0),
                     {},
                     false,
                     dimension::length},
                    {"mass_1", 0.5, "mass of the first body", Range::at_least(0), {}, false, dimension::mass},
                    {"mass_2", 0.5, "mass of the second body", Range::at_least(0), {}, false, dimension::mass},
                    {"start",
                     std::string("auto"),
                     "where the orbit begins; auto: the apocentre, or the pericentre of an open orbit",
                     {},
                     {"auto", "apocentre", "pericentre"}}}},
          .make = make_kepler,
          .expectations = expect_kepler};
}

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
  return {.info = {"figure-eight",
                   "three equal masses on one eight-shaped orbit; period 6.32591398 for G = 1",
                   3,
                   false,
                   {}},
          .make = make_figure_eight,
          .expectations = expect_figure_eight};
}

namespace {

/// Masses 3, 4 and 5 at rest, each opposite the side of its length of a 3-4-5 triangle. Burrau 1913, Astron. Nachr.
/// 195, 113; solved by Szebehely & Peters 1967, AJ 72, 876.
Particles make_pythagorean(const ModelInput&) {
  Particles p;
  p.resize(3);
  p.mass = {3, 4, 5};
  p.x = {1, -2, 1};
  p.y = {3, -1, -1};
  return p;
}

std::vector<Expectation> expect_pythagorean(const ModelInput& input) {
  const double energy = -input.gravitational_constant() * (4.0 * 5 / 3 + 3.0 * 5 / 4 + 3.0 * 4 / 5);
  return {{"energy", energy, 1e-3 * std::abs(energy)}};
}

}  // namespace

ModelEntry pythagorean_model() {
  return {.info = {"pythagorean", "Burrau's problem: masses 3, 4 and 5 at rest on a 3-4-5 triangle", 3, false, {}},
          .make = make_pythagorean,
          .expectations = expect_pythagorean};
}

namespace {

std::array<double, 3> triangle_masses(const ModelInput& input) {
  return {input.number("mass_1"), input.number("mass_2"), input.number("mass_3")};
}

/// Any three masses on an equilateral triangle that turns about their centre of mass. Lagrange 1772.
Particles make_lagrange_triangle(const ModelInput& input) {
  const auto m = triangle_masses(input);
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

/// Half of the potential energy, as in every virialized system.
std::vector<Expectation> expect_lagrange_triangle(const ModelInput& input) {
  const auto m = triangle_masses(input);
  const double pairs = m[0] * m[1] + m[1] * m[2] + m[2] * m[0];
  const double energy = -input.gravitational_constant() * pairs / (2 * input.number("side"));
  if (energy == 0) return {};
  return {{"energy", energy, 1e-3 * std::abs(energy)}};
}

}  // namespace

ModelEntry lagrange_triangle_model() {
  const Range mass = Range::at_least(0);
  return {.info = {"lagrange-triangle",
                   "three masses on a turning equilateral triangle; period 2 pi sqrt(side^3 / (G M))",
                   3,
                   false,
                   {{"side", 1.0, "of the triangle", Range::above(0), {}, false, dimension::length},
                    {"mass_1", 1.0, "mass of the first body", mass, {}, false, dimension::mass},
                    {"mass_2", 1.0, "mass of the second body", mass, {}, false, dimension::mass},
                    {"mass_3", 1.0, "mass of the third body", mass, {}, false, dimension::mass}}},
          .make = make_lagrange_triangle,
          .expectations = expect_lagrange_triangle};
}

namespace {

/// Masses in [1, 10], places in [−5, 5]³, velocities in [−1, 1]³, all uniform: Bertinelli, "N-body simulator -
/// Parallelized with CUDA", section 4.
Particles make_six_body(const ModelInput& input) {
  Particles p;
  p.resize(6);
  for (std::size_t i = 0; i < 6; ++i) {
    Philox random(input.seed(), 0, i);
    p.mass[i] = 1 + 9 * random.uniform();
    for (auto* values : {&p.x, &p.y, &p.z}) (*values)[i] = 10 * random.uniform() - 5;
    for (auto* values : {&p.vx, &p.vy, &p.vz}) (*values)[i] = 2 * random.uniform() - 1;
  }
  return p;
}

}  // namespace

ModelEntry six_body_model() {
  return {.info = {"six-body", "six random bodies in a cube, masses from 1 to 10", 6, false, {}},
          .make = make_six_body};
}

}  // namespace pergola

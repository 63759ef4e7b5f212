#include "physics/kepler.hpp"

#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/vec.hpp"
#include "models/model_entry.hpp"

namespace pergola {

namespace {

/// 1/a: 0 for a parabola, negative for a hyperbola.
double inverse_semi_major_axis(const ModelInput& input) {
  const double e = input.number("eccentricity");
  if (e == 1) return 0;
  return (e < 1 ? 1 : -1) / input.number("semi_major_axis");
}

/// The pericentre distance |a (1 − e)|, of a parabola the given length itself.
double start_distance(const ModelInput& input) {
  const double e = input.number("eccentricity"), a = input.number("semi_major_axis");
  const std::string& start = input.word("start");
  if (start == "apocentre" && e >= 1)
    throw Error(ErrorKind::input, "kepler: start: expected pericentre, found apocentre: an orbit with eccentricity " +
                                      to_text(e) + " has none");
  if (start == "pericentre" || e >= 1) return e == 1 ? a : a * std::abs(1 - e);
  return a * (1 + e);
}

Particles make_kepler(const ModelInput& input) {
  const double m1 = input.number("mass_1"), m2 = input.number("mass_2"), total = m1 + m2;
  if (!(total > 0)) throw Error(ErrorKind::input, "kepler: mass_1, mass_2: expected a sum > 0, found 0");
  const double r = start_distance(input);
  const double v = physics::vis_viva_speed(input.gravitational_constant() * total, r, inverse_semi_major_axis(input));
  Particles p;
  p.resize(2);
  p.mass = {m1, m2};
  p.x = {-m2 / total * r, m1 / total * r};
  p.vy = {-m2 / total * v, m1 / total * v};
  return p;
}

std::vector<Expectation> expect_kepler(const ModelInput& input) {
  const double energy = physics::kepler_energy(input.gravitational_constant(), input.number("mass_1"),
                                               input.number("mass_2"), inverse_semi_major_axis(input));
  if (energy == 0) return {};
  return {{"energy", energy, 1e-3 * std::abs(energy)}};
}

}  // namespace

ModelEntry kepler_model() {
  return {{"kepler",
           "two bodies on a Kepler orbit of any eccentricity; the default has period 2 pi",
           2,
           false,
           {{"eccentricity", 0.5, "0 circle, < 1 ellipse, 1 parabola, > 1 hyperbola", Range::at_least(0), {}},
            {"semi_major_axis", 1.0, "of the relative orbit; a parabola's pericentre distance", Range::above(0), {}},
            {"mass_1", 0.5, "mass of the first body", Range::at_least(0), {}},
            {"mass_2", 0.5, "mass of the second body", Range::at_least(0), {}},
            {"start",
             std::string("auto"),
             "where the orbit begins; auto: the apocentre, or the pericentre of an open orbit",
             {},
             {"auto", "apocentre", "pericentre"}}}},
          make_kepler,
          expect_kepler};
}

}  // namespace pergola

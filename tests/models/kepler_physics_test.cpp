#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "models/model.hpp"

namespace pergola {
namespace {

struct Orbit {
  double energy, angular_momentum, distance, momentum;
};

Orbit orbit_of(const Particles& p, double g) {
  const double r = std::hypot(p.x[1] - p.x[0], p.y[1] - p.y[0], p.z[1] - p.z[0]);
  Orbit orbit{-g * p.mass[0] * p.mass[1] / r, 0, r, 0};
  for (std::size_t i = 0; i < 2; ++i) {
    orbit.energy += 0.5 * p.mass[i] * (p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i]);
    orbit.angular_momentum += p.mass[i] * (p.x[i] * p.vy[i] - p.y[i] * p.vx[i]);
    orbit.momentum += p.mass[i] * p.vy[i];
  }
  return orbit;
}

ModelOptions ellipse(double eccentricity, const std::string& start) {
  ModelOptions options;
  options.gravitational_constant = 2;
  options.values = {
      {"eccentricity", eccentricity}, {"semi_major_axis", 3.0}, {"mass_1", 4.0}, {"mass_2", 1.0}, {"start", start}};
  return options;
}

// Reference: E = −G m1 m2/(2 a) and L = m1 m2/(m1 + m2) √(G (m1 + m2) a (1 − e²)); a < 0 for a hyperbola.
TEST(Kepler, EnergyAndAngularMomentumAreThoseOfTheOrbit) {
  for (const double e : {0.0, 0.5, 0.9, 0.999, 2.0})
    for (const std::string start : {"pericentre", "apocentre"}) {
      if (e > 1 && start == "apocentre") continue;
      const Orbit orbit = orbit_of(make_model("kepler", ellipse(e, start)), 2);
      const double a = e < 1 ? 3 : -3;
      EXPECT_NEAR(orbit.energy, -2.0 * 4 / (2 * a), 1e-11);
      EXPECT_NEAR(orbit.angular_momentum, 0.8 * std::sqrt(10 * a * (1 - e * e)), 1e-12);
      EXPECT_NEAR(orbit.distance, start == "apocentre" ? a * (1 + e) : a * (1 - e), 1e-14);
      EXPECT_NEAR(orbit.momentum, 0, 1e-14);
    }
}

TEST(Kepler, AParabolaHasNoEnergy) {
  EXPECT_NEAR(orbit_of(make_model("kepler", ellipse(1, "auto")), 2).energy, 0, 1e-15);
}

TEST(Kepler, AnOpenOrbitHasNoApocentre) { EXPECT_THROW(make_model("kepler", ellipse(1.5, "apocentre")), Error); }

}  // namespace
}  // namespace pergola

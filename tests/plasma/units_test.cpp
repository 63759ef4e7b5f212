#include "plasma/units.hpp"
#include "marks.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// Reference: NRL Plasma Formulary: ω_pe = 5.64e4 √n rad/s, λ_D = 7.43e2 √(T/n) cm, n in cm⁻³, T in eV.
TEST(PlasmaUnits, ScalesAreThoseOfTheNrlFormulary) {
  EXPECT_NEAR(plasma_frequency_per_s(1e18) / (5.64e4 * 1e6), 1, 1e-3);
  EXPECT_NEAR(debye_length_m(4, 1e18) / (7.43 * std::sqrt(4 / 1e12)), 1, 1e-3);
}

TEST(PlasmaUnits, SiFilesHoldSiNumbers) {
  PlasmaUnits units;
  units.lengths = PlasmaLengths::si;
  units.dimensions = 3;
  units.cell = units.cell_m = 1e-5;
  units.omega_p_per_s = plasma_frequency_per_s(1e18);
  for (const auto& factor : {units.length(), units.time(), units.velocity(), units.mass(), units.charge(),
                             units.electric_field(), units.potential(), units.energy()})
    EXPECT_EQ(factor.si, 1);
  EXPECT_NEAR(units.density().file, 1e18, 1e6);
  EXPECT_DOUBLE_EQ(units.velocity().file, units.length().file / units.time().file);
  EXPECT_DOUBLE_EQ(units.potential().file, units.electric_field().file * units.length().file);
  // ½ m v² of one weight at computed speed 1 is half the unit of energy.
  EXPECT_NEAR(
      units.energy().file / (units.particles_per_weight() * units.mass().file * std::pow(units.velocity().file, 2)), 1,
      1e-14);
  // Poisson's equation holds in the file's numbers: k² φ = ρ/ε₀ for ρ = φ = k = 1 as computed.
  EXPECT_NEAR(units.potential().file / std::pow(units.length().file, 2) * vacuum_permittivity_f_per_m /
                  units.charge_density().file,
              1, 1e-14);
}

TEST(PlasmaUnits, DebyeLengthsScaleWithTheCell) {
  PlasmaUnits units;
  units.lengths = PlasmaLengths::debye;
  units.cell = 0.5;
  units.cell_m *= 0.5;
  EXPECT_DOUBLE_EQ(units.length().file, 0.5);
  EXPECT_DOUBLE_EQ(units.length().si, PlasmaUnits{}.cell_m);
  EXPECT_DOUBLE_EQ(units.time().file, 1);
  EXPECT_DOUBLE_EQ(units.potential().file, 0.25);
  EXPECT_DOUBLE_EQ(units.energy().file, std::pow(0.5, 4));
  EXPECT_EQ(units.length_name(), "Debye length");
}

TEST(PlasmaUnitNames, EnergyAndMomentumArePerLengthInTwoDimensions) {
  PlasmaUnits units;
  units.lengths = PlasmaLengths::debye;
  EXPECT_EQ(energy_unit_name(units), "n_0 m_e lambda_D^4 omega_p^2");
  EXPECT_EQ(momentum_unit_name(units), "n_0 m_e lambda_D^3 omega_p");
  EXPECT_EQ(potential_unit_name(units), "m_e (lambda_D omega_p)^2/e");
  units.lengths = PlasmaLengths::si;
  EXPECT_EQ(energy_unit_name(units), "J/m");
  units.dimensions = 3;
  EXPECT_EQ(energy_unit_name(units), "J");
  EXPECT_EQ(momentum_unit_name(units), "kg m/s");
}

TEST(PlasmaUnitNames, VelocitiesAreNamedAfterLengthAndTime) {
  EXPECT_EQ(velocity_unit_name("cell", PlasmaUnits{}.time_name()), "cell omega_p");
  EXPECT_EQ(velocity_unit_name("m", "s"), "m/s");
  EXPECT_EQ(velocity_unit_name("", "s"), "");
  EXPECT_EQ(velocity_unit_name("m", ""), "");
}

}  // namespace
}  // namespace pergola

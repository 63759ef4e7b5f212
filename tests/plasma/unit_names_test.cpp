#include "plasma/unit_names.hpp"

#include <gtest/gtest.h>

namespace pergola {
namespace {

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

#include "base/units.hpp"

#include <gtest/gtest.h>

namespace pergola {
namespace {

/// The dimension and the size in cgs of a unit; zeros where it is none.
Unit unit(const char* text) { return parse_unit(text).value_or(Unit{0, {}, 0}); }

TEST(Units, ProductsOfWordsWithPowersAreRead) {
  EXPECT_EQ(unit("Myr").cgs, 1e6 * julian_year_s);
  EXPECT_EQ(unit("km/s").cgs, 1e5);
  EXPECT_EQ(unit("km/s").dimension, dimension::velocity);
  EXPECT_EQ(unit("km/s/Mpc").dimension, dimension::rate);
  EXPECT_EQ(unit("Msun/pc^3").dimension, dimension::density);
  EXPECT_EQ(unit("Msun pc^-3").cgs, unit("Msun/pc^3").cgs);
  EXPECT_EQ(unit("kpc/h").per_h, 1);
  for (const char* none : {"", " ", "parsec", "pc^", "pc^0", "pc^0.5", "pc^99", "km//s", "/s", "Myr "})
    EXPECT_FALSE(parse_unit(none)) << none;
  for (const char* none : {"5", "Myr", "five Myr", "nan pc", "5 Myr pc^x"}) EXPECT_FALSE(parse_quantity(none)) << none;
}

/// IAU 2012 B2: a parsec is 648000/pi AU. IAU 2015 B3 and CODATA's G. A parsec per km/s is 0.97779222 million years.
TEST(Units, QuantitiesAreNumbersOfASystem) {
  const auto number = [](const char* text, const char* system) {
    return number_in(*parse_quantity(text), *find_unit_system(system));
  };
  EXPECT_EQ(number("0.1 kpc", "galactic"), 0.1);
  EXPECT_EQ(number("0.1 kpc", "stellar"), 100);
  EXPECT_EQ(number("1pc", "galactic"), 1e-3);
  EXPECT_EQ(number("-3 yr", "solar"), -3);
  EXPECT_EQ(number("1e10 Msun", "gadget"), 1);
  EXPECT_NEAR(number("5 Myr", "stellar"), 5 / 0.97779222, 1e-7);
  EXPECT_NEAR(number("1 pc", "solar"), 206264.806247, 1e-5);
  EXPECT_NEAR(number("100 km/s/Mpc", "gadget"), 0.1, 1e-15);
  EXPECT_NEAR(number("1 Msun/pc^3", "galactic"), 1e9, 1e-5);
  EXPECT_NEAR(number("2 us", "si"), 2e-6, 1e-20);
}

}  // namespace
}  // namespace pergola

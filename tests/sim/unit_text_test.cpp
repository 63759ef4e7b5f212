#include "sim/unit_text.hpp"

#include <gtest/gtest.h>

#include "base/units.hpp"

namespace pergola {
namespace {

SnapshotHeader header_in(const char* system) {
  const UnitSystem& units = *find_unit_system(system);
  SnapshotHeader header;
  header.units = FileUnits{units.length_cm, units.mass_g, units.velocity_cm_per_s};
  return header;
}

/// A parsec per km/s is 0.97779222 million years (IAU 2012 B2, Julian years).
TEST(UnitText, TimesAreShownInTheUnitThatFitsTheLongest) {
  const auto shown = shown_time_unit(header_in("stellar"), 20);
  EXPECT_EQ(shown.name, "Myr");
  EXPECT_NEAR(shown.factor, 0.97779222, 1e-8);
  EXPECT_EQ(shown_time_unit(header_in("stellar"), 0.5).name, "kyr");
  EXPECT_EQ(shown_time_unit(header_in("gadget"), 20).name, "Gyr");
  EXPECT_EQ(shown_time_unit(header_in("solar"), 20).name, "yr");
  EXPECT_EQ(shown_time_unit({}, 20).name, "");
  EXPECT_EQ(shown_time_unit({}, 20).factor, 1);
}

}  // namespace
}  // namespace pergola

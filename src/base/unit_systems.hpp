#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_device.hpp"
#include "base/units.hpp"

namespace pergola {

/// IAU 2012 resolution B2.
inline constexpr double astronomical_unit_m = 149597870700.0;
/// The Julian year, the astronomers' one: 365.25 days of 86,400 s.
inline constexpr double julian_year_s = 365.25 * 86400;

/// The systems of units that a run under gravity can name: nbody, gadget, solar, stellar, galactic,
/// cosmology, si.
PERGOLA_API const std::vector<UnitSystem>& unit_systems();
/// What stands for what, for help texts: "kpc, solar masses, km/s".
PERGOLA_API std::string unit_system_help(const std::string& name);
/// The system of this name; null: none.
PERGOLA_API const UnitSystem* find_unit_system(const std::string& name);

/// Any other units, with Newton's constant in them.
PERGOLA_API UnitSystem custom_units(double length_cm, double mass_g, double velocity_cm_per_s);

/// Whether two systems mean the same: lengths, masses and velocities agree to a part in a thousand. That is more than
/// two catalogues of constants differ by, and less than two systems do.
PERGOLA_API bool same_units(const UnitSystem& a, const UnitSystem& b);

/// A unit as people write it, "AU", "1e10 Msun", "km/s", in cgs; none: not a unit of that kind.
PERGOLA_API std::optional<double> length_unit_cm(std::string_view text);
PERGOLA_API std::optional<double> mass_unit_g(std::string_view text);
PERGOLA_API std::optional<double> velocity_unit_cm_per_s(std::string_view text);

/// And back, as text that these read: the word of a unit, with a power of ten before it where need be, or a number of
/// cm, g or cm/s.
PERGOLA_API std::string length_unit_text(double cm);
PERGOLA_API std::string mass_unit_text(double g);
PERGOLA_API std::string velocity_unit_text(double cm_per_s);

}  // namespace pergola

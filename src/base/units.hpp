#pragma once
// Units: physical constants with their units in their names, systems of units that a run can name, and units as text.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// Newton's constant. CODATA 2018.
inline constexpr double newton_g_m3_per_kg_s2 = 6.67430e-11;
/// The Sun's G M, far better known than its mass. IAU 2015 resolution B3 (nominal value).
inline constexpr double solar_gm_m3_per_s2 = 1.3271244e20;
/// IAU 2015 resolution B2: 648000/π astronomical units of 149 597 870 700 m (IAU 2012 resolution B2).
inline constexpr double kiloparsec_m = 3.0856775814913673e19;
inline constexpr double megaparsec_cm = kiloparsec_m * 1e5;
/// The first two exact since the SI of 2019; the other two CODATA 2018.
inline constexpr double elementary_charge_c = 1.602176634e-19;
inline constexpr double boltzmann_j_per_k = 1.380649e-23;
inline constexpr double electron_mass_kg = 9.1093837015e-31;
inline constexpr double vacuum_permittivity_f_per_m = 8.8541878128e-12;
inline constexpr double solar_mass_kg = solar_gm_m3_per_s2 / newton_g_m3_per_kg_s2;

/// A system of units that a run may use, with Newton's constant in it. N-body units are a scale of their own: G = 1 and
/// no length in cm, which files express as 1.
struct UnitSystem {
  std::string name;
  double length_cm = 1;
  double mass_g = 1;
  double velocity_cm_per_s = 1;
  double gravitational_constant = 1;
};

/// G = 1. Hénon 1971; Heggie & Mathieu 1986.
inline UnitSystem nbody_units() { return {"nbody", 1, 1, 1, 1}; }

/// kpc, 1e10 solar masses and km/s. GADGET's manual gives G = 43007.1 from older constants; today's give 43009.2.
inline UnitSystem gadget_units() {
  constexpr double mass_in_suns = 1e10, velocity_m_per_s = 1e3;
  return {"gadget", kiloparsec_m * 1e2, mass_in_suns * solar_mass_kg * 1e3, velocity_m_per_s * 1e2,
          mass_in_suns * solar_gm_m3_per_s2 / (kiloparsec_m * velocity_m_per_s * velocity_m_per_s)};
}

/// Metre, kilogram and second.
inline UnitSystem si_units() { return {"si", 1e2, 1e3, 1e2, newton_g_m3_per_kg_s2}; }

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

/// Powers of length, mass and time; all 0: a plain number.
struct Dimension {
  int length = 0, mass = 0, time = 0;
  friend bool operator==(const Dimension&, const Dimension&) = default;
};
namespace dimension {
inline constexpr Dimension none{}, length{1, 0, 0}, mass{0, 1, 0}, time{0, 0, 1}, velocity{1, 0, -1}, density{-3, 1, 0},
    rate{0, 0, -1};
}  // namespace dimension

/// What a unit is in cgs, and its dimension. `per_h`: how often it is over h, the Hubble constant in 100 km/s/Mpc.
struct Unit {
  double cgs = 1;
  Dimension dimension{};
  int per_h = 0;
};
/// Words with whole powers, "Myr", "km/s", "Msun/pc^3", "kpc/h"; none: no unit.
PERGOLA_API std::optional<Unit> parse_unit(std::string_view text);

/// A number with its unit.
struct Quantity {
  double number = 0;
  Unit unit;
};
/// "5 Myr", "1e10 Msun/h"; none: something else.
PERGOLA_API std::optional<Quantity> parse_quantity(std::string_view text);
/// The same as a number of these units.
PERGOLA_API double number_in(const Quantity& quantity, const UnitSystem& units);
/// "a time such as \"5 Myr\" (s, day, ...)": what may be written for a number of this dimension.
PERGOLA_API std::string quantity_help(const Dimension& dimension);

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

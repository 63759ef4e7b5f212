#pragma once
#include <string>

#include "plasma/units.hpp"

namespace pergola {

// Units in words, beside PlasmaUnits::length_name() and time_name(): for logs, files and pictures.

/// Of a velocity, from the words for length and time: "cell omega_p" where time is in 1/omega_p, "m/s"; empty where one
/// of the two is.
PERGOLA_API std::string velocity_unit_name(const std::string& length, const std::string& time);

/// "e n_0", "C/m^3".
PERGOLA_API std::string charge_density_unit_name(const PlasmaUnits& units);
PERGOLA_API std::string electric_field_unit_name(const PlasmaUnits& units);
/// "m_e (lambda_D omega_p)^2/e", "V".
PERGOLA_API std::string potential_unit_name(const PlasmaUnits& units);
/// "n_0 m_e cell^4 omega_p^2"; in SI "J", or "J/m" in two dimensions.
PERGOLA_API std::string energy_unit_name(const PlasmaUnits& units);
PERGOLA_API std::string momentum_unit_name(const PlasmaUnits& units);

}  // namespace pergola

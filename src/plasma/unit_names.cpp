#include "plasma/unit_names.hpp"

#include <fmt/core.h>

namespace pergola {

namespace {

/// In formulas, where two words would not stand well.
const char* length_symbol(const PlasmaUnits& units) {
  return units.lengths == PlasmaLengths::debye ? "lambda_D" : "cell";
}

}  // namespace

std::string velocity_unit_name(const std::string& length, const std::string& time) {
  if (length.empty() || time.empty()) return "";
  return time.starts_with("1/") ? fmt::format("{} {}", length, time.substr(2)) : fmt::format("{}/{}", length, time);
}

std::string charge_density_unit_name(const PlasmaUnits& units) { return units.si() ? "C/m^3" : "e n_0"; }

std::string electric_field_unit_name(const PlasmaUnits& units) {
  return units.si() ? "V/m" : fmt::format("m_e {} omega_p^2/e", length_symbol(units));
}

std::string potential_unit_name(const PlasmaUnits& units) {
  return units.si() ? "V" : fmt::format("m_e ({} omega_p)^2/e", length_symbol(units));
}

std::string energy_unit_name(const PlasmaUnits& units) {
  if (units.si()) return units.dimensions == 2 ? "J/m" : "J";
  return fmt::format("n_0 m_e {}^{} omega_p^2", length_symbol(units), units.dimensions + 2);
}

std::string momentum_unit_name(const PlasmaUnits& units) {
  if (units.si()) return units.dimensions == 2 ? "kg/s" : "kg m/s";
  return fmt::format("n_0 m_e {}^{} omega_p", length_symbol(units), units.dimensions + 1);
}

}  // namespace pergola

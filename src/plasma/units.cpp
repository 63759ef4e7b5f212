// Units of a plasma's files: see units.hpp. SI values are those of CODATA constants in base/units.hpp.
#include "plasma/units.hpp"

#include <fmt/core.h>

#include <cmath>

namespace pergola {

namespace {

/// The density of electrons, per m³, with this plasma frequency.
double density_of(double omega_p_per_s) {
  return omega_p_per_s * omega_p_per_s * vacuum_permittivity_f_per_m * electron_mass_kg /
         (elementary_charge_c * elementary_charge_c);
}

/// For formulas, which need one word.
const char* length_symbol(const PlasmaUnits& units) {
  return units.lengths == PlasmaLengths::debye ? "lambda_D" : "cell";
}

}  // namespace

double plasma_frequency_per_s(double density_per_m3) {
  return elementary_charge_c * std::sqrt(density_per_m3 / (vacuum_permittivity_f_per_m * electron_mass_kg));
}

double debye_length_m(double temperature_ev, double density_per_m3) {
  return std::sqrt(vacuum_permittivity_f_per_m * temperature_ev / (density_per_m3 * elementary_charge_c));
}

std::string PlasmaUnits::length_name() const {
  return lengths == PlasmaLengths::cells ? "cell" : lengths == PlasmaLengths::debye ? "Debye length" : "m";
}

std::string PlasmaUnits::time_name() const { return si() ? "s" : "1/omega_p"; }

PlasmaUnits::Factor PlasmaUnits::factor(double in_own_units, double in_si) const {
  return si() ? Factor{in_si, 1} : Factor{in_own_units, in_si / in_own_units};
}

PlasmaUnits::Factor PlasmaUnits::length() const { return factor(cell, cell_m); }
PlasmaUnits::Factor PlasmaUnits::time() const { return factor(1, 1 / omega_p_per_s); }
PlasmaUnits::Factor PlasmaUnits::velocity() const { return factor(cell, cell_m * omega_p_per_s); }
PlasmaUnits::Factor PlasmaUnits::mass() const { return factor(1, electron_mass_kg); }
PlasmaUnits::Factor PlasmaUnits::charge() const { return factor(1, elementary_charge_c); }
PlasmaUnits::Factor PlasmaUnits::density() const { return factor(1, density_of(omega_p_per_s)); }
PlasmaUnits::Factor PlasmaUnits::charge_density() const {
  return factor(1, elementary_charge_c * density_of(omega_p_per_s));
}
PlasmaUnits::Factor PlasmaUnits::current_density() const {
  return {charge_density().file * velocity().file, charge_density().si * velocity().si};
}
PlasmaUnits::Factor PlasmaUnits::electric_field() const {
  return factor(cell, electron_mass_kg * omega_p_per_s * omega_p_per_s * cell_m / elementary_charge_c);
}
PlasmaUnits::Factor PlasmaUnits::potential() const {
  const double speed = cell_m * omega_p_per_s;
  return factor(cell * cell, electron_mass_kg * speed * speed / elementary_charge_c);
}
PlasmaUnits::Factor PlasmaUnits::magnetic_field() const {
  return factor(1, electron_mass_kg * omega_p_per_s / elementary_charge_c);
}
PlasmaUnits::Factor PlasmaUnits::energy() const {
  return factor(std::pow(cell, dimensions + 2), mass_of_a_cell() * cell_m * cell_m * omega_p_per_s * omega_p_per_s);
}
PlasmaUnits::Factor PlasmaUnits::momentum() const {
  return factor(std::pow(cell, dimensions + 1), mass_of_a_cell() * cell_m * omega_p_per_s);
}
double PlasmaUnits::mass_of_a_cell() const {
  return electron_mass_kg * density_of(omega_p_per_s) * std::pow(cell_m, dimensions);
}
double PlasmaUnits::particles_per_weight() const { return density_of(omega_p_per_s) * cell_m * cell_m * cell_m; }

std::string velocity_unit_name(const std::string& length, const std::string& time) {
  if (length.empty() || time.empty()) return "";
  return time.starts_with("1/") ? fmt::format("{} {}", length, time.substr(2)) : fmt::format("{}/{}", length, time);
}

std::string charge_density_unit_name(const PlasmaUnits& units) { return units.si() ? "C/m^3" : "e n_0"; }

std::string current_density_unit_name(const PlasmaUnits& units) {
  return units.si() ? "A/m^2" : fmt::format("e n_0 {} omega_p", length_symbol(units));
}

std::string magnetic_field_unit_name(const PlasmaUnits& units) { return units.si() ? "T" : "m_e omega_p/e"; }

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

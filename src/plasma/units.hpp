#pragma once
/// Units of plasmas: from the units of computation to those of files and to SI, with their names.
///
/// PlasmaUnits is made once from the configuration. Each quantity has a Factor: multiply a computed number by `file`
/// for the file, and that by `si` for SI. Names are ASCII, as files and logs need them; pictures draw them with
/// symbols. In two dimensions energies and momenta are per length along z.
#include <array>
#include <string>
#include <string_view>

#include "base/host_device.hpp"
#include "base/units.hpp"

namespace pergola {

/// The unit of length in a plasma's configuration and files. The unit of time follows: 1/ω_p, or seconds with SI.
enum class PlasmaLengths { cells, debye, si };
inline constexpr std::array<std::string_view, 3> plasma_length_names{"cells", "debye", "si"};

/// ω_p of a density of electrons in m⁻³: √(n e²/(ε₀ m_e)), per second.
PERGOLA_API double plasma_frequency_per_s(double density_per_m3);
/// √(ε₀ k_B T/(n e²)) in metres, for k_B T in eV and n in m⁻³.
PERGOLA_API double debye_length_m(double temperature_ev, double density_per_m3);

/// The units of a plasma. Computation is in cells, 1/ω_p, e, m_e and n₀ (PlasmaOptions). Files and logs are in the
/// units of the configuration: cells or Debye lengths with 1/ω_p, e, m_e and n₀, or SI. Factor::file takes a computed
/// number to the file, Factor::si a number in the file to SI.
struct PERGOLA_API PlasmaUnits {
  /// The scale of a plasma that states none, because openPMD files need one: 10¹⁸ electrons per m³ of 1 eV.
  static constexpr double default_density_per_m3 = 1e18, default_temperature_ev = 1;

  PlasmaLengths lengths = PlasmaLengths::cells;
  int dimensions = 2;                                                              // energies in 2D are per length
  double cell = 1;                                                                 // side of a cell, in the file's unit
  double cell_m = debye_length_m(default_temperature_ev, default_density_per_m3);  // the same in metres
  double omega_p_per_s = plasma_frequency_per_s(default_density_per_m3);           // ω_p of the reference density

  bool si() const { return lengths == PlasmaLengths::si; }
  std::string length_name() const;  // "cell", "Debye length", "m"
  std::string time_name() const;    // "1/omega_p", "s"

  /// The factors of a quantity.
  struct Factor {
    double file = 1, si = 1;
  };
  Factor length() const;
  Factor time() const;
  Factor velocity() const;
  Factor mass() const;
  Factor charge() const;
  /// Number per volume.
  Factor density() const;
  Factor charge_density() const;
  Factor current_density() const;
  Factor electric_field() const;
  Factor potential() const;
  Factor magnetic_field() const;
  /// m_e n₀ L^d (L/T)², in SI J (3D) or J/m (2D).
  Factor energy() const;
  /// m_e n₀ L^d L/T.
  Factor momentum() const;
  /// Real particles per unit of PlasmaSpecies::weight, n₀ cell³: what openPMD calls weighting.
  double particles_per_weight() const;

 private:
  double mass_of_a_cell() const;  // of electrons of the reference density, kg or kg/m
  Factor factor(double in_own_units, double in_si) const;
};

// Names of units for logs, files and pictures, beside PlasmaUnits::length_name() and time_name().

/// From the names of length and time: "cell omega_p" if time is in 1/omega_p, "m/s"; empty if a name is empty.
PERGOLA_API std::string velocity_unit_name(const std::string& length, const std::string& time);

/// "e n_0", "C/m^3".
PERGOLA_API std::string charge_density_unit_name(const PlasmaUnits& units);
PERGOLA_API std::string current_density_unit_name(const PlasmaUnits& units);
PERGOLA_API std::string magnetic_field_unit_name(const PlasmaUnits& units);
PERGOLA_API std::string electric_field_unit_name(const PlasmaUnits& units);
/// "m_e (lambda_D omega_p)^2/e", "V".
PERGOLA_API std::string potential_unit_name(const PlasmaUnits& units);
/// "n_0 m_e cell^4 omega_p^2"; in SI "J", or "J/m" in two dimensions.
PERGOLA_API std::string energy_unit_name(const PlasmaUnits& units);
PERGOLA_API std::string momentum_unit_name(const PlasmaUnits& units);

}  // namespace pergola

#pragma once
#include <array>
#include <string>
#include <string_view>

#include "base/host_device.hpp"
#include "base/units.hpp"

namespace pergola {

/// The length that people's numbers of a plasma are in. Time goes with it: 1/ω_p, or seconds with SI.
enum class PlasmaLengths { cells, debye, si };
inline constexpr std::array<std::string_view, 3> plasma_length_names{"cells", "debye", "si"};

/// ω_p of a density of electrons in m⁻³: √(n e²/(ε₀ m_e)), per second.
PERGOLA_API double plasma_frequency_per_s(double density_per_m3);
/// √(ε₀ k_B T/(n e²)) in metres, for k_B T in eV and n in m⁻³.
PERGOLA_API double debye_length_m(double temperature_ev, double density_per_m3);

/// What the numbers of a plasma mean. Computed is in cells, 1/ω_p, e, m_e and n₀ (PlasmaOptions); the file and the logs
/// are in the units that the run was described in: cells or Debye lengths with 1/ω_p, e, m_e and n₀, or SI. A factor
/// without `si` takes a computed number to the file, one with `si` a number in the file to SI.
struct PERGOLA_API PlasmaUnits {
  /// The scale that a plasma without one gets in SI, which openPMD files must state: 10¹⁸ electrons per m³ of 1 eV.
  static constexpr double default_density_per_m3 = 1e18, default_temperature_ev = 1;

  PlasmaLengths lengths = PlasmaLengths::cells;
  int dimensions = 2;                                                              // energies in 2D are per length
  double cell = 1;                                                                 // side of a cell, in the file's unit
  double cell_m = debye_length_m(default_temperature_ev, default_density_per_m3);  // the same in metres
  double omega_p_per_s = plasma_frequency_per_s(default_density_per_m3);           // ω_p of the reference density

  bool si() const { return lengths == PlasmaLengths::si; }
  std::string length_name() const;  // "cell", "Debye length", "m"
  std::string time_name() const;    // "1/omega_p", "s"

  /// A quantity: its factors from a computed number to the file, and from there to SI.
  struct Factor {
    double file = 1, si = 1;
  };
  Factor length() const;
  Factor time() const;
  Factor velocity() const;
  Factor mass() const;
  Factor charge() const;
  /// Number per volume, from n₀.
  Factor density() const;
  Factor charge_density() const;
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

}  // namespace pergola

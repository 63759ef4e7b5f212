#pragma once
#include <string>

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

}  // namespace pergola

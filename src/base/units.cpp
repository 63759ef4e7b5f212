#include "base/units.hpp"

#include <fmt/core.h>

#include <cmath>
#include <initializer_list>

#include "base/text.hpp"

namespace pergola {

namespace {

/// Masses in suns: G M of the Sun is known far better than G and its mass are.
UnitSystem with_suns(const std::string& name, double length_m, double suns, double velocity_m_per_s) {
  return {name, length_m * 1e2, suns * solar_mass_kg * 1e3, velocity_m_per_s * 1e2,
          suns * solar_gm_m3_per_s2 / (length_m * velocity_m_per_s * velocity_m_per_s)};
}

struct Named {
  UnitSystem units;
  std::string help;
};

const std::vector<Named>& named() {
  static const std::vector<Named> all{
      {nbody_units(), "G = 1"},
      {gadget_units(), "kpc, 1e10 solar masses, km/s"},
      {with_suns("solar", astronomical_unit_m, 1, astronomical_unit_m / julian_year_s), "AU, solar masses, years"},
      {with_suns("stellar", kiloparsec_m / 1e3, 1, 1e3), "pc, solar masses, km/s"},
      {with_suns("galactic", kiloparsec_m, 1, 1e3), "kpc, solar masses, km/s"},
      {with_suns("cosmology", kiloparsec_m * 1e3, 1e10, 1e3), "Mpc/h, 1e10 solar masses/h, km/s"},
      {si_units(), "m, kg, s"}};
  return all;
}

}  // namespace

const std::vector<UnitSystem>& unit_systems() {
  static const std::vector<UnitSystem> all = [] {
    std::vector<UnitSystem> systems;
    for (const auto& one : named()) systems.push_back(one.units);
    return systems;
  }();
  return all;
}

std::string unit_system_help(const std::string& name) {
  for (const auto& one : named())
    if (one.units.name == name) return one.help;
  return "";
}

const UnitSystem* find_unit_system(const std::string& name) {
  for (const auto& system : unit_systems())
    if (system.name == name) return &system;
  return nullptr;
}

UnitSystem custom_units(double length_cm, double mass_g, double velocity_cm_per_s) {
  constexpr double newton_g_cgs = newton_g_m3_per_kg_s2 * 1e3;
  return {"custom", length_cm, mass_g, velocity_cm_per_s,
          newton_g_cgs * mass_g / (length_cm * velocity_cm_per_s * velocity_cm_per_s)};
}

namespace {

struct UnitWord {
  std::string_view word;
  double cgs;
};

constexpr double parsec_cm = kiloparsec_m / 1e3 * 1e2;
constexpr UnitWord lengths[] = {{"cm", 1},
                                {"m", 1e2},
                                {"km", 1e5},
                                {"AU", astronomical_unit_m * 1e2},
                                {"au", astronomical_unit_m * 1e2},
                                {"pc", parsec_cm},
                                {"kpc", parsec_cm * 1e3},
                                {"Mpc", parsec_cm * 1e6}};
constexpr UnitWord masses[] = {{"g", 1}, {"kg", 1e3}, {"Msun", solar_mass_kg * 1e3}, {"M_sun", solar_mass_kg * 1e3}};
constexpr UnitWord times[] = {{"s", 1},
                              {"day", 86400},
                              {"yr", julian_year_s},
                              {"kyr", julian_year_s * 1e3},
                              {"Myr", julian_year_s * 1e6},
                              {"Gyr", julian_year_s * 1e9}};

template <std::size_t count>
std::optional<double> word_value(const UnitWord (&words)[count], std::string_view text) {
  for (const auto& [word, cgs] : words)
    if (word == text) return cgs;
  return std::nullopt;
}

/// "1e10 Msun": a factor, a blank and the unit; or the unit alone.
template <class Unit>
std::optional<double> with_factor(std::string_view text, const Unit& unit) {
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos) return unit(text);
  const auto factor = parse_real(text.substr(0, blank));
  const auto cgs = unit(text.substr(blank + 1));
  if (!factor || !(*factor > 0) || !std::isfinite(*factor) || !cgs) return std::nullopt;
  return *factor * *cgs;
}

}  // namespace

std::optional<double> length_unit_cm(std::string_view text) {
  return with_factor(text, [](std::string_view word) { return word_value(lengths, word); });
}

std::optional<double> mass_unit_g(std::string_view text) {
  return with_factor(text, [](std::string_view word) { return word_value(masses, word); });
}

std::optional<double> velocity_unit_cm_per_s(std::string_view text) {
  return with_factor(text, [](std::string_view word) -> std::optional<double> {
    const auto slash = word.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const auto length = word_value(lengths, word.substr(0, slash)), time = word_value(times, word.substr(slash + 1));
    if (!length || !time) return std::nullopt;
    return *length / *time;
  });
}

namespace {

/// The word of this unit, or the first word of which it is a power of ten; else a multiple of the last word.
std::string unit_text(double value, std::initializer_list<const char*> words,
                      std::optional<double> (*cgs)(std::string_view)) {
  constexpr double rounding = 1e-12;
  for (const char* word : words)
    if (std::abs(value / *cgs(word) - 1) <= rounding) return word;
  for (const char* word : words) {
    const double factor = value / *cgs(word), power = std::round(std::log10(factor));
    if (std::abs(factor / std::pow(10, power) - 1) <= rounding) return fmt::format("1e{:.0f} {}", power, word);
  }
  return fmt::format("{} {}", to_text(value), *(words.end() - 1));
}

}  // namespace

std::string length_unit_text(double cm) {
  return unit_text(cm, {"kpc", "pc", "Mpc", "AU", "km", "m", "cm"}, length_unit_cm);
}

std::string mass_unit_text(double g) { return unit_text(g, {"Msun", "kg", "g"}, mass_unit_g); }

std::string velocity_unit_text(double cm_per_s) {
  return unit_text(cm_per_s, {"km/s", "m/s", "AU/yr", "kpc/Gyr", "cm/s"}, velocity_unit_cm_per_s);
}

bool same_units(const UnitSystem& a, const UnitSystem& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-3 * std::abs(y); };
  return near(a.length_cm, b.length_cm) && near(a.mass_g, b.mass_g) && near(a.velocity_cm_per_s, b.velocity_cm_per_s);
}

}  // namespace pergola

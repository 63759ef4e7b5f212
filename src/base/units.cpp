#include "base/units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
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
  Dimension dimension;
};

constexpr double parsec_cm = kiloparsec_m / 1e3 * 1e2;
/// Those of one dimension stand together; the first of each are what help texts name.
constexpr UnitWord unit_words[] = {{"AU", astronomical_unit_m * 1e2, dimension::length},
                                   {"pc", parsec_cm, dimension::length},
                                   {"kpc", parsec_cm * 1e3, dimension::length},
                                   {"Mpc", parsec_cm * 1e6, dimension::length},
                                   {"km", 1e5, dimension::length},
                                   {"m", 1e2, dimension::length},
                                   {"cm", 1, dimension::length},
                                   {"mm", 1e-1, dimension::length},
                                   {"um", 1e-4, dimension::length},
                                   {"nm", 1e-7, dimension::length},
                                   {"au", astronomical_unit_m * 1e2, dimension::length},
                                   {"Msun", solar_mass_kg * 1e3, dimension::mass},
                                   {"M_sun", solar_mass_kg * 1e3, dimension::mass},
                                   {"kg", 1e3, dimension::mass},
                                   {"g", 1, dimension::mass},
                                   {"Gyr", julian_year_s * 1e9, dimension::time},
                                   {"Myr", julian_year_s * 1e6, dimension::time},
                                   {"kyr", julian_year_s * 1e3, dimension::time},
                                   {"yr", julian_year_s, dimension::time},
                                   {"day", 86400, dimension::time},
                                   {"s", 1, dimension::time},
                                   {"ms", 1e-3, dimension::time},
                                   {"us", 1e-6, dimension::time},
                                   {"ns", 1e-9, dimension::time},
                                   {"ps", 1e-12, dimension::time},
                                   {"fs", 1e-15, dimension::time}};

/// Multiplies a unit with "pc^3", or divides by it. False: no such word or power.
bool multiply(Unit& unit, std::string_view factor, bool divide) {
  const auto caret = factor.find('^');
  const auto given = caret == std::string_view::npos ? 1 : parse_integer(factor.substr(caret + 1));
  constexpr std::int64_t most = 9;
  if (!given || *given == 0 || std::abs(*given) > most) return false;
  const int power = static_cast<int>(divide ? -*given : *given);
  const auto word = factor.substr(0, caret);
  if (word == "h") {
    unit.per_h -= power;
    return true;
  }
  for (const UnitWord& known : unit_words) {
    if (known.word != word) continue;
    for (int k = 0; k < std::abs(power); ++k) unit.cgs = power < 0 ? unit.cgs / known.cgs : unit.cgs * known.cgs;
    unit.dimension.length += power * known.dimension.length;
    unit.dimension.mass += power * known.dimension.mass;
    unit.dimension.time += power * known.dimension.time;
    return true;
  }
  return false;
}

}  // namespace

std::optional<Unit> parse_unit(std::string_view text) {
  Unit unit;
  bool divide = false;
  while (true) {
    const auto end = std::min(text.find_first_of(" */"), text.size());
    if (!multiply(unit, text.substr(0, end), divide)) return std::nullopt;
    if (end == text.size()) return unit;
    divide = text[end] == '/';
    text.remove_prefix(end + 1);
  }
}

/// The longest beginning that is a number, blanks or none, and the unit.
std::optional<Quantity> parse_quantity(std::string_view text) {
  Quantity quantity;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quantity.number);
  if (error != std::errc{} || !std::isfinite(quantity.number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto unit = parse_unit(text);
  if (!unit) return std::nullopt;
  quantity.unit = *unit;
  return quantity;
}

/// Rounding is taken out of factors that are powers of ten: "0.1 kpc" is 0.1 in kpc and 100 in pc.
double number_in(const Quantity& quantity, const UnitSystem& units) {
  double factor = quantity.unit.cgs;
  const auto divide = [&](double unit, int power) {
    for (int k = 0; k < std::abs(power); ++k) factor = power > 0 ? factor / unit : factor * unit;
  };
  const Dimension& of = quantity.unit.dimension;
  // A time is a length over a velocity.
  divide(units.length_cm, of.length + of.time);
  divide(units.velocity_cm_per_s, -of.time);
  divide(units.mass_g, of.mass);
  constexpr double rounding = 1e-14;
  const double power_of_ten = std::pow(10, std::round(std::log10(factor)));
  return quantity.number * (std::abs(factor / power_of_ten - 1) <= rounding ? power_of_ten : factor);
}

std::string quantity_help(const Dimension& dimension) {
  if (dimension == dimension::velocity) return "a velocity such as \"220 km/s\"";
  if (dimension == dimension::density) return "a density such as \"0.1 Msun/pc^3\"";
  if (dimension == dimension::rate) return "a rate such as \"70 km/s/Mpc\"";
  if (dimension == Dimension{-3, 0, 0}) return "a number per volume such as \"1e6 cm^-3\"";
  std::string words;
  for (const UnitWord& known : unit_words)
    if (known.dimension == dimension) words += (words.empty() ? "" : ", ") + std::string(known.word);
  const char* example = dimension == dimension::length ? "a length such as \"100 pc\""
                        : dimension == dimension::mass ? "a mass such as \"1e3 Msun\""
                                                       : "a time such as \"5 Myr\"";
  return fmt::format("{} ({})", example, words);
}

namespace {

/// "1e10 Msun": a positive factor, a blank and the unit; or the unit alone.
std::optional<double> unit_of(std::string_view text, const Dimension& dimension) {
  double factor = 1;
  if (const auto blank = text.find(' '); blank != std::string_view::npos) {
    const auto given = parse_real(text.substr(0, blank));
    if (!given || !(*given > 0) || !std::isfinite(*given)) return std::nullopt;
    factor = *given;
    text.remove_prefix(blank + 1);
  }
  const auto unit = parse_unit(text);
  if (!unit || unit->dimension != dimension || unit->per_h != 0) return std::nullopt;
  return factor * unit->cgs;
}

}  // namespace

std::optional<double> length_unit_cm(std::string_view text) { return unit_of(text, dimension::length); }
std::optional<double> mass_unit_g(std::string_view text) { return unit_of(text, dimension::mass); }
std::optional<double> velocity_unit_cm_per_s(std::string_view text) { return unit_of(text, dimension::velocity); }

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

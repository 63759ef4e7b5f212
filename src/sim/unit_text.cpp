// Units and times as words, for pictures and tables.
#include "sim/unit_text.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "io/snapshot_formats.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace pergola {

namespace {

struct NamedUnit {
  const char* name;
  double size;
};

constexpr double astronomical_unit_cm = 1.495978707e13;  // IAU 2012 resolution B2
constexpr double kiloparsec_cm = kiloparsec_m * 1e2;
constexpr double sun_g = solar_mass_kg * 1e3;
constexpr double year_s = 365.25 * 86400;  // Julian

constexpr std::array<NamedUnit, 7> lengths{{{"cm", 1},
                                            {"m", 1e2},
                                            {"km", 1e5},
                                            {"AU", astronomical_unit_cm},
                                            {"pc", 1e-3 * kiloparsec_cm},
                                            {"kpc", kiloparsec_cm},
                                            {"Mpc", megaparsec_cm}}};
constexpr std::array<NamedUnit, 4> masses{{{"g", 1}, {"kg", 1e3}, {"Msun", sun_g}, {"10^{10} Msun", 1e10 * sun_g}}};
constexpr std::array<NamedUnit, 6> times{
    {{"s", 1}, {"day", 86400}, {"yr", year_s}, {"kyr", 1e3 * year_s}, {"Myr", 1e6 * year_s}, {"Gyr", 1e9 * year_s}}};

constexpr std::array<NamedUnit, 4> velocities{
    {{"cm/s", 1}, {"m/s", 1e2}, {"km/s", 1e5}, {"AU/yr", astronomical_unit_cm / year_s}}};

/// The name of a unit of this size, or its size in the first one. Files round their units: GADGET's kpc has 7 digits,
/// its solar mass 4.
template <std::size_t count>
std::string name_of(double size, const std::array<NamedUnit, count>& units) {
  for (const NamedUnit& unit : units)
    if (std::abs(size / unit.size - 1) < 2e-3) return unit.name;
  return fmt::format("{:.4g} {}", size, units[0].name);
}

/// N-body units are a scale of their own, which files express as 1.
bool stated(const SnapshotHeader& header) {
  const auto& u = header.units;
  return states_units(u) && u->length_cm > 0 && u->mass_g > 0 && u->velocity_cm_per_s > 0;
}

struct StatedUnits {
  std::optional<UnitSystem> units;  // none: those of a plasma, which are known by their words
  std::string text;
};

StatedUnits units_in(const std::string& file) {
  if (is_openpmd(file)) {
    const OpenPmdSummary summary = inspect_openpmd(file);
    return {std::nullopt, fmt::format("{}, {}", summary.length_unit, summary.time_unit)};
  }
  const SnapshotHeader header = inspect_snapshot(file).header;
  if (!stated(header)) return {nbody_units(), "none"};
  const AnalysisUnits words = plain_units(header);
  return {custom_units(header.units->length_cm, header.units->mass_g, header.units->velocity_cm_per_s),
          fmt::format("{}, {}, {}", words.length, words.mass, words.velocity)};
}

}  // namespace

bool has_universe(const SnapshotHeader& header) { return header.omega0.value_or(0) > 0; }

UnitTexts unit_texts(const SnapshotHeader& header) {
  if (!stated(header)) return {};
  const std::string little_h = has_universe(header) ? "/h" : "",
                    length = name_of(header.units->length_cm, lengths) + little_h;
  std::string mass = name_of(header.units->mass_g, masses) + little_h;
  if (const auto sun = mass.find("Msun"); sun != std::string::npos) mass.replace(sun, 4, "M_{☉}");
  return {length,
          has_universe(header) ? fmt::format("{}/({})^{{2}}", mass, length) : fmt::format("{}/{}^{{2}}", mass, length)};
}

AnalysisUnits plain_units(const SnapshotHeader& header) {
  if (!stated(header)) return {};
  const std::string little_h = has_universe(header) ? "/h" : "";
  const std::string length = name_of(header.units->length_cm, lengths),
                    velocity = name_of(header.units->velocity_cm_per_s, velocities);
  std::string mass = name_of(header.units->mass_g, masses);
  if (mass.starts_with("10^{10}")) mass.replace(0, 7, "1e10");
  std::string time = has_universe(header) ? "" : fmt::format("{}/({})", length, velocity);
  if (velocity.starts_with(length + "/")) time = velocity.substr(length.size() + 1);
  return {length + little_h, mass + little_h, velocity, time};
}

std::string drawn_unit(std::string unit) {
  for (const auto& [word, mark] : {std::pair<std::string_view, std::string_view>{"1e10", "10^{10}"},
                                   {"Debye length", "λ_{D}"},
                                   {"lambda_D", "λ_{D}"},
                                   {"omega_p", "ω_{p}"},
                                   {"m_e", "m_{e}"},
                                   {"n_0", "n_{0}"}})
    for (auto at = unit.find(word); at != std::string::npos; at = unit.find(word, at + mark.size()))
      unit.replace(at, word.size(), mark);
  std::string text;
  for (std::size_t k = 0; k < unit.size(); ++k)
    if (unit[k] == '^' && k + 1 < unit.size() && unit[k + 1] != '{')
      text += fmt::format("^{{{}}}", unit[++k]);
    else
      text += unit[k];
  return text;
}

ShownTimeUnit shown_time_unit(const SnapshotHeader& header, double longest) {
  if (!stated(header)) return {};
  const double in_seconds = header.units->length_cm / header.units->velocity_cm_per_s;
  const double size = std::abs(longest) * in_seconds;
  NamedUnit best = size == 0 ? times[2] : times[0];
  for (const NamedUnit& unit : times)
    if (size >= unit.size) best = unit;
  return {best.name, in_seconds / best.size};
}

std::string time_text(const SnapshotHeader& header, double longest) {
  if (has_universe(header)) return fmt::format("z = {:.3g}", header.redshift);
  const auto [name, factor] = shown_time_unit(header, longest > 0 ? longest : header.time);
  std::string number = fmt::format("{:.{}g}", header.time * factor, name.empty() ? 6 : 4);
  if (longest > 0) {
    const int before_point = static_cast<int>(std::floor(std::log10(longest * factor))) + 1;
    number = fmt::format("{:.{}f}", header.time * factor, std::clamp(3 - before_point, 0, 9));
  }
  return fmt::format("t = {}{}{}", number, name.empty() ? "" : " ", name);
}

std::string time_text(const OpenPmdSummary& summary) {
  const std::string unit = drawn_unit(summary.time_unit);
  const std::string after = unit.starts_with("1/") ? unit.substr(1) : unit.empty() ? "" : " " + unit;
  return fmt::format("t = {:.6g}{}", summary.time, after);
}

void require_same_units(const std::vector<std::string>& files) {
  if (files.size() < 2) return;
  const StatedUnits first = units_in(files[0]);
  for (const std::string& file : files) {
    const StatedUnits own = units_in(file);
    if (first.units && own.units ? !same_units(*first.units, *own.units) : first.text != own.text)
      throw Error(ErrorKind::input,
                  fmt::format("{}: expected the units of {}, {}, found {}", file, files[0], first.text, own.text));
  }
}

}  // namespace pergola

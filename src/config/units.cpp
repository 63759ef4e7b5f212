// [units]: named systems and custom units; and the units that a file of particles states.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "config/file_units.hpp"
#include "config/keys.hpp"
#include "config/kind.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_formats.hpp"

// units.system names the meaning of all numbers of a run. "auto" takes the units that a file of particles states, else
// N-body units (G = 1). "custom" is given by length, mass, and velocity or time, in cgs or in SI; stored are cgs.
// Units fix the gravitational constant; particles are not converted, so files and keys must have the same units.
namespace pergola {

namespace {

using Number = double RunConfig::Units::*;

/// A number that a file gives in cgs and in SI: which of the two holds? One from --set replaces that of the file.
ConfigKey once(ConfigKey key, const std::string& other, Number number) {
  key.read = [path = key.path, other, number, read = key.read](RunConfig& config, const ConfigValue& value) {
    if (config.units.*number > 0 && value.source != "--set")
      throw Error(ErrorKind::input,
                  fmt::format("{}: {}: expected it or units.{}, found both", value.where(), path, other));
    read(config, value);
  };
  return key;
}

/// One of the numbers of custom units, in cgs. 0: not given.
ConfigKey number_key(const std::string& name, const std::string& help, Number number) {
  return real_key(
      "units." + name, "custom: " + help, Range::at_least(0), [number](auto& c) -> auto& { return c.units.*number; });
}

/// The same number in SI; shown in cgs.
ConfigKey si_key(const std::string& name, Number number, double in_cgs) {
  const std::string path = "units." + name;
  return {path, "",
          [=](RunConfig& config, const ConfigValue& value) {
            config.units.*number = in_cgs * read_real(value, path, Range::above(0));
          },
          nullptr};
}

/// What else the word could have meant: a system that another kind of run has.
KeyProblem unknown_system(const KindEntry& kind, const std::string* word) {
  KeyProblem problem = one_of(kind.unit_systems());
  if (!kind.table.empty())
    problem.expected = fmt::format("{} for a run with [{}]", fmt::join(kind.unit_systems(), " or "), kind.table);
  for (const KindEntry& other : kind_entries()) {
    const auto words = other.unit_systems();
    if (!other.table.empty() && word && std::find(words.begin(), words.end(), *word) != words.end())
      problem.expected += fmt::format(" for a run without [{}]", other.table);
  }
  return problem;
}

UnitSystem units_of(const FileUnits& units) {
  return custom_units(units.length_cm, units.mass_g, units.velocity_cm_per_s);
}

/// The configuration's table for the units of a file: a named system if they are one, else custom units.
RunConfig::Units table_of(const FileUnits& stated) {
  for (const auto& system : unit_systems())
    if (same_units(units_of(stated), system)) return {.system = system.name};
  return {"custom", stated.length_cm, stated.mass_g, stated.velocity_cm_per_s, 0};
}

/// Both systems of a conflict are shown in cgs.
std::string text_of(const UnitSystem& units) {
  return fmt::format("{:.7g} cm, {:.7g} g, {:.7g} cm/s", units.length_cm, units.mass_g, units.velocity_cm_per_s);
}

}  // namespace

/// Numbers in SI are read and stored in cgs; config_text() shows them in cgs.
std::vector<ConfigKey> units_keys() {
  std::string help = "auto (the file's, else nbody)";
  for (const auto& system : unit_systems())
    help += fmt::format(" | {} ({})", system.name, unit_system_help(system.name));
  help += " | custom; with [plasma]: plasma (1/omega_p) | si";
  ConfigKey system{"units.system", help,
                   [](RunConfig& config, const ConfigValue& value) {
                     const KindEntry& kind = kind_of(config);
                     const auto words = kind.unit_systems();
                     const auto* word = value.get_if<std::string>();
                     if (!word || std::find(words.begin(), words.end(), *word) == words.end())
                       refuse(value, "units.system", unknown_system(kind, word));
                     config.units.system = *word;
                   },
                   [](const RunConfig& config) { return toml_string(config.units.system); }};
  const Number length = &RunConfig::Units::length_cm, mass = &RunConfig::Units::mass_g,
               velocity = &RunConfig::Units::velocity_cm_per_s;
  return {system,
          once(number_key("length_cm", "the unit of length; also length_m", length), "length_m", length),
          once(number_key("mass_g", "the unit of mass; also mass_kg", mass), "mass_kg", mass),
          once(number_key("velocity_cm_per_s", "the unit of velocity; also velocity_m_per_s, or", velocity),
               "velocity_m_per_s", velocity),
          number_key("time_s", "the unit of time", &RunConfig::Units::time_s),
          once(si_key("length_m", length, 1e2), "length_cm", length),
          once(si_key("mass_kg", mass, 1e3), "mass_g", mass),
          once(si_key("velocity_m_per_s", velocity, 1e2), "velocity_cm_per_s", velocity)};
}

/// Custom units need a length, a mass, and one of velocity and time. Other systems take no numbers.
std::optional<Conflict> units_conflict(const RunConfig::Units& units) {
  const std::pair<const char*, double> numbers[] = {{"units.length_cm", units.length_cm},
                                                    {"units.mass_g", units.mass_g},
                                                    {"units.velocity_cm_per_s", units.velocity_cm_per_s},
                                                    {"units.time_s", units.time_s}};
  if (units.system != "custom") {
    for (const auto& [key, value] : numbers)
      if (value > 0)
        return Conflict{key, fmt::format("expected units.system = \"custom\" beside it, found \"{}\"", units.system)};
    return std::nullopt;
  }
  for (const auto& [key, value] : {numbers[0], numbers[1]})
    if (!(value > 0)) return Conflict{key, "expected a number > 0 for units.system = \"custom\", found none"};
  if ((units.velocity_cm_per_s > 0) == (units.time_s > 0))
    return Conflict{"units.velocity_cm_per_s",
                    fmt::format("expected one of units.velocity_cm_per_s and units.time_s, found {}",
                                units.time_s > 0 ? "both" : "none")};
  return std::nullopt;
}

/// Names that are no system of units (auto, plasma) count as N-body units.
UnitSystem RunConfig::unit_system() const {
  if (units.system == "custom")
    return custom_units(units.length_cm, units.mass_g,
                        units.time_s > 0 ? units.length_cm / units.time_s : units.velocity_cm_per_s);
  const UnitSystem* found = find_unit_system(units.system);
  return found ? *found : nbody_units();
}

/// Units of a file that match a named system get its name, others become custom units.
void take_file_units(RunConfig& config, const std::string& file, const std::optional<FileUnits>& stated) {
  if (!states_units(stated)) return;
  const UnitSystem of_file = units_of(*stated);
  if (config.units.system != "auto") {
    const UnitSystem given = config.unit_system();
    if (same_units(of_file, given)) return;
    throw Error(
        ErrorKind::input,
        fmt::format("{}: units.system: expected the units of {}, {}, found \"{}\", {}; leave units.system out to "
                    "take those of the file",
                    config.source, file, text_of(of_file), config.units.system, text_of(given)));
  }
  config.units = table_of(*stated);
}

std::vector<std::string> files_without_units(const RunConfig& config) {
  std::vector<std::string> files;
  if (config.units.system != "auto") return files;
  for (const auto& part : config.particles.all())
    if (!part.file.empty()) files.push_back(part.file);
  return files;
}

std::string assumed_units_text(const std::string& file) {
  return fmt::format(
      "{}: states no units: taken as N-body units, in which G = 1; [units] system = \"gadget\", for example, states "
      "others",
      file);
}

std::string lost_text(const std::vector<std::string>& lost, const SnapshotHeader& header) {
  if (lost.empty()) return "";
  std::string text = fmt::format("not carried over: {}", fmt::join(lost, ", "));
  if (std::find(lost.begin(), lost.end(), "units") == lost.end()) return text;
  const RunConfig::Units table = table_of(*header.units);
  text += fmt::format("; a run of the file needs [units] system = \"{}\"", table.system);
  if (table.system != "custom") return text;
  return text + fmt::format(", length_cm = {}, mass_g = {}, velocity_cm_per_s = {}", to_text(table.length_cm),
                            to_text(table.mass_g), to_text(table.velocity_cm_per_s));
}

/// Looks at all files of particles: they must agree with each other and with units.system.
RunConfig with_file_units(RunConfig config) {
  const bool open = config.units.system == "auto";
  std::string taken_from;
  for (const auto& part : config.particles.all()) {
    if (part.file.empty()) continue;
    std::optional<FileUnits> stated;
    try {
      stated = inspect_snapshot(part.file).header.units;
    } catch (const Error&) {
      continue;  // the reader of the particles reports what is wrong with the file
    }
    if (!taken_from.empty() && states_units(stated) && !same_units(units_of(*stated), config.unit_system()))
      throw Error(
          ErrorKind::input,
          fmt::format("{}: particles.parts: expected files in the same units, found {}, {}, and {}, {}", config.source,
                      taken_from, text_of(config.unit_system()), part.file, text_of(units_of(*stated))));
    take_file_units(config, part.file, stated);
    if (open && config.units.system != "auto") taken_from = part.file;
  }
  return config;
}

}  // namespace pergola

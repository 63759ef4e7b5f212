// [plasma] and [[plasma.species]]: how they are read, checked and written.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "config/keys.hpp"
#include "plasma/field.hpp"

// Values stay in the units of the file: lengths in cells, Debye lengths or metres, times in 1/ω_p or seconds, charges
// in e and masses in m_e. PlasmaConfig::options() and load() convert them (plasma_config.cpp). Each inline table has a
// list of readers by name, so that an unknown name is refused with the nearest one.
// Checks here look at one value or one table; Completion in plasma_config.cpp looks at several keys.
namespace pergola {

namespace {

const std::string species_array = "plasma.species";

/// Numbers in an array of `fewest` to `most`; those that are not given are 0.
Vec3<double> read_vector(const ConfigValue& value, const std::string& path, std::size_t fewest, std::size_t most,
                         const Range& range, const std::string& expected) {
  const auto* array = value.get_if<ConfigValue::Array>();
  if (!array || array->size() < fewest || array->size() > most) refuse(value, path, expected);
  Vec3<double> v{0, 0, 0};
  v.x = read_real((*array)[0], path, range);
  v.y = read_real((*array)[1], path, range);
  if (array->size() > 2) v.z = read_real((*array)[2], path, range);
  return v;
}

std::string vector_text(const Vec3<double>& v) {
  return fmt::format("[{}, {}, {}]", to_text(v.x), to_text(v.y), to_text(v.z));
}

template <class Enum, std::size_t count>
Enum read_choice(const ConfigValue& value, const std::string& path, const std::array<std::string_view, count>& names) {
  const std::vector<std::string> words(names.begin(), names.end());
  const std::string word = read_word(value, path, words);
  return static_cast<Enum>(std::find(words.begin(), words.end(), word) - words.begin());
}

/// The entries of an inline table, each by the reader of its name.
using Readers = std::vector<std::pair<std::string, std::function<void(const ConfigValue&, const std::string&)>>>;

/// Calls the reader of each name in the table.
void read_table(const ConfigValue& value, const std::string& path, const std::string& example, const Readers& readers) {
  const auto* table = value.get_if<ConfigValue::Table>();
  if (!table) refuse(value, path, "a table such as " + example);
  std::vector<std::string> names;
  for (const auto& [name, read] : readers) names.push_back(name);
  for (const auto& [name, entry] : *table) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      const std::string near = nearest_name(name, names);
      throw Error(ErrorKind::input,
                  fmt::format("{}: {}.{}: unknown key, expected one of {}{}", entry.where(), path, name,
                              fmt::join(names, ", "), near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    readers[static_cast<std::size_t>(found - names.begin())].second(entry, path + "." + name);
  }
}

/// Throws Error(input) if a table lacks a name.
void require(const ConfigValue& table, const std::string& path, const std::string& name, const std::string& expected) {
  const auto* entries = table.get_if<ConfigValue::Table>();
  if (!entries || !find_in(*entries, name))
    throw Error(ErrorKind::input,
                fmt::format("{}: {}.{}: expected {}, found none", table.where(), path, name, expected));
}

/// A density that varies along one axis; which parameters are required depends on its kind.
PlasmaProfile read_profile(const ConfigValue& value, const std::string& path) {
  using Kind = PlasmaProfile::Kind;
  PlasmaProfile profile;
  const auto real = [](double& to, const Range& range) {
    return [&to, range](const ConfigValue& v, const std::string& p) { to = read_real(v, p, range); };
  };
  Readers readers{
      {"kind", [&](const auto& v, const auto& p) { profile.kind = read_choice<Kind>(v, p, plasma_profile_names); }},
      {"axis",
       [&](const auto& v, const auto& p) {
         profile.axis = static_cast<int>(read_word(v, p, {"x", "y", "z"})[0] - 'x');
       }},
      {"centre", real(profile.centre, Range{})},
      {"width", real(profile.width, Range::above(0))},
      {"floor", real(profile.floor, Range::between(0, 1))},
      {"amplitude", real(profile.amplitude, Range::between(-1, 1))},
      {"mode", [&](const auto& v, const auto& p) {
         profile.mode = static_cast<int>(read_integer(v, p, Range::between(1, 1 << 14)));
       }}};
  read_table(value, path, "{ kind = \"gaussian\", axis = \"x\", centre = 32, width = 8 }", readers);
  const bool round = profile.kind == Kind::slab || profile.kind == Kind::gaussian;
  if (round) require(value, path, "centre", "a number");
  if (round) require(value, path, "width", "a number > 0");
  if (profile.kind == Kind::sine) require(value, path, "amplitude", "a number from -1 to 1");
  return profile;
}

/// Only the parameters that this kind of profile uses.
std::string profile_text(const PlasmaProfile& profile) {
  using Kind = PlasmaProfile::Kind;
  std::string text = fmt::format("{{ kind = \"{}\"", plasma_profile_names[static_cast<std::size_t>(profile.kind)]);
  if (profile.kind != Kind::uniform) text += fmt::format(", axis = \"{}\"", "xyz"[profile.axis]);
  if (profile.kind == Kind::slab || profile.kind == Kind::gaussian)
    text += fmt::format(", centre = {}, width = {}, floor = {}", to_text(profile.centre), to_text(profile.width),
                        to_text(profile.floor));
  if (profile.kind == Kind::sine)
    text += fmt::format(", amplitude = {}, mode = {}", to_text(profile.amplitude), profile.mode);
  return text + " }";
}

/// Wavelengths in the box: two or three whole numbers, not all 0.
std::array<int, 3> read_mode(const ConfigValue& value, const std::string& path) {
  std::array<int, 3> mode{0, 0, 0};
  const auto* array = value.get_if<ConfigValue::Array>();
  if (!array || array->size() < 2 || array->size() > 3) refuse(value, path, "whole numbers such as [1, 0]");
  for (std::size_t a = 0; a < array->size(); ++a)
    mode[a] = static_cast<int>(read_integer((*array)[a], path, Range::between(-16384, 16384)));
  if (mode == std::array<int, 3>{0, 0, 0})
    throw Error(ErrorKind::input, fmt::format("{}: {}: expected a number other than 0 in it", value.where(), path));
  return mode;
}

/// A wave in the density or the velocity of a species at the start. A density must stay positive.
PlasmaPerturbation read_perturbation(const ConfigValue& value, const std::string& path) {
  PlasmaPerturbation wave;
  Readers readers{{"kind",
                   [&](const auto& v, const auto& p) {
                     wave.kind = read_choice<PlasmaPerturbation::Kind>(v, p, plasma_perturbation_names);
                   }},
                  {"mode", [&](const auto& v, const auto& p) { wave.mode = read_mode(v, p); }},
                  {"amplitude", [&](const auto& v, const auto& p) { wave.amplitude = read_real(v, p, Range{}); }},
                  {"phase", [&](const auto& v, const auto& p) { wave.phase = read_real(v, p, Range{}); }}};
  read_table(value, path, "{ mode = [1, 0], amplitude = 0.01 }", readers);
  require(value, path, "mode", "whole numbers such as [1, 0]");
  require(value, path, "amplitude", "a number");
  if (wave.kind == PlasmaPerturbation::Kind::density && std::abs(wave.amplitude) >= 1)
    throw Error(ErrorKind::input,
                fmt::format("{}: {}.amplitude: expected a number between -1 and 1 for a wave of the density, found {}",
                            value.where(), path, to_text(wave.amplitude)));
  return wave;
}

ConfigKey wave_mode_key() {
  const std::string path = "plasma.wave.mode";
  return {path, "the wave that is fitted: wavelengths in the box along each axis; not given: none",
          [=](RunConfig& config, const ConfigValue& value) { config.plasma.wave.mode = read_mode(value, path); },
          [](const RunConfig& config) {
            const PlasmaWave& wave = config.plasma.wave;
            return wave.asked_for() ? fmt::format("[{}]", fmt::join(wave.mode, ", ")) : "";
          }};
}

std::string perturbation_text(const PlasmaPerturbation& wave) {
  return fmt::format("{{ kind = \"{}\", mode = [{}, {}, {}], amplitude = {}, phase = {} }}",
                     plasma_perturbation_names[static_cast<std::size_t>(wave.kind)], wave.mode[0], wave.mode[1],
                     wave.mode[2], to_text(wave.amplitude), to_text(wave.phase));
}

/// One number for all directions, or one for each.
void read_temperature(const ConfigValue& value, const std::string& path, PlasmaSpeciesConfig::Scale scale,
                      PlasmaSpeciesConfig& species) {
  const Range range = Range::above(0);
  if (species.temperature.x > 0)
    throw Error(ErrorKind::input, fmt::format("{}: {}: the species has a temperature already", value.where(), path));
  species.temperature_scale = scale;
  if (value.get_if<ConfigValue::Array>()) {
    species.temperature = read_vector(value, path, 2, 3, range, "a number > 0, or one per direction such as [1, 1, 2]");
    if (value.get_if<ConfigValue::Array>()->size() == 2) species.temperature.z = species.temperature.y;
    return;
  }
  const auto* integer = value.get_if<std::int64_t>();
  const auto* real = value.get_if<double>();
  if ((integer && *integer == 0) || (real && *real == 0))
    refuse(value, path, range.text(), "; particles without thermal motion have cold = true in its place");
  const double all = read_real(value, path, range);
  species.temperature = {all, all, all};
}

/// A charge in e or a mass in m_e. No particle has one this small: it is in coulombs or kilograms.
double read_in_electrons(const ConfigValue& value, const std::string& path, const Range& range, const char* unit,
                         double electron, const char* si_unit) {
  constexpr double least = 1e-15;
  const std::string expected = fmt::format("{} in units of {}", range.text(), unit);
  if (value.get_if<std::string>()) refuse(value, path, expected);
  const double number = read_real(value, path, range);
  if (number != 0 && std::abs(number) < least)
    refuse(value, path, expected,
           fmt::format("; {} {} are {:.6g} {}", to_text(number), si_unit, number / electron, unit));
  return number;
}

constexpr std::array<std::string_view, 3> temperature_keys{"temperature", "temperature_ev", "temperature_kelvin"};

/// Names become parts of openPMD paths and of column names, so only plain characters are allowed. Temperatures are
/// given in one of three units; cold particles have none.
PlasmaSpeciesConfig read_species(const ConfigValue& value, const std::string& path) {
  using Scale = PlasmaSpeciesConfig::Scale;
  PlasmaSpeciesConfig species;
  species.where = value.where();
  Readers readers{
      {"name",
       [&](const auto& v, const auto& p) {
         const auto* word = v.template get_if<std::string>();
         const bool plain = word && !word->empty() &&
                            word->find_first_not_of(
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS"
                                "TUVWXYZ0123456789_-") == std::string::npos;
         if (!plain) refuse(v, p, "a name of letters, digits, - and _");
         species.name = *word;
       }},
      {"charge",
       [&](const auto& v, const auto& p) {
         species.charge = read_in_electrons(v, p, Range{}, "e", elementary_charge_c, "C");
       }},
      {"mass",
       [&](const auto& v, const auto& p) {
         species.mass = read_in_electrons(v, p, Range::above(0), "m_e", electron_mass_kg, "kg");
       }},
      {"density", [&](const auto& v, const auto& p) { species.density = read_real(v, p, Range::above(0)); }},
      {"particles_per_cell",
       [&](const auto& v, const auto& p) { species.particles_per_cell = read_integer(v, p, Range::between(1, 1e12)); }},
      {"temperature", [&](const auto& v, const auto& p) { read_temperature(v, p, Scale::own, species); }},
      {"temperature_ev", [&](const auto& v, const auto& p) { read_temperature(v, p, Scale::electron_volt, species); }},
      {"temperature_kelvin", [&](const auto& v, const auto& p) { read_temperature(v, p, Scale::kelvin, species); }},
      {"cold",
       [&](const auto& v, const auto& p) {
         const auto* flag = v.template get_if<bool>();
         if (!flag) refuse(v, p, "true or false");
         species.cold = *flag;
       }},
      {"drift",
       [&](const auto& v, const auto& p) {
         species.drift = read_vector(v, p, 2, 3, Range{}, "a velocity such as [1, 0, 0]");
       }},
      {"start",
       [&](const auto& v, const auto& p) {
         species.start = read_word(v, p, {"quiet", "random"});
       }},
      {"profile", [&](const auto& v, const auto& p) { species.profile = read_profile(v, p); }},
      {"perturbation", [&](const auto& v, const auto& p) { species.perturbation = read_perturbation(v, p); }}};
  read_table(value, path, "{ name = \"electrons\", charge = -1, mass = 1, temperature = 1, particles_per_cell = 100 }",
             readers);
  require(value, path, "name", "a name such as \"electrons\"");
  require(value, path, "charge", "a number in units of e, and mass in units of m_e");
  require(value, path, "mass", "a number > 0 in units of m_e");
  require(value, path, "particles_per_cell", "an integer >= 1");
  if (species.cold && species.temperature.x > 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: {}.cold: expected a temperature or cold = true, found both", value.where(), path));
  if (!species.cold) {
    const bool hot = species.temperature.x > 0;
    if (!hot) require(value, path, "temperature", "a number > 0 (or cold = true for particles without thermal motion)");
  }
  return species;
}

/// Replaces all species. Names must differ, because files and --set use them.
void read_all_species(RunConfig& config, const ConfigValue& value) {
  const auto* array = value.get_if<ConfigValue::Array>();
  if (!array || array->empty()) refuse(value, species_array, "an array of tables, each under [[plasma.species]]");
  config.plasma.species.clear();
  for (std::size_t k = 0; k < array->size(); ++k) {
    config.plasma.species.push_back(read_species((*array)[k], fmt::format("{}[{}]", species_array, k)));
    for (std::size_t other = 0; other < k; ++other)
      if (config.plasma.species[other].name == config.plasma.species[k].name)
        throw Error(ErrorKind::input,
                    fmt::format("{}: {}[{}].name: \"{}\" is the name of another species", (*array)[k].where(),
                                species_array, k, config.plasma.species[k].name));
  }
}

/// With all defaults, in the unit of temperature that the file has used.
std::string species_text(const PlasmaSpeciesConfig& species) {
  std::string text = fmt::format("{{ name = {}, charge = {}, mass = {}, density = {}, particles_per_cell = {}",
                                 toml_string(species.name), to_text(species.charge), to_text(species.mass),
                                 to_text(species.density), species.particles_per_cell);
  if (species.cold)
    text += ", cold = true";
  else
    text += fmt::format(", {} = {}", temperature_keys[static_cast<std::size_t>(species.temperature_scale)],
                        vector_text(species.temperature));
  text += fmt::format(", drift = {}, start = \"{}\", profile = {}", vector_text(species.drift), species.start,
                      profile_text(species.profile));
  if (species.perturbation.mode != std::array<int, 3>{0, 0, 0})
    text += ", perturbation = " + perturbation_text(species.perturbation);
  return text + " }";
}

std::string all_species_text(const RunConfig& config) {
  std::vector<std::string> parts;
  for (const auto& species : config.plasma.species) parts.push_back(species_text(species));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

/// The dimension of what a species has; its profile is a table in it.
Dimension species_dimension(const std::string& name) {
  if (name == "density") return {-3, 0, 0};
  if (name == "drift") return dimension::velocity;
  return name == "profile.centre" || name == "profile.width" ? dimension::length : dimension::none;
}

/// The number of cells along each axis also decides between two and three dimensions.
ConfigKey plasma_cells_key() {
  const std::string path = "plasma.cells";
  return {path, "[x, y]: two dimensions, [x, y, z]: three; even numbers",
          [=](RunConfig& config, const ConfigValue& value) {
            const std::string expected = "two or three even numbers from 2 to 32768 such as [64, 64]";
            const auto* array = value.get_if<ConfigValue::Array>();
            if (!array || array->size() < 2 || array->size() > 3) refuse(value, path, expected);
            config.plasma.cells.clear();
            for (const auto& entry : *array) {
              const auto* number = entry.get_if<std::int64_t>();
              if (!number || *number < 2 || *number > 32768 || *number % 2 != 0) refuse(entry, path, expected);
              config.plasma.cells.push_back(static_cast<int>(*number));
            }
          },
          [](const RunConfig& config) { return fmt::format("[{}]", fmt::join(config.plasma.cells, ", ")); }};
}

/// B is the same everywhere and at all times.
ConfigKey magnetic_field_key() {
  const std::string path = "plasma.magnetic_field";
  return {path, "uniform, in m_e omega_p/e, or tesla in SI",
          [=](RunConfig& config, const ConfigValue& value) {
            config.plasma.magnetic_field = read_vector(value, path, 3, 3, Range{}, "three numbers such as [0, 0, 1]");
          },
          [](const RunConfig& config) { return vector_text(config.plasma.magnetic_field); }};
}

/// What light meets at the ends of each axis.
ConfigKey edges_key() {
  const std::string path = "plasma.edges";
  return {path, "of each axis, for light: periodic | conducting | absorbing; not given: periodic",
          [=](RunConfig& config, const ConfigValue& value) {
            const auto* array = value.get_if<ConfigValue::Array>();
            if (!array || array->size() > 3) refuse(value, path, "words such as [\"absorbing\", \"periodic\"]");
            config.plasma.edges.clear();
            for (const auto& entry : *array)
              config.plasma.edges.push_back(read_choice<PlasmaEdge>(entry, path, plasma_edge_names));
          },
          [](const RunConfig& config) {
            std::vector<std::string> words;
            for (const PlasmaEdge edge : config.plasma.edges)
              words.push_back(fmt::format("\"{}\"", plasma_edge_names[static_cast<std::size_t>(edge)]));
            return fmt::format("[{}]", fmt::join(words, ", "));
          }};
}

/// The numbers of a laser, by name.
struct LaserNumber {
  const char* name;
  double PlasmaLaser::*value;
  Range range;
  Dimension dimension;
};
const std::vector<LaserNumber>& laser_numbers() {
  static const std::vector<LaserNumber> all{
      {"amplitude", &PlasmaLaser::amplitude, Range::above(0), dimension::none},
      {"wavelength", &PlasmaLaser::wavelength, Range::above(0), dimension::length},
      {"waist", &PlasmaLaser::waist, Range::at_least(0), dimension::length},
      {"focus", &PlasmaLaser::focus, Range{}, dimension::length},
      {"duration", &PlasmaLaser::duration, Range::above(0), dimension::time},
      {"delay", &PlasmaLaser::delay, Range{}, dimension::time},
      {"angle", &PlasmaLaser::angle, Range::between(-1.5, 1.5), dimension::none},
      {"polarisation", &PlasmaLaser::polarisation, Range{}, dimension::none},
      {"x", &PlasmaLaser::x, Range{}, dimension::length},
      {"y", &PlasmaLaser::y, Range{}, dimension::length},
      {"z", &PlasmaLaser::z, Range{}, dimension::length}};
  return all;
}

/// [[plasma.lasers]]: replaces all.
ConfigKey lasers_key() {
  const std::string path = "plasma.lasers";
  const auto read = [=](RunConfig& config, const ConfigValue& value) {
    const auto* array = value.get_if<ConfigValue::Array>();
    if (!array) refuse(value, path, "an array of tables, each under [[plasma.lasers]]");
    config.plasma.lasers.clear();
    for (std::size_t k = 0; k < array->size(); ++k) {
      PlasmaLaser& laser = config.plasma.lasers.emplace_back();
      const std::string place = fmt::format("{}[{}]", path, k);
      Readers readers;
      for (const LaserNumber& number : laser_numbers())
        readers.emplace_back(number.name, [&laser, &number](const auto& v, const auto& p) {
          laser.*number.value = read_real(v, p, number.range);
        });
      read_table((*array)[k], place, "{ amplitude = 1, wavelength = 20, duration = 40, x = 30 }", readers);
      for (const char* name : {"amplitude", "wavelength", "duration", "x"})
        require((*array)[k], place, name, "a number");
    }
  };
  const auto text = [](const RunConfig& config) {
    std::vector<std::string> tables;
    for (const PlasmaLaser& laser : config.plasma.lasers) {
      std::vector<std::string> parts;
      for (const LaserNumber& number : laser_numbers())
        parts.push_back(fmt::format("{} = {}", number.name, to_text(laser.*number.value)));
      tables.push_back(fmt::format("{{ {} }}", fmt::join(parts, ", ")));
    }
    return fmt::format("[{}]", fmt::join(tables, ", "));
  };
  return {path,
          "pulses of light, each also as a table [[plasma.lasers]]",
          read,
          text,
          dimension::none,
          [](const std::string& name) {
            for (const LaserNumber& number : laser_numbers())
              if (name == number.name) return number.dimension;
            return Dimension(dimension::none);
          }};
}

/// What users of other programs look for. A key, so that also a table of this name is found.
ConfigKey absent_key(const std::string& path) {
  return {path, "",
          [=](RunConfig&, const ConfigValue& value) {
            throw Error(ErrorKind::input,
                        fmt::format("{}: {}: not there; see plasma.md, What it does not do", value.where(), path));
          },
          nullptr};
}

}  // namespace

/// [plasma], [[plasma.species]] and [plasma.wave].
std::vector<ConfigKey> plasma_keys() {
  return {
      absent_key("plasma.boundary"),
      absent_key("plasma.collisions"),
      absent_key("plasma.electric_field"),
      absent_key("plasma.injection"),
      absent_key("plasma.walls"),
      choice_key<PlasmaLengths>(
          "plasma.lengths", "cells | debye | si (with units.system = \"si\")", plasma_length_names,
          [](auto& c) -> auto& { return c.plasma.lengths; }),
      plasma_cells_key(),
      with_dimension(real_key(
                         "plasma.cell_size", "side of a cell; 1 with lengths in cells", Range::above(0),
                         [](auto& c) -> auto& { return c.plasma.cell_size; }),
                     dimension::length),
      integer_key(
          "plasma.velocities", "components of the velocity that are kept: 2 or 3 in two dimensions",
          Range::between(2, 3), [](auto& c) -> auto& { return c.plasma.velocities; }),
      word_key(
          "plasma.field", fmt::format("{}", fmt::join(plasma_field_names(), " | ")), plasma_field_names(),
          [](auto& c) -> auto& { return c.plasma.field; }),
      with_dimension(real_key(
                         "plasma.light_speed", "of an electromagnetic field; in SI 299792458", Range::at_least(0),
                         [](auto& c) -> auto& { return c.plasma.light_speed; }),
                     dimension::velocity),
      choice_key<PlasmaPusher>(
          "plasma.pusher", "boris | higuera-cary: with light", plasma_pusher_names,
          [](auto& c) -> auto& { return c.plasma.pusher; }),
      edges_key(),
      integer_key(
          "plasma.absorbing_cells", "thickness of the absorbing layers", Range::between(1, 1000),
          [](auto& c) -> auto& { return c.plasma.absorbing_cells; }),
      lasers_key(),
      choice_key<PlasmaShape>(
          "plasma.shape", "linear | quadratic", plasma_shape_names, [](auto& c) -> auto& { return c.plasma.shape; }, 2),
      real_key(
          "plasma.smoothing", "a of the Gaussian particles exp(-(k a)^2/2); 0: none", Range::at_least(0),
          [](auto& c) -> auto& { return c.plasma.smoothing; }),
      magnetic_field_key(),
      flag_key(
          "plasma.background", "a uniform charge that makes the box neutral",
          [](auto& c) -> auto& { return c.plasma.background; }),
      integer_key(
          "plasma.seed", "of the random numbers", Range::at_least(0), [](auto& c) -> auto& { return c.plasma.seed; }),
      {species_array, "kinds of particles, each also as a table [[plasma.species]]", read_all_species, all_species_text,
       dimension::none, species_dimension},
      wave_mode_key(),
      with_dimension(real_key(
                         "plasma.wave.from", "the time that is fitted, and that field_energy is the mean over",
                         Range::at_least(0), [](auto& c) -> auto& { return c.plasma.wave.from; }),
                     dimension::time),
      with_dimension(real_key(
                         "plasma.wave.until", "0: to the end", Range::at_least(0),
                         [](auto& c) -> auto& { return c.plasma.wave.until; }),
                     dimension::time)};
}

/// Keys of [output] that only a plasma has.
std::vector<ConfigKey> plasma_output_keys() {
  return {integer_key(
      "output.spectrum_every", "steps between potentials taken for the spectrum; 0: none", Range::between(0, 1e9),
      [](auto& c) -> auto& { return c.output.spectrum_every; })};
}

}  // namespace pergola

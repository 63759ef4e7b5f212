// gravity.external, an array of tables: static potentials. Kinds and their parameters come from external_kinds().
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/keys.hpp"

// A potential is a table { kind, parameters, centre }. The kind decides which parameters exist; external_kinds() states
// their ranges and which of them are required. The centre is at the origin if none is given.
// Numbers are in the units of the run.
namespace pergola {

namespace {

const std::string external_path = "gravity.external";

/// Read first, because the other names depend on it.
const ExternalKindInfo& read_kind(const ConfigValue& where, const ConfigValue::Table& table, const std::string& path) {
  std::vector<std::string> names;
  for (const auto& known : external_kinds()) names.push_back(known.name);
  const ConfigValue* value = find_in(table, "kind");
  if (!value)
    throw Error(ErrorKind::input,
                fmt::format("{}: {}.kind: expected {}, found none", where.where(), path, fmt::join(names, ", ")));
  const std::string& word = read_word(*value, path + ".kind", names);
  return external_kinds()[static_cast<std::size_t>(std::find(names.begin(), names.end(), word) - names.begin())];
}

Vec3<double> read_centre(const ConfigValue& value, const std::string& path) {
  const auto* array = value.get_if<ConfigValue::Array>();
  if (!array || array->size() != 3) refuse(value, path, "three numbers such as [0, 0, 0]");
  const auto number = [&](std::size_t k) { return read_real((*array)[k], path, Range{}); };
  return {number(0), number(1), number(2)};
}

/// Unknown names are refused with the nearest one, as in all tables.
ExternalPotential read_potential(const ConfigValue& value, const std::string& path) {
  const auto* table = value.get_if<ConfigValue::Table>();
  if (!table) refuse(value, path, "a table such as { kind = \"plummer\", mass = 1, radius = 2 }");
  const ExternalKindInfo& kind = read_kind(value, *table, path);
  std::vector<std::string> names{"kind"};
  for (const auto& parameter : kind.parameters) names.push_back(parameter.name);
  names.push_back("centre");

  ExternalPotential potential;
  potential.kind = kind.kind;
  for (const auto& [name, entry] : *table) {
    if (std::count(names.begin(), names.end(), name) == 0) {
      const std::string near = nearest_name(name, names);
      throw Error(ErrorKind::input, fmt::format("{}: {}.{}: unknown key of {}, expected one of {}{}", entry.where(),
                                                path, name, kind.name, fmt::join(names, ", "),
                                                near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    if (name == "centre") potential.centre = read_centre(entry, path + ".centre");
    for (const auto& parameter : kind.parameters)
      if (parameter.name == name) potential.*parameter.member = read_real(entry, path + "." + name, parameter.range);
  }
  for (const auto& parameter : kind.parameters)
    if (parameter.required && !find_in(*table, parameter.name))
      throw Error(ErrorKind::input, fmt::format("{}: {}.{}: expected {}, found none", value.where(), path,
                                                parameter.name, parameter.range.text()));
  return potential;
}

void read_potentials(RunConfig& config, const ConfigValue& value) {
  const auto* array = value.get_if<ConfigValue::Array>();
  if (!array) refuse(value, external_path, "an array of tables, each under [[gravity.external]]");
  config.gravity.external.clear();
  for (std::size_t k = 0; k < array->size(); ++k)
    config.gravity.external.push_back(read_potential((*array)[k], fmt::format("{}[{}]", external_path, k)));
}

/// An inline table that reads back to the same potential.
std::string potential_text(const ExternalPotential& potential) {
  const ExternalKindInfo& kind = external_kind(potential.kind);
  std::string text = fmt::format("{{ kind = {}", toml_string(kind.name));
  for (const auto& parameter : kind.parameters)
    text += fmt::format(", {} = {}", parameter.name, to_text(potential.*parameter.member));
  const auto& c = potential.centre;
  return text + fmt::format(", centre = [{}, {}, {}] }}", to_text(c.x), to_text(c.y), to_text(c.z));
}

std::string potentials_text(const RunConfig& config) {
  std::vector<std::string> parts;
  for (const auto& potential : config.gravity.external) parts.push_back(potential_text(potential));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace

ConfigKey external_key() {
  const auto dimension_in = [](const std::string& name) {
    if (name == "centre") return dimension::length;
    for (const auto& kind : external_kinds())
      for (const auto& parameter : kind.parameters)
        if (parameter.name == name) return parameter.dimension;
    return dimension::none;
  };
  return {external_path,   "static potentials, each also as a table [[gravity.external]]",
          read_potentials, potentials_text,
          dimension::none, dimension_in};
}

}  // namespace pergola

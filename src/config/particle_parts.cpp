// Where particles come from: a model or a file, or two of them on an orbit about each other.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/keys.hpp"
#include "config/kind.hpp"
#include "config/value.hpp"

// [particles] names a model or a file. [[particles.parts]] names two of them instead, which [particles.orbit] puts on
// a Kepler orbit about each other, as `pergola merge` does. A model decides which options exist, so its name is read
// before them. Units: lengths of the run, angles in degrees.
namespace pergola {

namespace {

const std::string array_path = "particles.parts", orbit_path = "particles.orbit";

std::string model_value_text(const ModelValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return to_text(*number);
  return toml_string(std::get<std::string>(value));
}

/// Reads model or file first, then the options of the model; a file has none.
RunConfig::ParticlesPart read_part(const ConfigValue& value, const std::string& path) {
  const auto* table = value.get_if<ConfigValue::Table>();
  if (!table) refuse(value, path, "a table with model or file");
  const ConfigValue *model = find_in(*table, "model"), *file = find_in(*table, "file");
  if (!model == !file)
    throw Error(ErrorKind::input, fmt::format("{}: {}: expected one of model and file, found {}", value.where(), path,
                                              model ? "both" : "neither"));
  RunConfig::ParticlesPart part;
  if (model) part.model = read_model_name(*model, path + ".model");
  if (file) {
    const auto* name = file->get_if<std::string>();
    if (!name || name->empty()) refuse(*file, path + ".file", "a file name");
    part.file = *name;
  }
  for (const auto& [name, entry] : *table) {
    if (&entry == model || &entry == file) continue;
    if (model && read_model_key(name, entry, path + "." + name, part)) continue;
    std::vector<std::string> names{"model", "file"};
    if (model) {
      names.insert(names.end(), {"n", "seed"});
      for (const auto& option : find_model(part.model).options) names.push_back(option.name);
    }
    const std::string near = nearest_name(name, names);
    throw Error(ErrorKind::input,
                fmt::format("{}: {}.{}: unknown key, expected one of {}{}", entry.where(), path, name,
                            fmt::join(names, ", "), near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  return part;
}

/// Exactly two systems.
void read_parts(RunConfig& config, const ConfigValue& value) {
  const auto* array = value.get_if<ConfigValue::Array>();
  if (!array || array->size() != 2)
    refuse(value, array_path, "two tables, each under [[particles.parts]]",
           array ? fmt::format(" of {}", array->size()) : "");
  config.particles.parts.clear();
  for (std::size_t k = 0; k < array->size(); ++k)
    config.particles.parts.push_back(read_part((*array)[k], fmt::format("{}.{}", array_path, k + 1)));
}

/// The words of `pergola merge`.
struct OrbitKey {
  const char* name;
  const char* comment;
  Range range;
  double& (*get)(MergeOptions&);
  Dimension dimension{};
};

const std::vector<OrbitKey>& orbit_keys() {
  static const std::vector<OrbitKey> keys{
      {"pericentre", "closest distance of two points with their masses", Range::above(0),
       [](MergeOptions& o) -> double& { return o.pericentre; }, dimension::length},
      {"separation", "distance at the start, on the way in", Range::above(0),
       [](MergeOptions& o) -> double& { return o.separation; }, dimension::length},
      {"eccentricity", "0 circle, < 1 ellipse, 1 parabola, > 1 hyperbola", Range::at_least(0),
       [](MergeOptions& o) -> double& { return o.eccentricity; }},
      {"inclination_1", "degrees from the axis of the first to that of the orbit", Range::between(-360, 360),
       [](MergeOptions& o) -> double& { return o.first.inclination; }},
      {"argument_1", "degrees in the orbit from where the second rises through its disc to the pericentre",
       Range::between(-360, 360), [](MergeOptions& o) -> double& { return o.first.argument; }},
      {"inclination_2", "the same for the second", Range::between(-360, 360),
       [](MergeOptions& o) -> double& { return o.second.inclination; }},
      {"argument_2", "", Range::between(-360, 360), [](MergeOptions& o) -> double& { return o.second.argument; }}};
  return keys;
}

}  // namespace

/// The array has no text of its own: particles_text() writes it after the orbit.
std::vector<ConfigKey> parts_keys() {
  std::vector<ConfigKey> keys{
      {array_path, "two systems, each a model or a file", read_parts, nullptr, dimension::none, option_dimension}};
  for (const OrbitKey& key : orbit_keys()) {
    const std::string path = fmt::format("{}.{}", orbit_path, key.name);
    keys.push_back({path, key.comment,
                    [key, path](RunConfig& config, const ConfigValue& value) {
                      key.get(config.particles.orbit) = read_real(value, path, key.range);
                    },
                    [key](const RunConfig& config) {
                      MergeOptions orbit = config.particles.orbit;
                      return to_text(key.get(orbit));
                    },
                    key.dimension});
  }
  return keys;
}

/// Comments begin in one column, so that a long configuration can be read.
std::string config_line(const std::string& name, const std::string& value, const std::string& comment) {
  const std::string text = fmt::format("{} = {}", name, value);
  return comment.empty() ? text + "\n" : fmt::format("{:<34} # {}\n", text, comment);
}

namespace {

/// One system: its model with all options, or its file.
std::string part_text(const RunConfig::ParticlesPart& part) {
  if (!part.file.empty()) return config_line("file", toml_string(part.file), "a snapshot");
  if (part.model.empty()) return "";
  const ModelInfo& model = find_model(part.model);
  std::string text = config_line("model", toml_string(model.name), "");
  text += config_line("n", std::to_string(model_count(model, part.options.n)), "number of particles");
  text += config_line("seed", std::to_string(part.options.seed), "of the random numbers");
  for (const auto& option : model.options) {
    const auto given = part.options.values.find(option.name);
    text += config_line(option.name,
                        model_value_text(given == part.options.values.end() ? option.default_value : given->second),
                        option.help);
  }
  return text;
}

}  // namespace

/// Written apart from other keys, because the options depend on the model.
std::string particles_text(const RunConfig& config) {
  const auto& particles = config.particles;
  std::string text = "\n[particles]\n" + part_text(particles);
  if (particles.parts.empty()) return text;
  text += fmt::format("\n[{}]\n", orbit_path);
  for (const ConfigKey& key : parts_keys())
    if (key.text) text += config_line(key.path.substr(orbit_path.size() + 1), key.text(config), key.comment);
  for (const auto& part : particles.parts) text += fmt::format("\n[[{}]]\n", array_path) + part_text(part);
  return text;
}

namespace {

/// Options of a model that have no effect beside another one.
void check_options(const RunConfig& config, const FindValue& find) {
  const auto all = config.particles.all();
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k].model.empty()) continue;
    const auto conflict = options_conflict(find_model(all[k].model), all[k].options);
    if (!conflict) continue;
    const bool one = config.particles.parts.empty();
    const std::string path =
        one ? fmt::format("particles.{}", conflict->key) : fmt::format("{}.{}.{}", array_path, k + 1, conflict->key);
    const ConfigValue* value = find(one ? path : array_path);
    throw Error(ErrorKind::input,
                fmt::format("{}: {}: {}", value ? value->where() : config.source, path, conflict->why));
  }
}

}  // namespace

/// An orbit needs two systems, open space, a pericentre and a separation.
void check_parts(const RunConfig& config, const FindValue& find) {
  check_options(config, find);
  const auto& particles = config.particles;
  const ConfigValue* parts = find(array_path);
  for (const OrbitKey& key : orbit_keys())
    if (const ConfigValue* value = find(fmt::format("{}.{}", orbit_path, key.name)); value && !parts)
      throw Error(ErrorKind::input, fmt::format("{}: {}.{}: expected [[{}]] beside it, found none", value->where(),
                                                orbit_path, key.name, array_path));
  if (!parts) return;
  if (!particles.model.empty() || !particles.file.empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: {}: expected one of particles.model, particles.file and [[{}]], found two of them",
                            parts->where(), array_path, array_path));
  if (config.cosmology)
    throw Error(ErrorKind::input,
                fmt::format("{}: {}: expected a run without [cosmology], found one: two systems on an "
                            "orbit are in open space",
                            parts->where(), array_path));
  for (const char* name : {"pericentre", "separation"})
    if (!find(fmt::format("{}.{}", orbit_path, name)))
      throw Error(ErrorKind::input,
                  fmt::format("{}: {}.{}: expected a number > 0, found none", parts->where(), orbit_path, name));
  // The orbit's shape does not depend on the mass: a separation beyond the apocentre is found here already.
  try {
    merge_orbit(1, particles.orbit);
  } catch (const Error& error) {
    const ConfigValue* separation = find(fmt::format("{}.separation", orbit_path));
    throw Error(error.kind(), fmt::format("{}: {}.{}", separation->where(), orbit_path, error.what()));
  }
}

/// Fills in what the model needs to be made: its options with defaults, the constant and the external potentials.
void complete_part(RunConfig::ParticlesPart& part, const RunConfig& config) {
  auto& options = part.options;
  options.external = config.gravity.external;
  options.units = config.unit_system();
  options.gravitational_constant = options.units.gravitational_constant;
  if (part.model.empty()) return;
  const ModelInfo& model = find_model(part.model);
  options.n = model_count(model, options.n);
  for (const auto& option : model.options)
    options.values.try_emplace(option.name, option_default(model, option, options.units));
}

const std::string& read_model_name(const ConfigValue& value, const std::string& path) {
  const auto names = model_names();
  const std::string expected = fmt::format("{}", fmt::join(names, ", "));
  const auto* name = value.get_if<std::string>();
  if (!name || name->empty()) refuse(value, path, expected);
  if (std::count(names.begin(), names.end(), *name) == 0)
    refuse(value, path, expected, did_you_mean(nearest_name(*name, names)));
  return *name;
}

/// Options of one name have one dimension in all models.
Dimension option_dimension(const std::string& name) {
  for (const ModelInfo& model : models())
    for (const ModelOption& option : model.options)
      if (option.name == name) return option.dimension;
  return dimension::none;
}

/// Values are checked by the model's own table of options.
bool read_model_key(const std::string& name, const ConfigValue& value, const std::string& path,
                    RunConfig::ParticlesPart& part) {
  const ModelInfo& model = find_model(part.model);
  const auto require = [&](const std::string& problem) {
    if (!problem.empty()) throw Error(ErrorKind::input, fmt::format("{}: {}: {}", value.where(), path, problem));
  };
  if (name == "n") {
    part.options.n = read_integer(value, path, Range::at_least(1));
    require(count_problem(model, part.options.n));
    return true;
  }
  if (name == "seed") {
    part.options.seed = static_cast<std::uint64_t>(read_integer(value, path, Range::at_least(0)));
    return true;
  }
  if (std::none_of(model.options.begin(), model.options.end(), [&](const auto& o) { return o.name == name; }))
    return false;
  ModelValue taken = value.found();
  if (const auto* flag = value.get_if<bool>()) taken = *flag;
  if (const auto* real = value.get_if<double>()) taken = *real;
  if (const auto* integer = value.get_if<std::int64_t>()) taken = static_cast<double>(*integer);
  if (const auto* word = value.get_if<std::string>()) taken = *word;
  require(option_problem(model, name, taken));
  part.options.values[name] = taken;
  return true;
}

}  // namespace pergola

// Reading a configuration. Steps: TOML and --set become a list of (path, value), the kind of system is found from the
// tables, numbers with a unit become plain numbers, each key reads its value, then the kind sets defaults that depend
// on other keys and refuses conflicts.
#include "config/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/keys.hpp"
#include "config/kind.hpp"
#include "config/quantities.hpp"
#include "config/value.hpp"
#include "io/snapshot.hpp"

namespace pergola {

namespace {

/// A value with the path of its key, such as "time.eta".
struct Entry {
  std::string path;
  ConfigValue value;
};

const ConfigKey* find_key(const std::string& path) {
  for (const auto& key : config_keys())
    if (key.path == path) return &key;
  return nullptr;
}

/// Whether a path is a key, also one whose value is a table of its own.
bool is_leaf(const std::string& path) { return find_key(path) || path.starts_with("expect."); }

/// Whether keys lie below this path.
bool is_known_table(const std::string& path) {
  if (path == "particles" || path == "expect") return true;
  return std::any_of(config_keys().begin(), config_keys().end(),
                     [&](const ConfigKey& key) { return key.path.starts_with(path + "."); });
}

/// [plasma] alone decides the kind, also if it is empty.
bool is_table_of_a_kind(const std::string& path) {
  const KindEntry* kind = kind_with_table(path);
  return kind && kind->table == path;
}

/// Tables become paths: [time] eta = 1 is the entry time.eta.
void flatten(const std::string& path, const ConfigValue& value, std::vector<Entry>& entries) {
  const auto* table = value.get_if<ConfigValue::Table>();
  if (!table || is_leaf(path) ||
      (table->empty() && !path.empty() && (!is_known_table(path) || is_table_of_a_kind(path) || path == "cosmology"))) {
    entries.push_back({path, value});
    return;
  }
  for (const auto& [key, entry] : *table) flatten(path.empty() ? key : path + "." + key, entry, entries);
}

/// A path below a key that takes a table, such as gravity.softening.halo, becomes that table with one entry.
Entry lift(const std::string& path, const ConfigValue& value) {
  for (auto dot = path.rfind('.'); dot != std::string::npos && dot > 0; dot = path.rfind('.', dot - 1)) {
    const std::string above = path.substr(0, dot), below = path.substr(dot + 1);
    const bool takes_table = above == "gravity.softening" || above == "gravity.softening_max_proper" ||
                             (above.starts_with("expect.") && above.size() > 7);
    if (!takes_table || below.find('.') != std::string::npos) continue;
    ConfigValue table;
    table.source = value.source;
    table.data = ConfigValue::Table{{below, value}};
    return {above, table};
  }
  return {path, value};
}

/// Whether one key of [particles], or of a part, replaces another: --set particles.file replaces the model of the file.
bool replaces(const std::string& key, const std::string& other) {
  const bool of_orbit = other.starts_with("orbit.");
  if (key == "file") return true;
  if (key == "parts") return !of_orbit;
  return key == "model" && (other == "file" || other == "parts" || of_orbit);
}

/// Whether a configuration takes one of two keys and refuses both; of tables in arrays and [particles] their names. A
/// model's own parameters of the universe are those of [cosmology].
bool exclude(const std::string& key, const std::string& other) {
  static const std::vector<std::vector<std::string>> groups{
      {"run.end_time", "run.end_redshift"},  {"units.length_cm", "units.length_m"},
      {"units.mass_g", "units.mass_kg"},     {"units.velocity_cm_per_s", "units.velocity_m_per_s", "units.time_s"},
      {"half_mass_radius", "virial_radius"}, {"temperature", "temperature_ev", "temperature_kelvin", "cold"}};
  const std::string universe = "cosmology.";
  if (key.starts_with(universe) && other == "particles." + key.substr(universe.size())) return true;
  return std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
    return std::count(group.begin(), group.end(), key) > 0 && std::count(group.begin(), group.end(), other) > 0;
  });
}

/// Applies a --set: it replaces entries of the file.
void apply_set(const Entry& set, std::vector<Entry>& entries) {
  const std::string table = "particles.";
  std::erase_if(entries, [&](const Entry& entry) {
    if (entry.path == set.path) return true;
    if (entry.value.source == "--set") return false;
    if (!set.path.starts_with(table) || !entry.path.starts_with(table)) return exclude(set.path, entry.path);
    const std::string key = set.path.substr(table.size()), other = entry.path.substr(table.size());
    return replaces(key, other) || exclude(key, other);
  });
  entries.push_back(set);
}

/// An array of tables of which --set ARRAY.WHICH.KEY=VALUE changes one key.
struct TableArray {
  std::string path;
  bool by_name;  // WHICH is what the table has as `name`; else its number, from 1 on
};

/// The value of `name` in the table; empty without one.
std::string name_in(const ConfigValue::Table& table) {
  for (const auto& [key, value] : table)
    if (const auto* word = value.get_if<std::string>(); word && key == "name") return *word;
  return "";
}

/// True when `path` is in the array.
bool set_in_array(const TableArray& of, const std::string& path, const ConfigValue& value,
                  std::vector<Entry>& entries) {
  const std::string start = of.path + ".";
  const auto dot = path.find('.', start.size());
  if (!path.starts_with(start) || dot == std::string::npos) return false;
  const std::string which = path.substr(start.size(), dot - start.size()), key = path.substr(dot + 1);
  const auto* flag = value.get_if<bool>();
  const bool off = flag && !*flag;  // cold = false excludes nothing
  for (auto& entry : entries) {
    auto* array = entry.path == of.path ? std::get_if<ConfigValue::Array>(&entry.value.data) : nullptr;
    for (std::size_t k = 0; array && k < array->size(); ++k) {
      auto* table = std::get_if<ConfigValue::Table>(&(*array)[k].data);
      if (!table || (of.by_name ? name_in(*table) : std::to_string(k + 1)) != which) continue;
      std::erase_if(*table, [&](const auto& item) {
        if (item.name == key) return true;
        return item.value.source != "--set" && (replaces(key, item.name) || (!off && exclude(key, item.name)));
      });
      table->push_back({key, value});
      return true;
    }
  }
  throw Error(ErrorKind::input,
              fmt::format("--set: {}: there is no [[{}]] {}", path, of.path,
                          of.by_name ? fmt::format("with the name \"{}\"", which) : fmt::format("number {}", which)));
}

/// Species are named in --set by their name, lasers and parts by their number.
bool set_in_arrays(const std::string& path, const ConfigValue& value, std::vector<Entry>& entries) {
  return set_in_array({"plasma.species", true}, path, value, entries) ||
         set_in_array({"plasma.lasers", false}, path, value, entries) ||
         set_in_array({"particles.parts", false}, path, value, entries);
}

/// All entries in the order of their lines, changed by --set in the order of the command line.
std::vector<Entry> collect(const std::string& text, const std::string& source, const std::vector<std::string>& sets) {
  std::vector<Entry> entries;
  flatten("", parse_toml(text, source), entries);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.value.line < b.value.line; });
  for (const auto& set : sets) {
    const auto [path, value] = parse_set(set);
    if (set_in_arrays(path, value, entries)) continue;
    const Entry lifted = lift(path, value);
    if (lifted.path != path) {
      entries.push_back(lifted);
      continue;
    }
    std::vector<Entry> flat;
    flatten(path, value, flat);
    for (const auto& entry : flat) apply_set(entry, entries);
  }
  return entries;
}

/// The first entry with this path; null: none.
const Entry* find_entry(const std::vector<Entry>& entries, const std::string& path) {
  for (const auto& entry : entries)
    if (entry.path == path) return &entry;
  return nullptr;
}

/// What is known of an array of tables, or of the table itself, before it is read: the names of files.
void add_files(const ConfigValue& parts, RunConfig& config) {
  const auto* array = parts.get_if<ConfigValue::Array>();
  for (std::size_t k = 0; array && k < array->size(); ++k)
    if (const auto* table = (*array)[k].get_if<ConfigValue::Table>())
      if (const ConfigValue* file = find_in(*table, "file"); file && file->get_if<std::string>())
        config.particles.parts.emplace_back().file = *file->get_if<std::string>();
}

/// What numbers with a unit are counted in: found from [units], the files of particles and the model, before all else
/// is read.
QuantityUnits quantity_units(const std::vector<Entry>& entries, const RunConfig& begun) {
  RunConfig config = begun;
  for (const Entry& entry : entries) {
    if (entry.path.starts_with("units."))
      if (const ConfigKey* key = find_key(entry.path)) key->read(config, entry.value);
    const auto* word = entry.value.get_if<std::string>();
    if (word && entry.path == "particles.file") config.particles.file = *word;
    if (word && entry.path == "particles.model") config.particles.model = *word;
    if (entry.path == "particles.parts") add_files(entry.value, config);
  }
  if (const auto conflict = units_conflict(config.units))
    throw Error(ErrorKind::input, fmt::format("{}: {}: {}", config.source, conflict->key, conflict->why));
  config = with_file_units(std::move(config));
  if (!config.particles.file.empty()) inherit_cosmology(config);
  for (const ModelInfo& model : models())
    if (model.own_units && model.name == config.particles.model) {
      config.cosmology.emplace();
      if (config.units.system == "auto") config.units.system = model.units;
    }
  const bool known = config.units.system == "custom" || find_unit_system(config.units.system);
  QuantityUnits units{.system = std::nullopt, .universe = config.cosmology.has_value()};
  try {
    if (!known)
      for (const auto& part : config.particles.all())
        if (!part.file.empty()) inspect_snapshot(part.file);
  } catch (const Error& error) {
    units.unreadable = error.what();
  }
  if (known && config.units.system != nbody_units().name) units.system = config.unit_system();
  return units;
}

/// The dimension of a name below a key; "" for the key itself.
using DimensionOf = std::function<Dimension(const std::string& name)>;

DimensionOf dimensions_at(const std::string& path) {
  const auto same = [](const Dimension& dimension) { return [=](const std::string&) { return dimension; }; };
  if (const ConfigKey* key = find_key(path)) return key->dimension_in ? key->dimension_in : same(key->dimension);
  if (path == "expect.half_mass_radius") return same(dimension::length);
  const std::string table = "particles.";
  return same(path.starts_with(table) ? option_dimension(path.substr(table.size())) : dimension::none);
}

/// Numbers with a unit, in a value or in its arrays and tables, become plain numbers.
class QuantityReader {
 public:
  QuantityReader(const std::vector<Entry>& entries, const RunConfig& begun) : entries_(entries), begun_(begun) {}

  void read(ConfigValue& value, const std::string& path, const DimensionOf& dimension, const std::string& name = "") {
    if (auto* array = std::get_if<ConfigValue::Array>(&value.data))
      for (ConfigValue& entry : *array) read(entry, path, dimension, name);
    if (auto* table = std::get_if<ConfigValue::Table>(&value.data))
      for (auto& [key, entry] : *table)
        read(entry, fmt::format("{}.{}", path, key), dimension, name.empty() ? key : fmt::format("{}.{}", name, key));
    const auto* text = value.get_if<std::string>();
    if (!text || dimension(name) == dimension::none) return;
    if (!units_) units_ = quantity_units(entries_, begun_);
    auto number = plain_number(*text, dimension(name), *units_, fmt::format("{}: {}", value.where(), path));
    if (!number) return;
    // Steps of blocks are powers of two: the next shorter one.
    if (path == "time.step_max" && *number > 0) number = std::exp2(std::floor(std::log2(*number)));
    value.data = *number;
  }

 private:
  const std::vector<Entry>& entries_;
  const RunConfig& begun_;
  std::optional<QuantityUnits> units_;  // once they are needed: files may have to be opened
};

/// All numbers with a unit as plain numbers of the run's units.
std::vector<Entry> with_plain_numbers(const std::vector<Entry>& entries, const RunConfig& begun) {
  std::vector<Entry> plain = entries;
  QuantityReader reader(entries, begun);
  for (Entry& entry : plain) reader.read(entry.value, entry.path, dimensions_at(entry.path));
  return plain;
}

/// A text that is not empty.
const std::string& read_string(const Entry& entry, const std::string& expected) {
  const auto* text = entry.value.get_if<std::string>();
  if (!text || text->empty()) refuse(entry.value, entry.path, expected);
  return *text;
}

/// The message lists the keys and tables of the same table, and suggests the nearest one: first a key of the same name
/// in another table, then the nearest name in this table, then the nearest path.
[[noreturn]] void refuse_unknown(const Entry& entry, const RunConfig& config) {
  const auto dot = entry.path.rfind('.');
  const std::string table = dot == std::string::npos ? "" : entry.path.substr(0, dot + 1);
  const std::string name = entry.path.substr(table.size());
  // If several tables have a similar name, suggest a key of the run before an option of the model.
  const KindEntry& kind = kind_of(config);
  std::vector<std::string> paths;
  for (const auto& key : config_keys())
    if (key.text && has_key(kind, key.path)) paths.push_back(key.path);
  if (has_key(kind, "particles.model"))
    paths.insert(paths.end(),
                 {"particles.model", "particles.file", "particles.parts", "particles.n", "particles.seed"});
  if (!config.particles.model.empty())
    for (const auto& option : find_model(config.particles.model).options) paths.push_back("particles." + option.name);
  for (const auto& expectation : expectation_names()) paths.push_back("expect." + expectation);

  std::vector<std::string> beside;
  std::string near;
  for (const auto& path : paths) {
    if (!table.empty() && path.starts_with(table)) {
      const std::string own = path.substr(table.size(), path.find('.', table.size()) - table.size());
      if (std::find(beside.begin(), beside.end(), own) == beside.end()) beside.push_back(own);
    }
    if (near.empty() && path.ends_with("." + name)) near = path;
  }
  if (near.empty()) {
    near = nearest_name(name, beside);
    near = near.empty() ? nearest_name(entry.path, paths) : table + near;
  }
  throw Error(ErrorKind::input,
              fmt::format("{}: {}: unknown key{}{}", entry.value.where(), entry.path,
                          beside.empty() ? "" : fmt::format(", expected one of {}", fmt::join(beside, ", ")),
                          near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

/// The model's own options, n and seed. They mean nothing without a model.
void read_particles_entry(const Entry& entry, RunConfig& config) {
  auto& particles = config.particles;
  const std::string name = entry.path.substr(std::strlen("particles."));
  if (name == "model" || name == "file") return;
  if (!particles.model.empty()) {
    if (!read_model_key(name, entry.value, entry.path, particles)) refuse_unknown(entry, config);
    return;
  }
  if (name != "n" && name != "seed") refuse_unknown(entry, config);
  const char* found = !particles.parts.empty() ? "[[particles.parts]]"
                      : particles.file.empty() ? "none"
                                               : "particles.file";
  throw Error(ErrorKind::input, fmt::format("{}: {}: expected particles.model beside it, found {}", entry.value.where(),
                                            entry.path, found));
}

/// Reads model or file before the other entries, because the model decides which options exist.
void read_particle_source(const std::vector<Entry>& entries, RunConfig& config) {
  const Entry* model = find_entry(entries, "particles.model");
  const Entry* file = find_entry(entries, "particles.file");
  if (model && file)
    throw Error(ErrorKind::input, fmt::format("{}: particles.file: expected one of particles.model and "
                                              "particles.file, found both",
                                              file->value.where()));
  if (file) config.particles.file = read_string(*file, "a file name");
  if (const Entry* parts = find_entry(entries, "particles.parts")) find_key(parts->path)->read(config, parts->value);
  if (model) config.particles.model = read_model_name(model->value, "particles.model");
}

/// The kind of system, found from its table.
std::string find_kind(const std::vector<Entry>& entries) {
  for (const auto& entry : entries)
    if (const KindEntry* kind = kind_with_table(entry.path)) return kind->name;
  return kind_entries().front().name;
}

/// The table that a key of another kind belongs to.
std::string table_of(const std::string& path) {
  for (const KindEntry& kind : kind_entries())
    if (kind.owns(path)) return kind.table;
  return "";
}

/// Refuses keys that only other kinds of system have.
void check_kind_of_run(const std::vector<Entry>& entries, const RunConfig& config) {
  const KindEntry& kind = kind_of(config);
  for (const auto& entry : entries) {
    const std::string& path = entry.path;
    const bool known = find_key(path) || path.starts_with("particles.") || path.starts_with("expect.");
    if (!known || has_key(kind, path)) continue;
    throw Error(ErrorKind::input,
                fmt::format("{}: {}: {}", entry.value.where(), path,
                            kind.refusal ? kind.refusal(path)
                                         : fmt::format("expected [{}] beside it, found none", table_of(path))));
  }
}

/// `with_files`: files may be read, so that their cosmology is inherited.
RunConfig read_entries(const std::vector<Entry>& given, const std::string& source, bool with_steps = true,
                       bool with_files = false) {
  RunConfig config;
  config.source = source;
  if (std::any_of(given.begin(), given.end(),
                  [](const Entry& entry) { return entry.path == "cosmology" || entry.path.starts_with("cosmology."); }))
    config.cosmology.emplace();
  config.kind = find_kind(given);
  const std::vector<Entry> entries = with_plain_numbers(given, config);
  check_kind_of_run(entries, config);
  read_particle_source(entries, config);
  for (const auto& entry : entries) {
    const bool by_itself = is_table_of_a_kind(entry.path) || entry.path == "cosmology";
    if (by_itself && entry.value.get_if<ConfigValue::Table>()) continue;
    if (const ConfigKey* key = find_key(entry.path)) {
      key->read(config, entry.value);
    } else if (entry.path.starts_with("particles.") && !is_known_table(entry.path)) {
      read_particles_entry(entry, config);
    } else if (entry.path.starts_with("expect.")) {
      const Expectation expectation = read_expectation(entry.path.substr(std::strlen("expect.")), entry.value);
      std::erase_if(config.expect, [&](const Expectation& other) { return other.name == expectation.name; });
      config.expect.push_back(expectation);
    } else if (is_known_table(entry.path)) {
      refuse(entry.value, entry.path, "a table");
    } else {
      refuse_unknown(entry, config);
    }
  }
  const FindValue find = [&](const std::string& path) -> const ConfigValue* {
    const Entry* entry = find_entry(entries, path);
    return entry ? &entry->value : nullptr;
  };
  if (with_files && !config.particles.file.empty()) inherit_cosmology(config);
  kind_of(config).complete(config, find, with_steps);
  return config;
}

/// Reads a file or pipe. What is too large is no configuration.
std::string read_all(const std::filesystem::path& path) {
  // Bytes. A pipe without end must not fill memory.
  constexpr std::size_t largest = std::size_t{16} << 20;
  // A wrong path is the user's error; all else is the operating system's.
  const auto fail = [&](int code) {
    const bool refused = code != ENOENT && code != ENOTDIR && code != EISDIR && code != ENAMETOOLONG;
    throw Error(refused ? ErrorKind::system : ErrorKind::input,
                fmt::format("{}: expected a configuration file: {}", path.string(), std::strerror(code)));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) fail(errno);
  std::string text;
  char buffer[65536];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, got);
    if (text.size() > largest)
      throw Error(ErrorKind::input,
                  fmt::format("{}: expected a configuration of at most 16 MiB, found more", path.string()));
  }
  if (std::ferror(file.get())) fail(errno);
  return text;
}

/// The folder that relative file names in the configuration start from.
std::filesystem::path folder_of(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code ignored;
  if (name.starts_with("/dev/") || name.starts_with("/proc/") || !std::filesystem::is_regular_file(path, ignored))
    return std::filesystem::current_path();
  return std::filesystem::absolute(path).parent_path();
}

/// Makes the relative name of a file absolute: from the configuration's folder, or for --set from the working
/// directory.
void resolve_file(ConfigValue& value, const std::filesystem::path& folder) {
  auto* file = std::get_if<std::string>(&value.data);
  if (!file || file->empty()) return;
  const auto start = value.source == "--set" ? std::filesystem::current_path() : folder;
  *file = (start / *file).lexically_normal().string();
}

/// Whether it is an option of a model that may be a file, and is none of its words.
bool is_file_of_model(const Entry& entry) {
  const auto* word = std::get_if<std::string>(&entry.value.data);
  const auto is_it = [&](const ModelOption& option) {
    return option.or_file && "particles." + option.name == entry.path &&
           std::find(option.choices.begin(), option.choices.end(), *word) == option.choices.end();
  };
  return word && std::any_of(models().begin(), models().end(), [&](const ModelInfo& model) {
           return std::any_of(model.options.begin(), model.options.end(), is_it);
         });
}

void resolve_files(std::vector<Entry>& entries, const std::filesystem::path& folder) {
  for (Entry& entry : entries) {
    if (entry.path == "particles.file" || entry.path == "output.power_reference" || is_file_of_model(entry))
      resolve_file(entry.value, folder);
    auto* parts = entry.path == "particles.parts" ? std::get_if<ConfigValue::Array>(&entry.value.data) : nullptr;
    for (std::size_t k = 0; parts && k < parts->size(); ++k)
      if (auto* table = std::get_if<ConfigValue::Table>(&(*parts)[k].data))
        for (auto& [key, value] : *table)
          if (key == "file") resolve_file(value, folder);
  }
}

}  // namespace

/// The constant follows from the units and the precision from the kind, so neither is a key of the solver.
SolverOptions RunConfig::solver_options() const {
  SolverOptions options = gravity;
  options.gravitational_constant = gravitational_constant();
  options.precision = precision();
  return options;
}

std::vector<Expectation> RunConfig::expectations() const {
  std::vector<Expectation> all;
  if (!particles.model.empty()) all = model_expectations(particles.model, particles.options);
  const auto find = [&](const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&](const auto& other) { return other.name == name; });
  };
  for (const auto& own : expect) {
    if (const auto same = find(own.name); same != all.end())
      *same = own;
    else
      all.push_back(own);
  }
  // A change of the energy by a hundredth is wrong for any run.
  if (find("energy_error") == all.end()) all.push_back({"energy_error", 0, 0.01});
  return all;
}

/// The last four are measured of a plasma only (plasma_measure_names()), energies and momentum of both kinds.
const std::vector<std::string>& expectation_names() {
  static const std::vector<std::string> names{"energy_error", "virial_ratio",     "half_mass_radius", "energy",
                                              "momentum",     "angular_momentum", "return_distance",  "frequency",
                                              "growth_rate",  "damping_rate",     "field_energy"};
  return names;
}

RunConfig parse_config(const std::string& text, const std::string& source, const std::vector<std::string>& sets) {
  return read_entries(collect(text, source, sets), source);
}

/// The source in messages is "(defaults)", because there is no file.
RunConfig parse_force_config(const std::vector<std::string>& sets) {
  const std::string source = "(defaults)";
  return read_entries(collect("", source, sets), source, false);
}

/// Writing and reading again applies every rule to a configuration that a program has filled in.
void RunConfig::check() const { parse_config(config_text(*this), source); }

/// Files of particles are opened here, for their units and cosmology; parse_config() opens none.
RunConfig read_config(const std::filesystem::path& path, const std::vector<std::string>& sets) {
  auto entries = collect(read_all(path), path.string(), sets);
  resolve_files(entries, folder_of(path));
  RunConfig config = read_entries(entries, path.string(), true, true);
  config = with_file_units(std::move(config));
  choose_step_max(config);
  for (auto& part : config.particles.all()) complete_part(part, config);
  return config;
}

}  // namespace pergola

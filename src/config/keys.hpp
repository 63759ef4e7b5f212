#pragma once
// The keys of the configuration: how each is read, checked and written.
//
// config_keys() lists all keys in the order in which config_text shows them. Each table has a function that makes its
// keys; keys of solvers, integrators, outputs and analyses come from their entries (base/key.hpp).
// A key knows its range, its default (in RunConfig) and its help. Errors name file, line, key, what was expected and
// what was found, and the nearest valid name.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/key.hpp"
#include "config/config.hpp"
#include "config/value.hpp"

namespace pergola {

/// One key of the configuration: how it is read, checked and written.
struct ConfigKey {
  std::string path;     // "time.eta"
  std::string comment;  // meaning and unit, for config_text
  std::function<void(RunConfig&, const ConfigValue&)> read;
  /// The value in TOML; empty: not given, and then not shown. No function: a key that this version does not use.
  std::function<std::string(const RunConfig&)> text;
  Dimension dimension{};  // of its numbers (base/key.hpp)
  /// Of a key whose value is an array of tables: the dimension of a name in them, "radius" or "profile.width".
  std::function<Dimension(const std::string& name)> dimension_in{};
};

/// All keys in the order in which config_text shows them, without the model's options and [expect].
const std::vector<ConfigKey>& config_keys();

/// gravity.external, the array of tables (config/external.cpp).
ConfigKey external_key();
/// [[particles.parts]] and [particles.orbit] (config/particle_parts.cpp).
std::vector<ConfigKey> parts_keys();
/// Refuses parts that are valid alone but not together. `find`: the value of a key in the file; null: none.
void check_parts(const RunConfig& config, const FindValue& find);
/// The count and the options of a model with its own where none are given; the constant and the external potentials.
void complete_part(RunConfig::ParticlesPart& part, const RunConfig& config);
/// The model of this name; refuses others with the nearest one.
const std::string& read_model_name(const ConfigValue& value, const std::string& path);
/// The dimension of what models have as an option of this name; none also where no model has one.
Dimension option_dimension(const std::string& name);
/// One key of a model: n, seed or an option of its own; false: there is none of this name.
bool read_model_key(const std::string& name, const ConfigValue& value, const std::string& path,
                    RunConfig::ParticlesPart& part);
/// [particles] and the tables in it as TOML.
std::string particles_text(const RunConfig& config);
/// "name = value   # comment".
std::string config_line(const std::string& name, const std::string& value, const std::string& comment);

/// [plasma], and what [output] has for it (config/plasma.cpp).
std::vector<ConfigKey> plasma_keys();
std::vector<ConfigKey> plasma_output_keys();
/// output.analyses, and [output.NAME] of each analysis of particles with the keys of its entry (config/analyses.cpp).
ConfigKey analyses_key();
std::vector<ConfigKey> analysis_keys();
/// Whether a key is one of these.
bool is_analysis_key(const std::string& path);
/// Refuses options of analyses that output.analyses does not name.
void check_analyses(const RunConfig& config, const FindValue& find);
/// [units], and the conflict between its keys, if there is one (config/units.cpp).
std::vector<ConfigKey> units_keys();
std::optional<Conflict> units_conflict(const RunConfig::Units& units);
/// [cosmology], and the keys that only it has in other tables (config/cosmology.cpp).
std::vector<ConfigKey> cosmology_keys();
/// Whether a key is in [cosmology], or of no use without it.
bool is_universe_key(const std::string& path);
ConfigKey end_redshift_key();
ConfigKey redshifts_key();
ConfigKey power_reference_key();
/// Sets defaults of a run with [cosmology], and refuses keys that are valid alone but not together.
void complete_cosmology(RunConfig& config, const FindValue& find);
/// Refuses what is known to be wrong before the particles are known.
void check_universe_keys(const RunConfig& config, const FindValue& find);
/// Takes over the cosmology of particles.file where there is no [cosmology], before complete_cosmology.
void inherit_cosmology(RunConfig& config);

/// Sets defaults of a plasma run that depend on other keys, and refuses keys that are valid alone but not together.
void complete_plasma(RunConfig& config, const FindValue& find);

/// Throws Error(input): "run.toml:7: time.eta: expected a number > 0, found -1".
[[noreturn]] void refuse(const ConfigValue& value, const std::string& path, const std::string& expected,
                         const std::string& remark = "");

/// The same, with the nearest of the words that were expected.
[[noreturn]] void refuse(const ConfigValue& value, const std::string& path, const KeyProblem& problem);

/// A value as a part's key takes it; refuses what no key takes: tables, dates, arrays of anything but numbers.
KeyValue key_value(const ConfigValue& value, const std::string& path);
/// And back, in TOML.
std::string toml_value(const KeyValue& value);

/// One of these words; refuses others with the nearest one.
const std::string& read_word(const ConfigValue& value, const std::string& path, const std::vector<std::string>& words);

/// Numbers for a key; a whole real such as 1e6 is an integer too.
double read_real(const ConfigValue& value, const std::string& path, const Range& range);
std::int64_t read_integer(const ConfigValue& value, const std::string& path, const Range& range);

/// Reads expect.NAME: a number or { expected = …, tolerance = … }.
Expectation read_expectation(const std::string& name, const ConfigValue& value);
/// "; did you mean NEAR?"; empty without a near name.
std::string did_you_mean(const std::string& near);

/// The configuration's key for a key of a part. `part` gives the place of the part's options in a RunConfig.
template <class Options, class Part>
ConfigKey config_key(const std::string& path, const Key<Options>& key, Part part) {
  const auto read = [=](RunConfig& config, const ConfigValue& value) {
    if (const auto problem = key.take(part(config), key_value(value, path))) refuse(value, path, *problem);
  };
  if (!key.value) return {path, key.help, read, nullptr};
  return {path, key.help, read, [=](const RunConfig& config) { return toml_value(key.value(part(config))); },
          key.dimension};
}

// Keys by the kind of their value. `get` gives the place of the value in a RunConfig.

inline ConfigKey own_key(const Key<RunConfig>& key) {
  return config_key(
      key.name, key, [](auto& config) -> auto& { return config; });
}
template <class Get>
ConfigKey real_key(const std::string& path, const std::string& comment, const Range& range, Get get) {
  return own_key(real_option<RunConfig>(path, comment, range, get));
}
template <class Get>
ConfigKey integer_key(const std::string& path, const std::string& comment, const Range& range, Get get) {
  return own_key(integer_option<RunConfig>(path, comment, range, get));
}
template <class Get>
ConfigKey flag_key(const std::string& path, const std::string& comment, Get get) {
  return own_key(flag_option<RunConfig>(path, comment, get));
}
template <class Get>
ConfigKey word_key(const std::string& path, const std::string& comment, const std::vector<std::string>& words,
                   Get get) {
  return own_key(word_option<RunConfig>(path, comment, words, get));
}
template <class Enum, std::size_t count, class Get>
ConfigKey choice_key(const std::string& path, const std::string& comment,
                     const std::array<std::string_view, count>& names, Get get, int first = 0) {
  return own_key(choice_option<Enum, RunConfig>(path, comment, names, get, first));
}

}  // namespace pergola

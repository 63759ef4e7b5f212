// output.analyses and [output.NAME]: analyses of `pergola analyze` that a run does with every snapshot. Their keys come
// from the entries of the analyses.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/analysis.hpp"
#include "base/error.hpp"
#include "config/keys.hpp"

// An analysis keeps its own defaults: a key in [output.NAME] is stored only if it is given, under "NAME.key", and
// config_text() shows only those. Values are checked when they are read, by the key of the analysis itself, so that a
// wrong one is refused before the run starts.
namespace pergola {

namespace {

/// Those of particles.
std::vector<const AnalysisEntry*> entries() {
  std::vector<const AnalysisEntry*> all;
  for (const AnalysisEntry& entry : analysis_entries())
    if (entry.needs == AnalysisNeeds::particles) all.push_back(&entry);
  return all;
}

/// A value of [output.NAME] is kept as it was given: what is not given is left to the analysis.
ConfigKey option_key(const std::string& analysis, const Key<AnalysisOptions>& key) {
  const std::string name = fmt::format("{}.{}", analysis, key.name), path = "output." + name;
  return {path, key.help,
          [=](RunConfig& config, const ConfigValue& value) {
            const KeyValue given = key_value(value, path);
            AnalysisOptions options;
            if (const auto problem = key.take(options, given)) refuse(value, path, *problem);
            config.output.analysis_options[name] = given;
          },
          [=](const RunConfig& config) {
            const auto found = config.output.analysis_options.find(name);
            return found == config.output.analysis_options.end() ? std::string() : toml_value(found->second);
          },
          key.dimension};
}

}  // namespace

/// A name that is given twice counts once. The order is that of the file.
ConfigKey analyses_key() {
  const std::string path = "output.analyses";
  std::vector<std::string> names;
  for (const AnalysisEntry* entry : entries()) names.push_back(entry->name);
  return {path,
          "with every snapshot also NAME_NNN.csv, as `pergola analyze NAME` would write it: [\"power\", \"groups\"]; "
          "its options in [output.NAME]",
          [=](RunConfig& config, const ConfigValue& value) {
            const auto* array = value.get_if<ConfigValue::Array>();
            if (!array) refuse(value, path, "an array of analyses such as [\"power\", \"groups\"]");
            config.output.analyses.clear();
            for (const auto& entry : *array) {
              const auto* name = entry.get_if<std::string>();
              if (!name || std::count(names.begin(), names.end(), *name) == 0)
                refuse(entry, path, KeyProblem{fmt::format("one of {}", fmt::join(names, ", ")), names});
              if (std::count(config.output.analyses.begin(), config.output.analyses.end(), *name) == 0)
                config.output.analyses.push_back(*name);
            }
          },
          [](const RunConfig& config) {
            std::vector<std::string> parts;
            for (const std::string& name : config.output.analyses) parts.push_back(toml_string(name));
            return fmt::format("[{}]", fmt::join(parts, ", "));
          }};
}

/// The keys of all analyses of particles, also of those that output.analyses does not name.
std::vector<ConfigKey> analysis_keys() {
  std::vector<ConfigKey> keys;
  for (const AnalysisEntry* entry : entries())
    for (const auto& key : entry->keys) keys.push_back(option_key(entry->name, key));
  return keys;
}

bool is_analysis_key(const std::string& path) {
  const auto all = entries();
  return path == "output.analyses" || std::any_of(all.begin(), all.end(), [&](const AnalysisEntry* entry) {
           return path.starts_with(fmt::format("output.{}.", entry->name));
         });
}

/// An option of an analysis that is not named would have no effect: most likely the name was forgotten.
void check_analyses(const RunConfig& config, const FindValue& find) {
  for (const auto& [name, given] : config.output.analysis_options) {
    const std::string analysis = name.substr(0, name.find('.')), path = "output." + name;
    const auto& named = config.output.analyses;
    if (std::count(named.begin(), named.end(), analysis) > 0) continue;
    const ConfigValue* value = find(path);
    throw Error(ErrorKind::input,
                fmt::format("{}: {}: expected output.analyses to name \"{}\" beside it, found [{}]",
                            value ? value->where() : config.source, path, analysis, fmt::join(named, ", ")));
  }
}

}  // namespace pergola

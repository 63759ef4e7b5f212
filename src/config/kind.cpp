// The two kinds of system, gravity and plasma: which keys they own, what they complete and check.
#include "config/kind.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "config/keys.hpp"
#include "gravity/solver_entry.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

/// Intervals are compared with the length of the run, in time or ln a.
void check_output_counts(const RunConfig& config, double start) {
  // More outputs than that would fill any disk: the interval must be a mistake.
  constexpr double most = 1e9;
  const double length = config.length_between(start, config.run.end_time);
  const auto check = [&](const char* key, double every) {
    if (every > 0 && length / every > most)
      throw Error(ErrorKind::input,
                  fmt::format("{}: {}: expected at most 1e9 outputs in a run of length {}, that is 0 "
                              "or at least {}, found {}",
                              config.source, key, to_text(length), to_text(length / most), to_text(every)));
  };
  check("output.energy_every", config.output.energy_every);
  check("output.snapshots_every", config.output.snapshots_every);
  if (const auto radii = config.output.more.find("output.radii_every"); radii != config.output.more.end())
    check("output.radii_every", radii->second);
}

void choose_step_max(RunConfig& config) {
  if (!config.chosen_step_max || config.unit_system().name == nbody_units().name) return;
  config.time.step_max = std::exp2(std::floor(std::log2(config.run.end_time / 8)));
}

namespace {

/// Of [time] only the step is shared with plasmas, of [units] only the system.
bool gravity_owns(const std::string& path) {
  return path.starts_with("gravity.") || path.starts_with("particles.") || path.starts_with("output.force_audit_") ||
         is_universe_key(path) || path == "output.radii_every" || path == "output.files" || is_analysis_key(path) ||
         (path.starts_with("units.") && path != "units.system") || (path.starts_with("time.") && path != "time.step");
}

std::vector<std::string> gravity_unit_systems() {
  std::vector<std::string> names{"auto"};
  for (const auto& system : unit_systems()) names.push_back(system.name);
  names.push_back("custom");
  return names;
}

/// "auto" is what the solver's entry states.
Precision gravity_precision(const RunConfig& config) {
  const std::string& word = config.run.precision;
  if (word == "auto") return solver_entry(config.gravity.solver).default_precision;
  return word == "single" ? Precision::single : word == "double" ? Precision::double_ : Precision::mixed;
}

std::optional<std::uint64_t> gravity_seed(const RunConfig& config) {
  if (config.particles.model.empty()) return std::nullopt;
  return config.particles.options.seed;
}

/// Conflicts between keys of one part are found by that part. The message names the line of the key, if it was given.
void check_combinations(const RunConfig& config, const FindValue& find, bool with_steps) {
  auto conflict = units_conflict(config.units);
  if (!conflict) conflict = solver_conflict(config.gravity);
  if (!conflict && with_steps) conflict = integrator_conflict(config.time_options(), config.gravity);
  if (!conflict) return;
  const ConfigValue* value = find(conflict->key);
  throw Error(ErrorKind::input,
              fmt::format("{}: {}: {}", value ? value->where() : config.source, conflict->key, conflict->why));
}

bool has_files(const RunConfig::ParticlesTable& particles) {
  const auto all = particles.all();
  return std::any_of(all.begin(), all.end(), [](const auto& part) { return !part.file.empty(); });
}

/// The order matters: the cosmology decides the default integrator, and units are needed for the models' constant.
void gravity_complete(RunConfig& config, const FindValue& find, bool with_steps) {
  check_parts(config, find);
  if (with_steps) complete_cosmology(config, find);
  if (!find("time.integrator"))
    config.time.integrator = default_integrator(config.time, config.gravity, config.cosmology.has_value());
  if (with_steps && config.units.system == "auto" && !has_files(config.particles)) config.units.system = "nbody";
  config.chosen_step_max = with_steps && !find("time.step_max") && !config.cosmology;
  choose_step_max(config);
  check_combinations(config, find, with_steps);
  check_analyses(config, find);
  if (config.particles.file.empty() && !config.cosmology)
    check_output_counts(config, 0);  // else when it is known when it starts
  for (auto& part : config.particles.all()) complete_part(part, config);
}

KindEntry gravity_kind() {
  return {.name = "gravity",
          .table = "",
          .owns = gravity_owns,
          .refusal = nullptr,
          .unit_systems = gravity_unit_systems,
          .precision = gravity_precision,
          .seed = gravity_seed,
          .complete = gravity_complete};
}

/// expect.NAME or a key below it, of what is measured of a plasma only.
bool expects_of_a_wave(const std::string& path) {
  const auto& names = plasma_measure_names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return path == "expect." + name || path.starts_with("expect." + name + ".");
  });
}

/// [plasma], what is expected of waves, and its keys of [output].
bool plasma_owns(const std::string& path) {
  const auto keys = plasma_output_keys();
  return path.starts_with("plasma.") || expects_of_a_wave(path) ||
         std::any_of(keys.begin(), keys.end(), [&](const ConfigKey& key) { return key.path == path; });
}

/// Why a plasma does not take a key that only gravity has.
std::string plasma_refusal(const std::string& path) {
  if (path.starts_with("time.")) return "a run with [plasma] takes fixed steps of time.step; leave this key out";
  return "a run has [plasma] or [particles] and [gravity], not both; leave one of them out";
}

std::vector<std::string> plasma_unit_systems() { return {"plasma", "si"}; }

/// "auto" is single precision.
Precision plasma_precision(const RunConfig& config) {
  return config.run.precision == "double" ? Precision::double_ : Precision::single;
}

std::optional<std::uint64_t> plasma_seed(const RunConfig& config) { return config.plasma.seed; }

KindEntry plasma_kind() {
  return {
      .name = "plasma",
      .table = "plasma",
      .owns = plasma_owns,
      .refusal = plasma_refusal,
      .unit_systems = plasma_unit_systems,
      .precision = plasma_precision,
      .seed = plasma_seed,
      .complete = [](RunConfig& config, const FindValue& find, bool /*with_steps*/) { complete_plasma(config, find); }};
}

}  // namespace

const std::vector<KindEntry>& kind_entries() {
  static const std::vector<KindEntry> all{gravity_kind(), plasma_kind()};
  return all;
}

/// By its name in RunConfig::kind, which read_entries() has found from the tables.
const KindEntry& kind_of(const RunConfig& config) {
  for (const KindEntry& kind : kind_entries())
    if (kind.name == config.kind) return kind;
  throw Error(ErrorKind::input, fmt::format("{}: there is no kind of system \"{}\"", config.source, config.kind));
}

const KindEntry* kind_with_table(const std::string& path) {
  for (const KindEntry& kind : kind_entries())
    if (!kind.table.empty() && (path == kind.table || path.starts_with(kind.table + "."))) return &kind;
  return nullptr;
}

/// Keys that no kind owns belong to all kinds.
bool has_key(const KindEntry& kind, const std::string& path) {
  const auto& all = kind_entries();
  return kind.owns(path) ||
         std::none_of(all.begin(), all.end(), [&](const KindEntry& other) { return other.owns(path); });
}

Precision RunConfig::precision() const { return kind_of(*this).precision(*this); }

std::optional<std::uint64_t> RunConfig::seed() const { return kind_of(*this).seed(*this); }

/// Asked when a run begins: a configuration without particles is complete enough for a force evaluation.
void RunConfig::require_particles() const {
  if (has_key(kind_of(*this), "particles.model") && particles.model.empty() && particles.file.empty() &&
      particles.parts.empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: particles.model: expected a model, particles.file, [[particles.parts]] or [plasma], "
                            "found none",
                            source));
}

}  // namespace pergola

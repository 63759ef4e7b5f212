#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"
#include "config/keys.hpp"
#include "config/kind.hpp"
#include "config/output_counts.hpp"
#include "gravity/solver_entry.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

namespace {

bool owns(const std::string& path) {
  return path.starts_with("gravity.") || path.starts_with("particles.") || path.starts_with("output.force_audit_") ||
         is_universe_key(path) || path == "output.radii_every" || path == "output.files" || is_analysis_key(path) ||
         (path.starts_with("units.") && path != "units.system") || (path.starts_with("time.") && path != "time.step");
}

std::vector<std::string> systems_of_units() {
  std::vector<std::string> names{"auto"};
  for (const auto& system : unit_systems()) names.push_back(system.name);
  names.push_back("custom");
  return names;
}

Precision precision_of(const RunConfig& config) {
  const std::string& word = config.run.precision;
  if (word == "auto") return solver_entry(config.gravity.solver).default_precision;
  return word == "single" ? Precision::single : word == "double" ? Precision::double_ : Precision::mixed;
}

std::optional<std::uint64_t> seed_of(const RunConfig& config) {
  if (config.particles.model.empty()) return std::nullopt;
  return config.particles.options.seed;
}

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

void complete(RunConfig& config, const FindValue& find, bool with_steps) {
  check_parts(config, find);
  if (with_steps) complete_cosmology(config, find);
  if (!find("time.integrator"))
    config.time.integrator = default_integrator(config.time, config.gravity, config.cosmology.has_value());
  if (with_steps && config.units.system == "auto" && !has_files(config.particles)) config.units.system = "nbody";
  check_combinations(config, find, with_steps);
  check_analyses(config, find);
  if (config.particles.file.empty() && !config.cosmology)
    check_output_counts(config, 0);  // else when it is known when it starts
  for (auto& part : config.particles.all()) complete_part(part, config);
}

}  // namespace

KindEntry gravity_kind() {
  return {.name = "gravity",
          .table = "",
          .owns = owns,
          .refusal = nullptr,
          .unit_systems = systems_of_units,
          .precision = precision_of,
          .seed = seed_of,
          .complete = complete};
}

}  // namespace pergola

#include <algorithm>

#include "config/keys.hpp"
#include "config/kind.hpp"

namespace pergola {

namespace {

/// expect.NAME or a key below it, of what is measured of a plasma only.
bool expects_of_a_wave(const std::string& path) {
  const auto& names = plasma_measure_names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return path == "expect." + name || path.starts_with("expect." + name + ".");
  });
}

bool owns(const std::string& path) {
  const auto keys = plasma_output_keys();
  return path.starts_with("plasma.") || expects_of_a_wave(path) ||
         std::any_of(keys.begin(), keys.end(), [&](const ConfigKey& key) { return key.path == path; });
}

std::string refusal(const std::string& path) {
  if (path.starts_with("time.")) return "a run with [plasma] takes fixed steps of time.step; leave this key out";
  return "a run has [plasma] or [particles] and [gravity], not both; leave one of them out";
}

std::vector<std::string> systems_of_units() { return {"plasma", "si"}; }

Precision precision_of(const RunConfig& config) {
  return config.run.precision == "double" ? Precision::double_ : Precision::single;
}

std::optional<std::uint64_t> seed_of(const RunConfig& config) { return config.plasma.seed; }

void complete(RunConfig& config, const FindValue& find, bool /*with_steps*/) { complete_plasma(config, find); }

}  // namespace

KindEntry plasma_kind() {
  return {.name = "plasma",
          .table = "plasma",
          .owns = owns,
          .refusal = refusal,
          .unit_systems = systems_of_units,
          .precision = precision_of,
          .seed = seed_of,
          .complete = complete};
}

}  // namespace pergola

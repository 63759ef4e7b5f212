#include "sim/system.hpp"

#include <fmt/core.h>

#include <string>

#include "base/error.hpp"
#include "sim/system_entry.hpp"
#include "sim/unit_text.hpp"

namespace pergola {

const std::vector<SystemEntry>& system_entries() {
  static const std::vector<SystemEntry> all{gravity_system_entry(), plasma_system_entry()};
  return all;
}

const SystemEntry& system_entry(const RunConfig& config) {
  for (const SystemEntry& entry : system_entries())
    if (entry.kind == config.kind) return entry;
  throw Error(ErrorKind::input, fmt::format("{}: there is no kind of system \"{}\"", config.source, config.kind));
}

std::unique_ptr<System> make_system(const RunConfig& config, std::shared_ptr<Communicator> communicator,
                                    StateInput* state) {
  return system_entry(config).make(config, std::move(communicator), state);
}

EnergyUnits System::energy_units() const {
  const AnalysisUnits units = plain_units(sample_look().header);
  if (units.mass.empty()) return {units.time, "", "", ""};
  const std::string momentum = fmt::format("{} {}", units.mass, units.velocity);
  return {units.time, fmt::format("{} ({})^2", units.mass, units.velocity), momentum,
          fmt::format("{} {}", momentum, units.length)};
}

std::string snapshot_name(const RunConfig& config, std::int64_t number) {
  const SystemEntry& entry = system_entry(config);
  const auto at = entry.snapshots.find('#');
  return fmt::format("{}{:0{}}{}", entry.snapshots.substr(0, at), number, entry.snapshots_by_step ? 6 : 3,
                     entry.snapshots.substr(at + 1));
}

Device open_rank_device(const RunConfig& config, const Communicator& communicator) {
  std::string spec = config.run.device;
  if (cuda_built && communicator.size() > 1 && (spec == "auto" || spec == "cuda")) {
    int usable = 0;
    for (const auto& report : list_devices()) usable += report.usable && report.spec.starts_with("cuda:");
    if (usable > 0) spec = fmt::format("cuda:{}", communicator.rank() % usable);
  }
  return Device::open(spec, config.run.threads);
}

}  // namespace pergola

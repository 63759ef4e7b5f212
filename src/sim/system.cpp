#include "sim/system.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "sim/system_entry.hpp"

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

std::string snapshot_name(const RunConfig& config, int number) {
  const std::string& pattern = system_entry(config).snapshots;
  const auto at = pattern.find('#');
  return fmt::format("{}{:03}{}", pattern.substr(0, at), number, pattern.substr(at + 1));
}

}  // namespace pergola

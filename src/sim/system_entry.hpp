#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/system.hpp"

namespace pergola {

/// How a kind of system is made and shown. What a configuration has for it is in config/kind.hpp.
struct SystemEntry {
  std::string kind;                                           // KindEntry::name
  std::string snapshots;                                      // their names in the directory of a run; # is a number
  bool snapshots_by_step = false;                             // that number is the step's, not the output's
  std::string (*picture)(const RunConfig& config) = nullptr;  // what a first picture of it may be called
  bool starts_from_snapshots = false;                         // particles.file may be one of them
  /// With `state`: from what save() gave.
  std::unique_ptr<System> (*make)(const RunConfig& config, std::shared_ptr<Communicator> communicator,
                                  StateInput* state) = nullptr;
};

// At the end of sim/gravity_system.cpp and sim/plasma_system.cpp.
SystemEntry gravity_system_entry();
SystemEntry plasma_system_entry();

PERGOLA_API const std::vector<SystemEntry>& system_entries();
/// Of the configuration's kind.
PERGOLA_API const SystemEntry& system_entry(const RunConfig& config);

/// "snap_012.hdf5", or "plasma_000240.h5" of step 240: openPMD's iteration is the step, and file names have it.
PERGOLA_API std::string snapshot_name(const RunConfig& config, std::int64_t number);

}  // namespace pergola

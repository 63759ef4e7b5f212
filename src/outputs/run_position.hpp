#pragma once
#include <string>

#include "analysis/energy.hpp"
#include "base/profile.hpp"
#include "config/config.hpp"
#include "outputs/output.hpp"

namespace pergola {

/// What a run's checkpoint holds beside the state of the system.
struct RunPosition {
  RunConfig config;
  Energies start;             // at the start of the run
  double time = 0;            // of the state; checkpoints of earlier versions do not say it
  std::string initial_state;  // hash of the particles at the start of the run; empty in earlier versions
  double wall_seconds = 0;
  OutputMemory outputs;
  Profile profile;
};

std::string describe(const RunPosition& position);
/// Throws Error(input) on a description of another version.
RunPosition read_description(const std::string& description);

}  // namespace pergola

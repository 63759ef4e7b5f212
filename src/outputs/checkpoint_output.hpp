#pragma once
#include <string>

#include "analysis/energy.hpp"
#include "base/profile.hpp"
#include "config/config.hpp"
#include "device/device.hpp"
#include "outputs/output.hpp"

namespace pergola {

/// What a run's checkpoint holds beside the state of the system.
struct RunPosition {
  RunConfig config;
  Energies start;             // at the start of the run
  double time = 0;            // of the state; checkpoints of earlier versions do not say it
  std::string computed_on;    // what did the steps, as computed_on() says it; empty in earlier versions
  std::string initial_state;  // hash of the particles at the start of the run; empty in earlier versions
  double wall_seconds = 0;
  OutputMemory outputs;
  Profile profile;
};

std::string describe(const RunPosition& position);
/// What the bits of a run depend on beside the program: the model of the GPU, or the instruction set of the CPU.
std::string computed_on(const Device& device);
/// Throws Error(input) on a description of another version.
RunPosition read_description(const std::string& description);

/// The folder of the directory of a run that the checkpoints are in.
inline constexpr const char* checkpoint_folder = "checkpoint";

/// checkpoint/: all that is needed to go on, whenever the run pauses for it. Taken at once, written by a thread of its
/// own while the steps go on.
OutputEntry checkpoint_output();

}  // namespace pergola

#pragma once
#include <string>

#include "analysis/energy.hpp"
#include "base/profile.hpp"
#include "config/config.hpp"
#include "device/device.hpp"
#include "outputs/output.hpp"

// Checkpoints of a run: the state of the system, and a description of the run as JSON. A run that resumes reads the
// description first.
// A checkpoint is copied at once and written by another thread while the steps continue. With distributed particles
// every rank writes its part. What always holds: a resumed run has the bits of the uninterrupted one.
namespace pergola {

/// The content of a checkpoint beside the state of the system. Values that earlier versions did not write are 0 or
/// empty.
struct RunPosition {
  RunConfig config;
  Energies start;             // at the start of the run
  double time = 0;            // of the state
  std::string computed_on;    // the device of the steps, from computed_on()
  std::string initial_state;  // hash of the particles at the start of the run
  double wall_seconds = 0;
  OutputMemory outputs;
  Profile profile;
};

std::string describe(const RunPosition& position);
/// What the bits of a run depend on beside the program: the model of the GPU, or the instruction set of the CPU.
std::string computed_on(const Device& device);
/// Throws Error(input) if the format is not this version's.
RunPosition read_description(const std::string& description);

/// The folder of checkpoints in the directory of a run.
inline constexpr const char* checkpoint_folder = "checkpoint";

/// checkpoint/: everything that a resumed run needs. Written whenever the run pauses for it.
OutputEntry checkpoint_output();

}  // namespace pergola

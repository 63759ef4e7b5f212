#pragma once
// The plan of a run: does it fit into memory, and how long does it take?
//
// Steps: (1) count the particles without making them, (2) memory from the sizes of all arrays, (3) a trial of at most
// 10 s, (4) steps and outputs of the trial scaled to the whole run, (5) a range for the seconds.
// Always: no file stays behind, and the trial takes at most a tenth of the free memory.
// Units: bytes, seconds on the clock or of all processors together, and time units of the configuration.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "config/config.hpp"
#include "sim/universe_resolution.hpp"

namespace pergola {

/// How a plan is made.
struct PlanOptions {
  bool trial = true;                                      // of at most 10 s and a tenth of the free memory
  std::function<void(const std::string& part)> begins{};  // called before each part that may take a while
};

/// The memory, work and time that a run will take.
struct RunPlan {
  std::int64_t n = 0;
  std::string device, device_name;
  double device_bytes = 0;   // integrator and solver
  double host_bytes = 0;     // the program, particles on their way to the device, files that wait to be written
  double program_bytes = 0;  // of these: the program, with the device opened
  double device_free_bytes = 0, host_free_bytes = 0;
  bool fits = false;

  double steps = 0, particle_steps = 0, interactions = 0;  // interactions: pairs; 0 on a mesh
  double seconds = 0;                                      // on the clock
  double seconds_low = 0, seconds_high = 0;                // the range expected for the seconds
  double processor_seconds = 0;                            // of all threads together
  double interactions_per_second = 0;
  /// seconds and processor_seconds are of all `count` together.
  /// The parts of the seconds: the start, the steps, and each kind of output.
  struct Part {
    std::string name;
    double count = 0;
    double seconds = 0, processor_seconds = 0;
  };
  std::vector<Part> parts;
  std::string steps_basis;  // how the steps were estimated
  std::string rate_basis;   // how the rate was estimated
  std::vector<std::string> tried, assumed;
  std::vector<std::string> chosen;  // sentences of the run about what it chooses itself
  std::vector<std::string> warnings;
  std::optional<UniverseResolution> universe{};  // up to which scales its structure can be trusted
};

/// Estimates what a run takes, before it starts. Memory: from the sizes of its arrays, or measured. Steps, outputs and
/// their time: from a trial with the run's own particles, or with fewer if a tenth of the memory or a start of some
/// seconds do not allow all. If steps change while particles cluster, a thinned sample goes on to the end of the run.
/// Without a trial: a rough guess from typical rates. Leaves no file behind.
PERGOLA_API RunPlan plan_run(const RunConfig& config, const PlanOptions& options = {});

}  // namespace pergola

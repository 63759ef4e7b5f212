#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "config/config.hpp"

namespace pergola {

/// What a run will take, before it is begun.
struct RunPlan {
  std::int64_t n = 0;
  std::string device, device_name;
  double device_bytes = 0;  // integrator and solver
  double host_bytes = 0;    // particles for output
  double device_free_bytes = 0, host_free_bytes = 0;
  bool fits = false;

  double steps = 0, particle_steps = 0, interactions = 0;  // interactions: pairs; 0 on a mesh
  double seconds = 0;
  double interactions_per_second = 0;
  std::string steps_basis;  // how the steps were estimated
  std::string rate_basis;   // and how the rate
  std::vector<std::string> warnings;
};

/// Sizes the run and estimates its work: the memory from the sizes of its arrays; steps and rate from a trial of some
/// seconds with the run's own particles where these are few, else from one of under a second with a thousand of them,
/// scaled up, and a short force evaluation on the device. Takes no more memory than that.
PERGOLA_API RunPlan plan_run(const RunConfig& config);
/// The same for a run with [plasma]; plan_run calls it.
RunPlan plan_plasma(const RunConfig& config);

}  // namespace pergola

#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "config/config.hpp"
#include "device/device.hpp"

namespace pergola {

/// Checks step and grid of a plasma run before it starts. Returns warnings, each with its number and the remedy; throws
/// Error(input) if the run cannot be stable. Limits: Birdsall & Langdon 1985, sections 4-2 and 8-13.
PERGOLA_API std::vector<std::string> check_plasma(const RunConfig& config);

/// Bytes of a plasma run: particles, grid and scratch on the device, and the particles on the host while they are
/// loaded; with several ranks, of one rank. Numbers of particles may be beyond the range of an integer.
struct PlasmaMemory {
  double particles = 0;
  double device_bytes = 0, host_bytes = 0;
  double device_free_bytes = 0, host_free_bytes = 0;
  bool fits = false;
};
PERGOLA_API PlasmaMemory plasma_memory(const RunConfig& config, const Device& device, int ranks = 1);

/// Whole steps of a plasma run; what is left to its end is one shorter step. Rounding is not a step.
std::int64_t whole_plasma_steps(const RunConfig& config);

}  // namespace pergola

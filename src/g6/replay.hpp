#pragma once
/// Repeats the calls of a trace (g6/trace.hpp) on a device and compares the results with the recorded ones.
///
/// Steps: calls are read one by one and made on clusters of this process, without the C functions; results of blocks
/// and neighbour lists are compared. The time counts the library only, without reading the trace. Differences are
/// relative, without units. A truncated trace is replayed up to its end and reported as such.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/host_device.hpp"
#include "device/device.hpp"
#include "particles/particles.hpp"

namespace pergola::g6 {

/// Relative differences |new − recorded| / |recorded| over all results of a trace.
struct ReplayDifferences {
  std::int64_t count = 0;
  double median = 0, p99 = 0, max = 0;
};

/// interactions: i-particles times nj, summed over the blocks.
struct ReplayReport {
  std::int64_t calls = 0;
  std::int64_t j_particles = 0;  // sent
  std::int64_t blocks = 0, i_particles = 0;
  std::int64_t interactions = 0;
  double seconds = 0;  // in the library, without reading the trace
  ReplayDifferences acceleration, jerk, potential;
  std::int64_t nearest_compared = 0, nearest_different = 0;
  std::int64_t lists_compared = 0, lists_different = 0;
  bool truncated = false;
};

/// Calls that failed when recorded are not compared. Throws Error(input) if a call contradicts itself or calls before
/// it: lengths of lists, places in the block, addresses that a trace of this size cannot fill. `look` is called a few
/// times a second and may throw.
PERGOLA_API ReplayReport replay_trace(const std::filesystem::path& path, const Device& device, Precision precision,
                                      bool self_neighbour, const std::function<void()>& look = {});

}  // namespace pergola::g6

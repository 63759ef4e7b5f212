#include "run/process_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "device/device.hpp"

namespace pergola {

namespace {

constexpr std::size_t longest_stage = 64;  // of its name

/// A line such as "VmHWM:  1234 kB" of what Linux says about this process.
double status_bytes(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return 1024 * std::strtod(line.c_str() + std::strlen(name), nullptr);
  return 0;
}

}  // namespace

double resident_bytes() { return status_bytes("VmRSS:"); }
double most_resident_bytes() { return status_bytes("VmHWM:"); }

MostMemory find_most_memory(Communicator& ranks) {
  std::int64_t most[2] = {static_cast<std::int64_t>(most_resident_bytes()),
                          static_cast<std::int64_t>(gpu_most_held_bytes())};
  const std::int64_t own = most[1];
  ranks.all_reduce(most, 2, Reduction::maximum);
  std::int64_t who = own == most[1] ? ranks.rank() : ranks.size();
  ranks.all_reduce(&who, 1, Reduction::minimum);
  std::string stage = gpu_most_held_in();
  stage.resize(longest_stage);
  ranks.broadcast(stage.data(), stage.size(), static_cast<int>(who));
  return {most[0], most[1], stage.c_str()};
}

}  // namespace pergola

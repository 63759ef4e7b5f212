#include "run/process_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "device/memory_account.hpp"

namespace pergola {

namespace {

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
  ranks.all_reduce(most, 2, Reduction::maximum);
  return {most[0], most[1]};
}

}  // namespace pergola

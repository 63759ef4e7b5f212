#pragma once
#include <cstdint>
#include <string>

#include "comm/communicator.hpp"

namespace pergola {

/// Memory of this process, in bytes; 0 where the operating system does not say.
double resident_bytes();
double most_resident_bytes();

/// The most bytes that a process has had at a time, of the rank that had most of each.
struct MostMemory {
  std::int64_t host = 0, gpu = 0;
  std::string gpu_in;  // the stage of a step; empty: in none
};
/// A call of all ranks.
MostMemory find_most_memory(Communicator& ranks);

}  // namespace pergola

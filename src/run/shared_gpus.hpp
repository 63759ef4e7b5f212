#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "device/device.hpp"

namespace pergola {

/// Where a rank works. Plain bytes, to be sent.
struct RankGpu {
  GpuIdentity gpu{};  // zeros: it has none
  std::int64_t process = 0;
  std::int64_t in_turns = 0;  // whether processes take turns on its GPU, for there is no MPS
};

/// A sentence where processes take turns on a GPU that they share; else empty. Ranks that are threads of one process do
/// not.
std::string shared_gpus_remark(const std::vector<RankGpu>& ranks);

/// Whether NVIDIA's MPS, through which processes share a GPU at the same time, is to be reached in this directory.
bool mps_is_in(const std::filesystem::path& directory);

/// The same of the ranks of a run, on rank 0; a call of all.
std::string find_shared_gpus(const Device& device, Communicator& ranks);

}  // namespace pergola

#include "run/shared_gpus.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <system_error>

#include "comm/collectives.hpp"

namespace pergola {

namespace {

/// As CUDA looks for it.
std::filesystem::path mps_directory() {
  const char* const said = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return said && *said ? said : "/tmp/nvidia-mps";
}

}  // namespace

std::string shared_gpus_remark(const std::vector<RankGpu>& ranks) {
  std::map<GpuIdentity, std::set<std::int64_t>> processes;
  for (const RankGpu& rank : ranks)
    if (rank.gpu != GpuIdentity{} && rank.in_turns) processes[rank.gpu].insert(rank.process);
  std::erase_if(processes, [](const auto& one) { return one.second.size() < 2; });
  if (processes.empty()) return {};
  const auto sharing =
      std::count_if(ranks.begin(), ranks.end(), [&](const RankGpu& rank) { return processes.contains(rank.gpu); });
  return fmt::format(
      "{} ranks share {} GPU{} and take turns there, for NVIDIA's MPS is not running: steps may take many times as "
      "long (docs/cluster.md, \"Ranks that share a GPU\")",
      sharing, processes.size(), processes.size() > 1 ? "s" : "");
}

bool mps_is_in(const std::filesystem::path& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory / "control", ignored);
}

std::string find_shared_gpus(const Device& device, Communicator& ranks) {
  if (ranks.size() == 1) return {};
  RankGpu own{{}, getpid(), mps_is_in(mps_directory()) ? 0 : 1};
  if constexpr (cuda_built)
    if (device.is_cuda()) own.gpu = gpu_identity(device);
  return shared_gpus_remark(gather_on_root<RankGpu>(ranks, {own}));
}

}  // namespace pergola

#include "run/rank_report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "base/version.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "device/device.hpp"

namespace pergola {

namespace {

/// A line's value without the remark that config_text() may write behind it.
std::string without_comment(std::string value) {
  const auto comment = value.rfind(" # ");
  if (comment != std::string::npos) value.resize(value.find_last_not_of(' ', comment) + 1);
  return value;
}

/// The directory where CUDA looks for MPS.
std::filesystem::path mps_directory() {
  const char* const said = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return said && *said ? said : "/tmp/nvidia-mps";
}

/// Seconds of work in a stage; 0 if there is no such stage.
double work_in(const std::string& name, const Profile& profile) {
  for (const auto& stage : profile.stages())
    if (stage.name == name) return stage.seconds - stage.waiting;
  return 0;
}

struct MeanAndMost {
  double mean = 0, most = 0;
};

/// The mean and the most over the ranks, of number k of each rank's `size` numbers.
MeanAndMost over_ranks(const std::vector<double>& all, std::size_t size, std::size_t k) {
  MeanAndMost found;
  for (std::size_t at = k; at < all.size(); at += size) {
    found.mean += all[at];
    found.most = std::max(found.most, all[at]);
  }
  found.mean /= static_cast<double>(all.size() / size);
  return found;
}

/// Bytes sent for the name of a stage: all ranks must send the same number.
constexpr std::size_t longest_stage_name = 64;

/// The bytes of a line such as "VmHWM:  1234 kB" of /proc/self/status; 0 without such a line.
double status_bytes(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return 1024 * std::strtod(line.c_str() + std::strlen(name), nullptr);
  return 0;
}

}  // namespace

/// From the configuration's text, so that a new key is compared without any change here.
std::vector<Fact> configuration_facts(RunConfig config) {
  config.run.threads = 0;
  config.run.device = config.run.device.substr(0, config.run.device.find(':'));
  std::istringstream lines(config_text(config));
  std::vector<Fact> facts;
  std::string line, table;
  while (std::getline(lines, line)) {
    const auto equals = line.find(" = ");
    if (line.starts_with("["))
      table = line.substr(0, line.find(']')).substr(line.find_first_not_of('[')) + ".";
    else if (equals != std::string::npos)
      facts.push_back({table + line.substr(0, equals), without_comment(line.substr(equals + 3))});
  }
  return facts;
}

std::vector<Fact> program_facts() {
  return {{"version", std::string(version()) + " (commit " + std::string(build_commit()) + ")"},
          {"instruction set", cpu_instruction_set()}};
}

/// GPUs are distinguished by their identity, because each process counts them from 0.
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

RankTimes find_rank_times(CountedCommunicator& ranks, const Profile& before, const Profile& now, double seconds) {
  const Traffic traffic = ranks.traffic();
  std::string names;
  if (ranks.is_root())
    for (const auto& stage : now.stages()) names += stage.name + '\n';
  share(ranks, names);
  RankTimes times;
  for (std::size_t begin = 0, end; (end = names.find('\n', begin)) != std::string::npos; begin = end + 1)
    times.stages.push_back({names.substr(begin, end - begin)});

  // A rank's numbers: its work, its waiting, and its work in each stage of rank 0, in this order.
  std::vector<double> own{seconds - traffic.seconds, traffic.seconds};
  for (const auto& stage : times.stages)
    own.push_back(std::max(work_in(stage.name, now) - work_in(stage.name, before), 0.0));
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<double> all(own.size() * size);
  std::copy(own.begin(), own.end(), all.begin() + ranks.rank() * std::ssize(own));
  ranks.all_gather_in_place(all.data(), std::vector<std::size_t>(size, own.size() * sizeof(double)));
  std::int64_t sums[2] = {traffic.bytes, traffic.calls};
  ranks.all_reduce(sums, 2, Reduction::sum);

  times.ranks = ranks.size();
  const auto [working, working_most] = over_ranks(all, own.size(), 0);
  times.working_mean = working, times.working_most = working_most;
  times.waiting_mean = over_ranks(all, own.size(), 1).mean;
  times.bytes = sums[0], times.calls = sums[1];
  for (std::size_t k = 0; k < times.stages.size(); ++k) {
    const auto [mean, most] = over_ranks(all, own.size(), 2 + k);
    times.stages[k].mean = mean, times.stages[k].most = most;
  }
  return times;
}

std::string RankTimes::text() const {
  return fmt::format(
      "{} ranks: each worked {:.3g} s, the busiest {:.2f} times that, and spent {:.3g} s with the "
      "others; {} in {} calls",
      ranks, working_mean, imbalance(working_most, working_mean), waiting_mean, bytes_text(static_cast<double>(bytes)),
      calls);
}

double resident_bytes() { return status_bytes("VmRSS:"); }
double most_resident_bytes() { return status_bytes("VmHWM:"); }

MostMemory find_most_memory(Communicator& ranks) {
  std::int64_t most[2] = {static_cast<std::int64_t>(most_resident_bytes()),
                          static_cast<std::int64_t>(gpu_most_held_bytes())};
  const std::int64_t own = most[1];
  ranks.all_reduce(most, 2, Reduction::maximum);
  // Of the ranks that had most, the first one names the stage.
  std::int64_t largest = own == most[1] ? ranks.rank() : ranks.size();
  ranks.all_reduce(&largest, 1, Reduction::minimum);
  std::string stage = gpu_most_held_in();
  stage.resize(longest_stage_name);
  ranks.broadcast(stage.data(), stage.size(), static_cast<int>(largest));
  return {most[0], most[1], stage.c_str()};
}

}  // namespace pergola

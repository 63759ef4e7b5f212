#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/profile.hpp"
#include "comm/agreement.hpp"
#include "comm/counted_communicator.hpp"
#include "config/config.hpp"
#include "device/device.hpp"

// What the ranks of a run find out about each other: at the start whether they run the same program with the same
// configuration, and whether processes take turns on a GPU; at the end what time they worked and waited, what they
// sent, and how much memory they took. The functions that take a communicator are collective, and no rank's particles
// are touched: nothing here alters the trajectory.
namespace pergola {

/// What must be the same on all ranks of a run: every key of the configuration but run.threads and the number of the
/// device.
std::vector<Fact> configuration_facts(RunConfig config);
/// The program itself: version, commit and the instruction set that it computes with.
PERGOLA_API std::vector<Fact> program_facts();

/// Where a rank works. Plain bytes, to be sent.
struct RankGpu {
  GpuIdentity gpu{};  // zeros: none
  std::int64_t process = 0;
  std::int64_t in_turns = 0;  // 1: without MPS, so that processes take turns on its GPU
};
/// A sentence if processes take turns on a GPU that they share; else empty. Ranks that are threads of one process do
/// not take turns.
std::string shared_gpus_remark(const std::vector<RankGpu>& ranks);
/// Whether NVIDIA's MPS, with which processes use a GPU at the same time, has its control file in this directory.
bool mps_is_in(const std::filesystem::path& directory);
/// shared_gpus_remark() of the ranks of a run, on rank 0. Collective.
std::string find_shared_gpus(const Device& device, Communicator& ranks);

/// Where the time of several ranks went, in one session of a run. Work is the time outside calls to other ranks.
struct RankTimes {
  struct Stage {
    std::string name;
    double mean = 0, most = 0;  // seconds of work, over the ranks
  };
  int ranks = 1;
  double working_mean = 0, working_most = 0, waiting_mean = 0;  // seconds
  std::int64_t bytes = 0, calls = 0;                            // of all ranks
  std::vector<Stage> stages;                                    // those that rank 0 has

  /// The most over the mean: how much longer all ranks wait for the busiest.
  static double imbalance(double most, double mean) { return mean > 0 ? most / mean : 1; }
  /// One sentence.
  std::string text() const;
};
/// Collective. `before`: this rank's profile when the session began; `seconds`: since then.
RankTimes find_rank_times(CountedCommunicator& ranks, const Profile& before, const Profile& now, double seconds);

/// Memory of this process in bytes, now and at most; 0 if the operating system does not say.
double resident_bytes();
double most_resident_bytes();

/// The most bytes that a process has had at a time: for the host and for the GPU, of the rank that had most.
struct MostMemory {
  std::int64_t host = 0, gpu = 0;
  std::string gpu_in;  // the stage of a step; empty: in none
};
/// Collective.
MostMemory find_most_memory(Communicator& ranks);

}  // namespace pergola

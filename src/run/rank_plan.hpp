#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "comm/communicator.hpp"
#include "run/rank_traffic.hpp"

namespace pergola {

class System;

/// What ranks said to each other in some steps of a sample, counted with ranks that are threads of this process.
struct DryRun {
  int ranks = 1;
  std::int64_t n = 0, steps = 0;
  /// Of a rank and step: the larger of what it sends and what it gets, over the ranks.
  double bytes_mean = 0, bytes_most = 0;
  double sent_per_particle = 0;  // bytes of all ranks together over particles and steps
  double messages_most = 0;
  double seconds_mean = 0;  // processor time of a rank and step
  double imbalance = 1;     // that of the busiest rank over the mean
  double added_work = 0;    // processor time of all ranks over that of one rank with the same particles, less 1
};

/// Makes the system on each rank, and takes a step and after it so many that are counted, or those up to its end. Of
/// the run about `together` steps follow one another before somebody looks at its particles, which are at home then
/// (time/work_places.hpp): that part of the way there and back is a step's too.
PERGOLA_API DryRun count_traffic(int ranks, std::int64_t steps, double together, double end_time,
                                 const std::function<std::unique_ptr<System>(std::shared_ptr<Communicator>)>& make);

/// From one rank with the same particles.
PERGOLA_API void set_added_work(DryRun& tried, const DryRun& one_rank);

/// Bytes of a rank and step as its share m of the particles grows, at as many cells per particle: `volume` m for what
/// each particle or cell sends (places to where they are worked on, forces back, the mesh's transposition), and
/// `surface` m^(2/3) for what lies at the faces of a domain (cells and particles that are fetched, planes of the mesh).
struct TrafficRule {
  double volume = 0, surface = 0;
  PERGOLA_API double at(double m) const;
};
/// Through the bytes of the larger share `m`, and of `fewer` where both parts can then be at least 0.
PERGOLA_API TrafficRule fit_traffic(double m, double bytes, double fewer, double bytes_of_fewer);
/// Messages of a rank and step on more ranks than were tried: each has as many more partners.
PERGOLA_API double scaled_messages(double messages, int tried_ranks, int ranks);

/// Added work of a run whose ranks have `more` times the particles of the tried ones: packing, top cells and branches
/// of others are at the faces of a domain, whose share of the whole falls as the cube root of the particles.
PERGOLA_API double scaled_added_work(double added, double more);

/// Seconds of a stage in a step.
struct StageSeconds {
  std::string name;
  double seconds = 0;
};

/// What a run takes on several ranks, each with the threads and the speed that the trial had.
struct RankPlan {
  int ranks = 1;
  bool weak = false;     // as many times the particles of the configuration, in as many times its box
  bool spread = true;    // each rank keeps its own particles. False: today every rank keeps all
  bool foretold = true;  // times; only if it is known what ranks that keep their own would send
  Network network{};
  double device_bytes = 0, host_bytes = 0;  // of a rank
  bool on_gpu = false;                      // its device has memory of its own
  double constant_bytes = 0;                // of these, on a GPU of the first, more than its share of one process
  double waiting_bytes = 0;                 // on rank 0 beside these, of files that wait to be written
  double one_rank_seconds = 0;              // of a step of all particles
  double compute_seconds = 0, communication_seconds = 0, efficiency = 1;
  double hidden_seconds = 0;  // of both, for they are done side by side
  double imbalance = 1, added_work = 0;
  double bytes = 0, messages = 0;       // of the rank that has most, in a step
  std::vector<StageSeconds> work{};     // what the seconds of computing are made of
  std::vector<TrafficPart> exchange{};  // and those with the network
  std::vector<DryRun> counted{};        // the larger sample first
  double by_rule_over_counted = 0;      // bytes of the largest sample; 0: there is no rule, or no sample was run
};

/// How the traffic of a sample becomes that of the run.
struct RunShape {
  double n = 0;
  bool whole = false;  // the first sample is the run, on as many ranks
  /// All sources come to every rank: its bytes do not shrink as ranks are added.
  bool sources_come_by = false;
  std::vector<StageSeconds> stages{};     // of one process, in any unit
  std::vector<TrafficPart> by_rule{};     // of the run: parts whose traffic is known
  std::vector<TrafficPart> of_counted{};  // the same of the samples, each summed up
  /// TreePM on GPUs: a rank fetches guests, builds trees and walks them beside what the mesh does
  /// (domain/work_beside.hpp).
  bool trees_beside_mesh = false;
  double host_waits_seconds = 0;  // of a rank and step: its GPU waits for the host, which reads counts or has messages
};
/// Fills in times, bytes and efficiency from `counted`, `ranks`, `network` and `one_rank_seconds`. Without samples all
/// traffic is known by rule, and imbalance and added work are as given.
PERGOLA_API void foretell_ranks(RankPlan& plan, const RunShape& run);

/// Rank 0 of so many, which has nobody to talk to: for parts that are asked how large they would be.
std::shared_ptr<Communicator> lone_rank_of(int ranks);

/// Ranks of a dry run at most.
constexpr int most_dry_ranks = 64;

/// A rate such as 12.5GB/s, 800MB/s, 1e9B/s or 1e9, in bytes a second; none where it is not one above 0.
PERGOLA_API std::optional<double> parse_byte_rate(const std::string& text);

/// Numbers of ranks such as 64 or 8,64,1024, each from 1 to most_planned_ranks; none where they are not.
constexpr int most_planned_ranks = 1 << 20;
PERGOLA_API std::optional<std::vector<int>> parse_rank_list(const std::string& text);

}  // namespace pergola

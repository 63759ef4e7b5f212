#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/energy.hpp"
#include "outputs/output.hpp"
#include "run/rank_report.hpp"
#include "run/run.hpp"
#include "sim/report_card.hpp"
#include "sim/system.hpp"

// The record of a run: run.json, which is rewritten at the start, at commands of a watcher and at the end, and
// failure.json and profile.csv. Reading it again serves --resume (is the run finished?), --reproduce (repeat it and
// compare the bits) and a resumed session (earlier commands). Its keys are described in docs/files.md.
namespace pergola {

/// The part of run.json that configuration, system and outputs do not know.
struct RunRecord {
  std::string status;  // running | interrupted | finished | failed
  double wall_seconds = 0;
  int ranks = 1;
  std::optional<RankTimes> times{};    // with several ranks, at the end of a session
  std::optional<MostMemory> memory{};  // at the end of a session
  std::string forked_from{};           // of a branch: JSON
};

/// The text of run.json. `results`: what the outputs have found so far.
std::string record_text(const RunConfig& config, const System& system, const RunResults& results,
                        const RunRecord& record);

/// The run.json of a finished run; nothing if there is none, or the run is not finished.
struct FinishedRun {
  double end_time = 0;
  RunSummary summary;
  std::optional<RunConfig> config;  // nothing if another version wrote it and it is not understood
};
std::optional<FinishedRun> read_finished_run(const std::filesystem::path& run_json);
/// The commands that earlier sessions of the run were given; none if there is no record of them.
std::vector<ControlLine> read_control(const std::filesystem::path& run_json);

/// Where a branch begins (run/fork.hpp).
struct BranchOrigin {
  std::filesystem::path directory, checkpoint;
  double time = 0;
  std::vector<std::string> changes;  // "key=value"
};
/// The run.json of a branch before its first step. If the origin is a branch too, with the origin of that.
std::string branch_text(const RunConfig& config, const BranchOrigin& origin);
/// Of the run.json of a branch: its origin as JSON, and its configuration. Empty if the run is no branch.
struct BranchRecord {
  std::string forked_from, configuration;
};
BranchRecord read_branch(const std::filesystem::path& run_json);

/// failure.json: the error, the time, and the particle's state if one particle caused it.
std::string failure_text(const std::exception& error, const System& system);

/// profile.csv; with several ranks also the work of all ranks in this session.
std::string profile_text(const Profile& profile, const std::optional<RankTimes>& ranks);

/// What is needed of a run.json to repeat its run.
struct FinishedRecord {
  RunConfig config;
  std::string text;  // of run.json
};
/// Throws Error(input) unless the file is the record of a finished run, with the hash of its final state.
PERGOLA_API FinishedRecord read_record_to_reproduce(const std::filesystem::path& run_json);

/// Whether two runs ended with the same bits, and what may have made them differ.
struct RecordComparison {
  bool same = false;
  std::string expected, found;           // hashes of the final states
  std::vector<std::string> differences;  // sentences: program, instruction set, device, particles at the start
};
/// Of two texts of run.json.
PERGOLA_API RecordComparison compare_records(const std::string& expected, const std::string& found);

}  // namespace pergola

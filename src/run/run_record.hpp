#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/energy.hpp"
#include "outputs/output.hpp"
#include "run/process_memory.hpp"
#include "run/run.hpp"
#include "sim/report_card.hpp"
#include "sim/system.hpp"

namespace pergola {

/// What run.json says beside what configuration, system and outputs know themselves.
struct RunRecord {
  std::string status;  // running | interrupted | finished | failed
  double wall_seconds = 0;
  int ranks = 1;
  std::optional<RankTimes> times{};    // of several ranks, at the end of a session
  std::optional<MostMemory> memory{};  // at the end of a session
};

std::string record_text(const RunConfig& config, const System& system, const RunResults& results,
                        const RunRecord& record);

/// run.json of a run that has come to its end, if it is one: with its end time.
struct FinishedRun {
  double end_time = 0;
  RunSummary summary;
  std::optional<RunConfig> config;  // nothing where another version wrote one that is not understood
};
std::optional<FinishedRun> read_finished_run(const std::filesystem::path& run_json);
/// What the sessions of a run before were told; nothing where there is no record that says it.
std::vector<ControlLine> read_control(const std::filesystem::path& run_json);

/// failure.json: what went wrong, when, and the particle's state where one particle is to blame.
std::string failure_text(const std::exception& error, const System& system);

/// profile.csv; of several ranks with the work of all in this session.
std::string profile_text(const Profile& profile, const std::optional<RankTimes>& ranks);

}  // namespace pergola

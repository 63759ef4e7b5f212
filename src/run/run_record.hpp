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

/// A finished run, as its run.json tells it: what is needed to make it again.
struct FinishedRecord {
  RunConfig config;
  std::string text;  // of run.json
};
/// Throws Error(input) for a file that is not the record of a finished run with the hash of its final state.
PERGOLA_API FinishedRecord read_record_to_reproduce(const std::filesystem::path& run_json);

/// Whether two runs came to the same bits, and what may have made them differ.
struct RecordComparison {
  bool same = false;
  std::string expected, found;           // hashes of the final states
  std::vector<std::string> differences;  // sentences: program, instruction set, device, particles at the start
};
/// Of two texts of run.json.
PERGOLA_API RecordComparison compare_records(const std::string& expected, const std::string& found);

}  // namespace pergola

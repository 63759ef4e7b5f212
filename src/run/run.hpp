#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/stopwatch.hpp"
#include "comm/communicator.hpp"
#include "config/config.hpp"
#include "run/rank_report.hpp"
#include "run/watcher.hpp"
#include "sim/report_card.hpp"
#include "sim/unit_text.hpp"
#include "time/integrator.hpp"

// A run of a configuration: steps, and outputs between them, to its end.
//
// Order: (1) ranks agree on the configuration, (2) rank 0 locks the directory and looks for a checkpoint, (3) all ranks
// make the system, or read it from the checkpoint, and the outputs, (4) steps up to the next output time, signal or
// wish of a watcher, again and again, (5) the last checkpoint, the last steps, the report card and run.json.
// Always: outputs and pauses never alter the trajectory; all ranks take the same decisions; a resumed run has the bits
// of an uninterrupted one; a fresh run that fails before its first outputs leaves nothing behind.
namespace pergola {

/// The progress of a run.
struct RunProgress {
  double start_time = 0, time = 0, end_time = 0;
  ShownTimeUnit time_unit;             // that people are shown these in
  double fraction = 0;                 // of the time; in an expanding universe of ln a
  std::optional<double> energy_error;  // of the latest line of energy.csv after the first
  double force_error = 0;              // median, of the latest line of audit.csv; 0: none
  double wall_seconds = 0;             // of the whole run, with the sessions before this one
  double seconds_left = 0;             // at the pace of the last half of what this session covered
  double interactions_per_second = 0;  // 0 with a solver that does not sum over pairs; as below without held time
  double particle_steps_per_second = 0;
  StepCounts counts;
};

struct RunOptions {
  std::filesystem::path directory;
  bool resume = false;  // go on from the newest checkpoint; if none was ever written, move the outputs there are into
                        // a folder earlier_001 and start afresh
  bool overwrite = false;  // replace the run that the directory holds
  Log log;
  std::function<void(const std::string&)> notice;  // sentences that --quiet does not hide
  std::function<bool()> interrupted;               // asked after every step or output: end with a checkpoint?
  std::function<bool()> checkpoint_asked;          // asked likewise: write a checkpoint and go on?
  double wall_limit_seconds = 0;                   // after `wall_begin`: end with a checkpoint before that; 0: never
  Clock::time_point wall_begin = Clock::now();
  std::function<void(const RunProgress&)> progress;  // called a few times a second, on rank 0
  RunWatcher* watcher = nullptr;                     // on rank 0
  /// Particles and their first forces are made or read without interruption. Called before that, with a function that
  /// undoes all that the run has done so far (for a caller that ends the process meanwhile), and with null after it.
  std::function<void(const std::function<void()>& undo)> making;
};

enum class RunStatus { finished, interrupted, finished_before };

struct PERGOLA_API RunSummary {
  RunStatus status = RunStatus::finished;
  double energy_error = 0;
  std::vector<Check> checks;
  StepCounts counts;
  double wall_seconds = 0;
  int snapshots = 0;
  std::optional<RankTimes> ranks;  // with several ranks, of this session
  std::string json;                // the contents of run.json

  bool all_passed() const;
};

/// Runs a configuration from its start, or from the newest checkpoint, to its end. Leaves run.json, energy.csv,
/// audit.csv (if asked for), profile.csv, snap_NNN.hdf5 and checkpoint/ in the directory; a particle that fails is
/// written to failure.json. A resumed run may change run.end_time, run.device, run.threads and [output] only. On a
/// finished run nothing is changed, unless run.end_time has grown: then it goes on as if it had been that long from the
/// start.
PERGOLA_API RunSummary run_system(const RunConfig& config, const RunOptions& options,
                                  std::shared_ptr<Communicator> communicator = serial_communicator());

}  // namespace pergola

#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/stopwatch.hpp"
#include "comm/communicator.hpp"

// Who looks at a run while it goes on, and why its steps pause. A RunWatcher (the live view of a browser) sees the
// system and may hold the run; a PauseWatch adds signals, the wall time and the time since the last checkpoint, and
// lets all ranks take the same decision. Nothing here alters the trajectory: steps pause only between whole steps.
namespace pergola {

class System;
struct RunOptions;

/// Whether the steps of a run go on.
enum class Pace { on, one_step, held };

/// What a watcher asks of a run.
struct RunWishes {
  bool show = false;        // the system as it is now; asked again until it was shown
  bool checkpoint = false;  // write one and go on; once
  Pace pace = Pace::on;
  std::vector<std::string> commands{};  // that people have given since the last look, for run.json and the log
};

/// Watches a run while it goes on, and may hold it. Called on rank 0, by the thread that takes the steps.
class PERGOLA_API RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  /// After steps and outputs, and again and again while the run is held. A watcher that has asked for one step asks to
  /// hold the run when `steps` has grown.
  virtual RunWishes look(double time, std::int64_t steps) = 0;
  /// Shows the system between two steps: at the start, when asked for, and at the end. Does not throw.
  virtual void show(System& system) = 0;
};

/// Why the steps pause.
enum class Pause { none, show, checkpoint, interrupt };

/// When a run writes a checkpoint, and whether it ends with it. A signal to any rank counts; all else rank 0 decides.
class PauseWatch {
 public:
  /// `longest_write_seconds`: of one file so far; the wall time must leave room for it.
  PauseWatch(const RunOptions& options, Communicator& communicator, double checkpoint_every_minutes,
             const std::atomic<double>& longest_write_seconds)
      : options_(options),
        communicator_(communicator),
        checkpoint_every_seconds_(60 * checkpoint_every_minutes),
        longest_write_seconds_(longest_write_seconds) {}

  /// After a step. Ranks look now and then only, so that messages between them do not hold up steps of microseconds; a
  /// signal waits for a fraction of a second or one step. Collective.
  Pause after_step(double time, std::int64_t steps);
  /// Looks now: the run is at `time`, after this number of steps. Collective.
  Pause look(double time, std::int64_t steps);
  /// As of the last look.
  Pace pace() const { return pace_; }
  /// On rank 0: the watcher's commands since the last call.
  std::vector<std::string> take_commands() { return std::exchange(commands_, {}); }

  /// Rank 0 has taken one.
  void took_checkpoint() { last_checkpoint_ = last_look_ = Clock::now(); }

 private:
  Pause decide(double time, std::int64_t steps, bool interrupted, bool checkpoint_asked);
  bool wall_time_is_over() const;

  const RunOptions& options_;
  Communicator& communicator_;
  double checkpoint_every_seconds_;
  const std::atomic<double>& longest_write_seconds_;
  Clock::time_point last_checkpoint_ = Clock::now(), last_look_ = last_checkpoint_;
  double longest_between_looks_ = 0;
  std::int64_t steps_per_look_ = 1, steps_since_look_ = 0;
  Pace pace_ = Pace::on;
  std::vector<std::string> commands_;
};

}  // namespace pergola

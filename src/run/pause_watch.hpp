#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/stopwatch.hpp"
#include "comm/communicator.hpp"
#include "run/run.hpp"

namespace pergola {

/// Why the steps pause.
enum class Pause { none, show, checkpoint, interrupt };

/// When a run writes a checkpoint, and whether it ends with it: by signals, by the time since the last one, by the wall
/// time that it may take and by who watches it; he may also hold the run. A signal to any
/// rank counts; else rank 0 looks, and all ranks do the same.
class PauseWatch {
 public:
  /// `longest_write_seconds`: of one file so far; the wall time must leave room for it.
  PauseWatch(const RunOptions& options, Communicator& communicator, double checkpoint_every_minutes,
             const std::atomic<double>& longest_write_seconds)
      : options_(options),
        communicator_(communicator),
        checkpoint_every_seconds_(60 * checkpoint_every_minutes),
        longest_write_seconds_(longest_write_seconds) {}

  /// After a step: looks now and then, so that steps of microseconds are not held up by messages between ranks and a
  /// signal waits for a fraction of a second or one step. All ranks call it.
  Pause after_step(double time, std::int64_t steps);
  /// Looks now: the run is at `time`, after so many steps. All ranks call it.
  Pause look(double time, std::int64_t steps);
  /// As of the last look.
  Pace pace() const { return pace_; }
  /// What the watcher has told since the last call; on rank 0.
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

#pragma once
#include <atomic>
#include <cstdint>

#include "base/stopwatch.hpp"
#include "comm/communicator.hpp"
#include "run/run.hpp"

namespace pergola {

/// Why the steps pause.
enum class Pause { none, checkpoint, interrupt };

/// When a run writes a checkpoint, and whether it ends with it: by signals, by the time since the last one and by the
/// wall time that it may take. Rank 0 looks, all ranks do the same.
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
  Pause after_step();
  /// Looks now. All ranks call it.
  Pause look();

  /// Rank 0 has taken one.
  void took_checkpoint() { last_checkpoint_ = last_look_ = Clock::now(); }

 private:
  Pause decide();
  bool wall_time_is_over() const;

  const RunOptions& options_;
  Communicator& communicator_;
  double checkpoint_every_seconds_;
  const std::atomic<double>& longest_write_seconds_;
  Clock::time_point last_checkpoint_ = Clock::now(), last_look_ = last_checkpoint_;
  double longest_between_looks_ = 0;
  std::int64_t steps_per_look_ = 1, steps_since_look_ = 0;
};

}  // namespace pergola

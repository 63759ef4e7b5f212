#include "run/watcher.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "comm/agreement.hpp"
#include "run/run.hpp"

namespace pergola {

namespace {

/// With several ranks: about the time between two looks, in seconds, and the most steps between them.
constexpr double seconds_between_looks = 0.1;
constexpr std::int64_t most_steps_per_look = 64;

/// What rank 0 decides for all ranks.
struct Decision {
  Pause pause = Pause::none;
  Pace pace = Pace::on;
  std::int64_t steps_per_look = 1;
};

}  // namespace

Pause PauseWatch::after_step(double time, std::int64_t steps) {
  if (communicator_.size() > 1 && ++steps_since_look_ < steps_per_look_) return Pause::none;
  return look(time, steps);
}

/// Signals of all ranks are combined by a maximum. Rank 0 then decides, and its decision goes to all ranks. The number
/// of steps until the next look follows from how long the latest steps took.
Pause PauseWatch::look(double time, std::int64_t steps) {
  const std::int64_t since = std::max<std::int64_t>(steps_since_look_, 1);
  steps_since_look_ = 0;
  std::int64_t asked[] = {options_.interrupted && options_.interrupted(),
                          options_.checkpoint_asked && options_.checkpoint_asked()};
  if (communicator_.size() > 1) communicator_.all_reduce(asked, std::size(asked), Reduction::maximum);
  Decision decision;
  if (communicator_.is_root()) {
    const double seconds = std::max(seconds_since(last_look_), 1e-9);
    decision.pause = decide(time, steps, asked[0] != 0, asked[1] != 0);
    decision.pace = pace_;
    decision.steps_per_look =
        pace_ != Pace::on
            ? 1
            : std::clamp(static_cast<std::int64_t>(static_cast<double>(since) * seconds_between_looks / seconds),
                         std::int64_t{1}, most_steps_per_look);
  }
  if (communicator_.size() > 1) decision = share_value(communicator_, decision);
  pace_ = decision.pace;
  steps_per_look_ = decision.steps_per_look;
  return decision.pause;
}

/// On rank 0, in the order of urgency: the end of the session, a checkpoint, showing the system.
Pause PauseWatch::decide(double time, std::int64_t steps, bool interrupted, bool checkpoint_asked) {
  const double between_looks = seconds_since(last_look_);
  last_look_ = Clock::now();
  longest_between_looks_ = std::max(longest_between_looks_, between_looks);
  RunWishes wishes;
  if (options_.watcher) wishes = options_.watcher->look(time, steps);
  pace_ = wishes.pace;
  commands_.insert(commands_.end(), wishes.commands.begin(), wishes.commands.end());
  if (interrupted) return Pause::interrupt;
  if (wall_time_is_over()) {
    options_.log.info("the wall time is nearly over");
    return Pause::interrupt;
  }
  const bool due = checkpoint_every_seconds_ > 0 && seconds_since(last_checkpoint_) >= checkpoint_every_seconds_;
  if (checkpoint_asked || wishes.checkpoint || due) return Pause::checkpoint;
  return wishes.show ? Pause::show : Pause::none;
}

/// The time left must be enough for the longest time between two looks once more, for waiting files, and for a
/// checkpoint. A checkpoint is larger than a snapshot.
bool PauseWatch::wall_time_is_over() const {
  const double limit = options_.wall_limit_seconds;
  if (limit <= 0) return false;
  const double reserve = 1.5 * longest_between_looks_ + 4 * longest_write_seconds_ + std::min(5.0, 0.05 * limit);
  return seconds_since(options_.wall_begin) + reserve >= limit;
}

}  // namespace pergola

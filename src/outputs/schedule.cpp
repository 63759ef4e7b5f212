#include "outputs/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

// Times are computed from the number of the output, not added up: rounding does not accumulate.
namespace pergola {

double OutputClock::time_of(std::int64_t k) const {
  const double after = static_cast<double>(k) * every_;
  return in_logarithm_ ? start_ * std::exp(after) : start_ + after;
}

double OutputClock::next() const {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (every_ <= 0) return never;
  const double time = time_of(index_);
  // A multiple that differs from the end by rounding is the end.
  return time < end_ - 1e-9 * every_ * (in_logarithm_ ? end_ : 1) ? time : never;
}

void OutputClock::skip_to(double time) {
  index_ = 1;
  if (every_ <= 0 || time < start_) return;
  const double passed = in_logarithm_ ? std::log(time / start_) : time - start_;
  index_ = static_cast<std::int64_t>(std::floor(passed / every_));
  while (time_of(index_) <= time) ++index_;
}

OutputClock resumed(OutputClock clock, bool same_interval, double index, double time) {
  if (same_interval)
    clock.set_index(static_cast<std::int64_t>(index));
  else
    clock.skip_to(time);
  return clock;
}

namespace {

constexpr const char* index_name = "snapshot_index";

OutputClock clock_of(const RunConfig& config, const System& system) {
  return {system.start_time(), config.output.snapshots_every, config.run.end_time, config.cosmology.has_value()};
}

}  // namespace

SnapshotTimes::SnapshotTimes(const OutputContext& context, const System& system)
    : clock_(clock_of(context.config, system)) {
  list_redshifts(context.config, system.time());
}

SnapshotTimes::SnapshotTimes(const OutputContext& context, const System& system, const OutputMemory& memory)
    : clock_(resumed(clock_of(context.config, system),
                     context.before->output.snapshots_every == context.config.output.snapshots_every,
                     memory.at(index_name), system.step_time())) {
  list_redshifts(context.config, system.step_time());
}

double SnapshotTimes::next() const { return listed_.empty() ? clock_.next() : std::min(clock_.next(), listed_.back()); }

void SnapshotTimes::skip_to(double time) {
  clock_.skip_to(time);
  forget_listed(time);
}

void SnapshotTimes::save(OutputMemory& memory) const { memory[index_name] = static_cast<double>(clock_.index()); }

void SnapshotTimes::list_redshifts(const RunConfig& config, double now) {
  for (const double redshift : config.output.redshifts)
    if (const double a = 1 / (1 + redshift); a < config.run.end_time * (1 - 1e-9)) listed_.push_back(a);
  std::sort(listed_.begin(), listed_.end(), std::greater<>());
  forget_listed(now);
}

void SnapshotTimes::forget_listed(double now) {
  while (!listed_.empty() && listed_.back() <= now) listed_.pop_back();
}

}  // namespace pergola

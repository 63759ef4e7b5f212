#include "outputs/schedule.hpp"

#include <cmath>
#include <limits>

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

}  // namespace pergola

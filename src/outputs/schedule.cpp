#include "outputs/schedule.hpp"

#include <cmath>
#include <limits>

namespace pergola {

double OutputClock::next() const {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (every_ <= 0) return never;
  const double time = start_ + static_cast<double>(index_) * every_;
  // A multiple that differs from the end by rounding is the end.
  return time < end_ - 1e-9 * every_ ? time : never;
}

void OutputClock::skip_to(double time) {
  index_ = 1;
  if (every_ <= 0 || time < start_) return;
  index_ = static_cast<std::int64_t>(std::floor((time - start_) / every_));
  while (start_ + static_cast<double>(index_) * every_ <= time) ++index_;
}

OutputClock resumed(OutputClock clock, bool same_interval, double index, double time) {
  if (same_interval)
    clock.set_index(static_cast<std::int64_t>(index));
  else
    clock.skip_to(time);
  return clock;
}

}  // namespace pergola

#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace pergola {

/// Says when it pays to bring the particles back into the order in memory that their solver works best with: as soon as
/// the time lost by disorder since the last sorting exceeds what a sorting costs. What a run computes does not depend
/// on when that is.
class OrderKeeper {
 public:
  void sorted(double seconds) {
    cost_ = seconds;
    lost_ = 0;
    steps_ = 0;
    best_ = std::numeric_limits<double>::infinity();
  }
  /// `steps` steps took `seconds`, nothing else included.
  void stepped(std::int64_t steps, double seconds) {
    const double each = seconds / static_cast<double>(steps);
    best_ = std::min(best_, each);
    lost_ += (each - best_) * static_cast<double>(steps);
    steps_ += steps;
  }
  bool due() const { return steps_ >= fewest_steps && lost_ > cost_; }
  /// So many steps may be taken before the next look: few while the particles are in order, so that the best step is
  /// known, then half of those since the sorting.
  std::int64_t steps_to_look() const { return std::max(std::int64_t{2}, steps_ / 2); }

 private:
  /// Below this the best step is not known well enough.
  static constexpr std::int64_t fewest_steps = 4;
  double cost_ = 0, lost_ = 0, best_ = std::numeric_limits<double>::infinity();
  std::int64_t steps_ = 0;
};

}  // namespace pergola

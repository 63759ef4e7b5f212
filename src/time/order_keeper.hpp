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
    ordered_ = lost_ = 0;
    steps_ = 0;
  }
  /// `steps` steps took `seconds`, nothing else included. The first ones after a sorting are what the others are
  /// compared with: their mean, so that the ups and downs of a busy machine add up to little, or that of an earlier
  /// sorting where these were slow by accident.
  void stepped(std::int64_t steps, double seconds) {
    const bool in_order = steps_ < ordered_steps;
    steps_ += steps;
    if (!in_order) {
      lost_ += seconds - static_cast<double>(steps) * best_;
      return;
    }
    ordered_ += seconds;
    if (steps_ >= ordered_steps) best_ = std::min(ordered_ / static_cast<double>(steps_), slower * best_);
  }
  bool due() const { return lost_ > cost_; }
  /// So many steps may be taken before the next look: few while the particles are in order, then half of those since
  /// the sorting.
  std::int64_t steps_to_look() const { return std::max(std::int64_t{2}, steps_ / 2); }

 private:
  /// The particles count as ordered for so many steps.
  static constexpr std::int64_t ordered_steps = 4;
  /// From one sorting to the next steps may become slower by this much without being taken for an accident.
  static constexpr double slower = 1.05;
  double cost_ = 0;
  double ordered_ = 0;                                     // seconds of the steps in order
  double best_ = std::numeric_limits<double>::infinity();  // seconds of a step in order
  double lost_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace pergola

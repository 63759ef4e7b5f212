#pragma once
#include <cmath>
#include <cstdint>

#include "time/block_loops.hpp"
#include "time/expansion.hpp"

namespace pergola {

/// Opening and closing kicks of a step from `begin` to `end`, of the levels up to `deepest`.
inline void set_kicks(BlockStep& step, const Expansion& expansion, double begin, double end, int deepest) {
  for (int level = 0; level <= deepest; ++level) {
    const double half = std::ldexp(step.step_max, -level - 1);
    step.open[level] = expansion.kick_over(begin, half);
    step.close[level] = expansion.kick_over(end - half, half);
  }
}

/// All steps, of the levels up to `deepest`, end `ahead` after the tick `tick`, at the time `now`.
inline EarlyEnd end_ahead(const Expansion& expansion, double now, std::int64_t tick, double tick_length, int deepest,
                          double ahead) {
  EarlyEnd end;
  end.starting = physics::lowest_level_at(tick);
  end.drift = expansion.drift_over(now, ahead);
  for (int level = 0; level <= deepest; ++level) {
    const double length = static_cast<double>(physics::level_ticks(level)) * tick_length;
    const double before = static_cast<double>(tick & (physics::level_ticks(level) - 1)) * tick_length;
    const double elapsed = before + ahead, begin = now - before, middle = begin + elapsed / 2;
    end.moves[level] = elapsed != 0;
    end.open[level] = expansion.kick_over(now, length / 2);
    end.excess[level] = expansion.kick_over(middle, (length - elapsed) / 2);
    end.whole[level] = expansion.drift_over(begin, elapsed);
    end.close[level] = expansion.kick_over(middle, elapsed / 2);
  }
  return end;
}

}  // namespace pergola

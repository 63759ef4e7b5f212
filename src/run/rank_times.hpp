#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/profile.hpp"
#include "comm/counted_communicator.hpp"

namespace pergola {

/// Where the time of several ranks went, in one session of a run. Work is the time outside calls to other ranks.
struct RankTimes {
  struct Stage {
    std::string name;
    double mean = 0, most = 0;  // seconds of work, over the ranks
  };
  int ranks = 1;
  double working_mean = 0, working_most = 0, waiting_mean = 0;  // seconds
  std::int64_t bytes = 0, calls = 0;                            // of all ranks
  std::vector<Stage> stages;                                    // as rank 0 has them

  /// The most over the mean: how much longer all wait for the one that has most to do.
  static double imbalance(double most, double mean) { return mean > 0 ? most / mean : 1; }
  /// One sentence.
  std::string text() const;
};

/// A call of all ranks. `before`: this rank's profile when the session began; `seconds`: since then.
RankTimes find_rank_times(CountedCommunicator& ranks, const Profile& before, const Profile& now, double seconds);

}  // namespace pergola

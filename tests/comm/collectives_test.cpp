#include "comm/collectives.hpp"

#include <gtest/gtest.h>

#include "comm/communicator.hpp"
#include "comm/counted_communicator.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

TEST(TellCounts, EveryRankLearnsWhatAllHaveForItInFewMessages) {
  for (const int size : {1, 2, 3, 7, 8, 64})
    run_on_thread_ranks(size, [&](Communicator& communicator) {
      CountedCommunicator ranks(std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
      std::vector<std::int64_t> to_each, expected;
      for (int r = 0; r < size; ++r)
        to_each.push_back(1000 * ranks.rank() + r), expected.push_back(1000 * r + ranks.rank());
      EXPECT_EQ(tell_counts(ranks, to_each), expected) << size;
      EXPECT_LE(ranks.traffic().messages, 6) << size;  // of 64 ranks: 2⁶
    });
}

}  // namespace
}  // namespace pergola

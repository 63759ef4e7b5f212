#include "comm/counted_communicator.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "comm/thread_ranks.hpp"

namespace pergola {
namespace {

TEST(CountedCommunicator, GivesWhatTheOtherGivesAndCountsWhatIsSentToOthers) {
  run_on_thread_ranks(3, [](Communicator& ranks) {
    CountedCommunicator counted({&ranks, [](Communicator*) {}});
    Communicator& used = counted;
    const int rank = used.rank();
    EXPECT_EQ(used.size(), 3);
    std::int64_t sum = rank;
    used.all_reduce(&sum, 1, Reduction::sum);
    EXPECT_EQ(sum, 3);
    double most = rank;
    used.all_reduce(&most, 1, Reduction::maximum);
    EXPECT_EQ(most, 2);
    int word = rank == 1 ? 7 : 0;
    used.broadcast(&word, sizeof word, 1);
    EXPECT_EQ(word, 7);
    std::vector<int> all(3);
    all[static_cast<std::size_t>(rank)] = 10 * rank;
    used.all_gather_in_place(all.data(), {4, 4, 4});
    EXPECT_EQ(all, (std::vector<int>{0, 10, 20}));
    std::vector<int> to{rank, rank, rank}, from(3);  // one of them to itself
    used.all_to_all(to.data(), {4, 4, 4}, from.data(), {4, 4, 4});
    EXPECT_EQ(from, (std::vector<int>{0, 1, 2}));
    used.barrier();
    EXPECT_EQ(counted.traffic().calls, 6);
    EXPECT_EQ(counted.traffic().bytes, 8 + 8 + (rank == 1 ? 4 : 0) + 4 + 8);
    EXPECT_EQ(counted.traffic().received, 8 + 8 + (rank == 1 ? 0 : 4) + 8 + 8);
    EXPECT_EQ(counted.traffic().messages, 5 * 2 + 2);  // three ranks: two rounds reach all
    EXPECT_GE(counted.traffic().seconds, 0);
  });
}

}  // namespace
}  // namespace pergola

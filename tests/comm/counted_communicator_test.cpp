#include "comm/counted_communicator.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "comm/communicator.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

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

TEST(CountedCommunicator, CountsWhatIsSaidBesideButNotItsTime) {
  run_on_thread_ranks(2, [](Communicator& ranks) {
    CountedCommunicator counted({&ranks, [](Communicator*) {}});
    const auto beside = counted.beside();
    ASSERT_TRUE(beside);
    EXPECT_EQ(counted.beside(), beside);
    std::int64_t sum = 1;
    beside->all_reduce(&sum, 1, Reduction::sum);
    EXPECT_EQ(sum, 2);
    EXPECT_EQ(counted.traffic().bytes, 8);
    EXPECT_EQ(counted.traffic().calls, 1);
    EXPECT_EQ(counted.traffic().seconds, 0);
    EXPECT_GT(counted_seconds(*beside), 0);
  });
}

TEST(CountedCommunicator, CountsShortMessagesToARankAsOne) {
  run_on_thread_ranks(3, [](Communicator& ranks) {
    CountedCommunicator counted({&ranks, [](Communicator*) {}});
    const std::vector<char> sent(most_joined_bytes);
    std::vector<char> got(sent.size() + 8);
    const int next = (ranks.rank() + 1) % 3, before = (ranks.rank() + 2) % 3;
    const auto exchange = [&](std::size_t first, std::size_t second) {
      const std::int64_t messages = counted.traffic().messages;
      counted.exchange({{next, sent.data(), first}, {ranks.rank(), sent.data(), 4}, {next, sent.data(), second}},
                       {{before, got.data(), first}, {ranks.rank(), got.data(), 4}, {before, got.data(), second}});
      return counted.traffic().messages - messages;
    };
    EXPECT_EQ(exchange(8, most_joined_bytes - 8), 1);
    EXPECT_EQ(exchange(8, most_joined_bytes - 7), 2);
    EXPECT_EQ(exchange(8, 0), 1);
    EXPECT_EQ(exchange(0, 0), 0);
  });
}

}  // namespace
}  // namespace pergola

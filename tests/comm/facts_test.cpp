#include "comm/facts.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.hpp"
#include "comm/thread_ranks.hpp"

namespace pergola {
namespace {

class Facts : public ::testing::TestWithParam<int> {};

TEST_P(Facts, ThatAgreeLetAllRanksGoOn) {
  std::atomic<int> went_on = 0;
  run_on_thread_ranks(GetParam(), [&](Communicator& ranks) {
    require_agreement(ranks, {{"version", "1"}, {"instruction set", "avx2"}});
    ++went_on;
  });
  EXPECT_EQ(went_on, GetParam());
}

TEST_P(Facts, ThatDifferAreAnErrorOnEveryRankThatNamesTheRankAndTheKey) {
  const int odd = GetParam() - 1;
  std::atomic<int> told = 0;
  run_on_thread_ranks(GetParam(), [&](Communicator& ranks) {
    try {
      require_agreement(ranks, {{"version", "1"}, {"instruction set", ranks.rank() == odd ? "sse4" : "avx2"}});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_EQ(std::string(error.what()),
                "rank " + std::to_string(odd) + ": instruction set: expected avx2, as on rank 0, found sse4");
      ++told;
    }
  });
  EXPECT_EQ(told, GetParam());
}

TEST_P(Facts, ThatARankLacksOrHasBeyondTheOthersAreNamed) {
  for (const bool more : {false, true}) {
    std::atomic<int> told = 0;
    run_on_thread_ranks(GetParam(), [&](Communicator& ranks) {
      std::vector<Fact> facts{{"a", "1"}, {"b", "2"}};
      if (ranks.rank() == 1 && more) facts.push_back({"c", "3"});
      if (ranks.rank() == 1 && !more) facts.pop_back();
      try {
        require_agreement(ranks, facts);
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()), more ? "rank 1: c: expected nothing, as on rank 0, found 3"
                                                  : "rank 1: b: expected 2, as on rank 0, found nothing");
        ++told;
      }
    });
    EXPECT_EQ(told, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Facts, ::testing::Values(2, 3, 7));

}  // namespace
}  // namespace pergola

#include "comm/agreement.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// What on_all() throws on each rank, and whether they agree on something afterwards.
std::vector<std::string> words_of(int ranks, const std::function<void(int)>& action) {
  std::vector<std::string> words(static_cast<std::size_t>(ranks));
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    try {
      on_all(communicator, [&] { action(communicator.rank()); });
    } catch (const std::exception& error) {
      const auto* known = dynamic_cast<const Error*>(&error);
      words[static_cast<std::size_t>(communicator.rank())] =
          std::string(known && known->kind() == ErrorKind::system ? "system: " : "other: ") + error.what();
    }
    EXPECT_EQ(share_value(communicator, communicator.is_root() ? 7 : 0), 7);
  });
  return words;
}

TEST(Agreement, WhereNoRankFailsNoneThrows) {
  for (const int ranks : {1, 2, 7})
    for (const auto& one : words_of(ranks, [](int) {})) EXPECT_EQ(one, "");
}

TEST(Agreement, WhatOneRankThrowsAllThrow) {
  for (const int ranks : {1, 2, 3, 7}) {
    const auto words = words_of(ranks, [&](int rank) {
      if (rank == ranks - 1) throw Error(ErrorKind::system, "no such file");
    });
    for (const auto& one : words) EXPECT_EQ(one, "system: no such file") << ranks;
  }
}

TEST(Agreement, OfSeveralRanksTheFirstOneIsHeard) {
  const auto words = words_of(4, [](int rank) {
    if (rank > 0) throw Error(ErrorKind::system, "rank " + std::to_string(rank));
  });
  EXPECT_EQ(words[0], "system: rank 1");
  EXPECT_EQ(words[3], "system: rank 1");
}

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

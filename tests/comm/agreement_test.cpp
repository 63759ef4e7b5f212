#include "comm/agreement.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/thread_ranks.hpp"

namespace pergola {
namespace {

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

}  // namespace
}  // namespace pergola

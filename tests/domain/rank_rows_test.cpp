#include "domain/rank_rows.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// Row k of all is the number what + 10 k: this rank's part of them.
RankRows::Answer rows_of(const Shares& shares, int rank) {
  return [&shares, rank](const RankRows::Request& own, std::byte* to) {
    for (std::int64_t k = 0; k < own.count; ++k) {
      const std::int64_t value = own.what + 10 * (shares.first(rank) + own.first + k);
      std::memcpy(to + k * own.row_bytes, &value, sizeof value);
    }
  };
}

std::vector<std::int64_t> read_all(RankRows& rows, std::int64_t what, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> read(static_cast<std::size_t>(count), -1);
  rows.read({what, first, count, sizeof(std::int64_t)}, [&](std::int64_t at, std::int64_t n, const std::byte* from) {
    std::memcpy(read.data() + at, from, static_cast<std::size_t>(n) * sizeof(std::int64_t));
  });
  return read;
}

TEST(RankRows, RankZeroReadsAnyPieceOfAllRanksInTheirOrder) {
  for (const int ranks : {1, 2, 3, 4, 7, 64})
    for (const std::int64_t total : {0, 5, 100}) {
      std::vector<int> reads(static_cast<std::size_t>(ranks));
      run_on_thread_ranks(ranks, [&](Communicator& communicator) {
        const Shares shares{total, ranks};
        RankRows rows(communicator, shares);
        rows.on_root(
            [&] {
              ++reads[static_cast<std::size_t>(communicator.rank())];
              for (std::int64_t first = 0; first < total; first += 3)
                for (const std::int64_t count : {std::int64_t{1}, total - first}) {
                  const auto read = read_all(rows, 4, first, count);
                  for (std::int64_t k = 0; k < count; ++k)
                    EXPECT_EQ(read[static_cast<std::size_t>(k)], 4 + 10 * (first + k)) << ranks << " ranks";
                }
            },
            rows_of(shares, communicator.rank()));
      });
      EXPECT_EQ(reads[0], 1);
      for (std::size_t rank = 1; rank < reads.size(); ++rank) EXPECT_EQ(reads[rank], 0);
    }
}

/// What each rank throws, and whether all can go on afterwards.
std::vector<std::string> words_of(const std::function<void(RankRows&)>& action, int failing) {
  constexpr int ranks = 4;
  std::vector<std::string> words(ranks);
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const Shares shares{10, ranks};
    RankRows rows(communicator, shares);
    const auto answer = rows_of(shares, communicator.rank());
    auto& mine = words[static_cast<std::size_t>(communicator.rank())];
    try {
      rows.on_root([&] { action(rows); },
                   [&](const RankRows::Request& own, std::byte* to) {
                     if (communicator.rank() == failing) throw Error(ErrorKind::device, "cuda:1: out of memory");
                     answer(own, to);
                   });
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), failing >= 0 ? ErrorKind::device : ErrorKind::system);
      mine = error.what();
    }
    rows.on_root([&] { EXPECT_EQ(read_all(rows, 0, 9, 1).front(), 90); }, answer);
  });
  return words;
}

TEST(RankRows, WhatRankZeroThrowsIsThrownOnAll) {
  const auto words = words_of(
      [](RankRows& rows) {
        read_all(rows, 0, 2, 5);
        throw Error(ErrorKind::system, "disk full");
      },
      -1);
  for (const auto& one : words) EXPECT_EQ(one, "disk full");
}

TEST(RankRows, WhatARankThrowsWhileItAnswersIsThrownOnAll) {
  for (const int failing : {0, 2, 3}) {
    const auto words = words_of([](RankRows& rows) { read_all(rows, 0, 0, 10); }, failing);
    for (const auto& one : words) EXPECT_EQ(one, "cuda:1: out of memory") << failing;
  }
}

}  // namespace
}  // namespace pergola

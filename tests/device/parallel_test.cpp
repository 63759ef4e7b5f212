#include "device/parallel.hpp"
#include "marks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

TEST(ParallelFor, CallsEveryIndexOnce) {
  for (int threads : {1, 2, 7, 16})
    for (std::int64_t count : {0, 1, 2, 3, 100, 10000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      parallel_for(threads, count, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
      for (const auto& call : calls) ASSERT_EQ(call, 1);
    }
}

TEST(ParallelFor, HasFinishedWhenItReturnsHoweverShortTheLoop) {
  for (int round = 0; round < 20000; ++round) {
    std::int64_t values[5] = {};
    parallel_for(1 + round % 4, 5, [&](std::int64_t i) { values[i] = round + i; });
    for (std::int64_t i = 0; i < 5; ++i) ASSERT_EQ(values[i], round + i);
  }
}

TEST(ParallelFor, ThrowsInTheCallerAndGoesOnWorking) {
  for (int round = 0; round < 100; ++round) {
    EXPECT_THROW(parallel_for(3, 50,
                              [](std::int64_t i) {
                                if (i % 10 == 7) throw std::runtime_error("seven");
                              }),
                 std::runtime_error);
    std::atomic<int> calls = 0;
    parallel_for(3, 50, [&](std::int64_t) { ++calls; });
    ASSERT_EQ(calls, 50);
  }
}

TEST(ParallelFor, MayBeCalledWithinALoopAndFromSeveralThreads) {
  std::atomic<int> calls = 0;
  std::vector<std::thread> callers;
  for (int k = 0; k < 3; ++k)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        parallel_for(2, 8, [&](std::int64_t) { parallel_for(2, 5, [&](std::int64_t) { ++calls; }); });
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(calls, 3 * 50 * 8 * 5);
}

TEST(ParallelChunks, CoverTheRangeWhateverTheThreads) {
  for (int threads : {1, 2, 7}) {
    std::vector<int> calls(1000);
    parallel_chunks(threads, 1000, 64, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(begin % 64, 0);
      EXPECT_LE(end - begin, 64);
      for (std::int64_t i = begin; i < end; ++i) ++calls[static_cast<std::size_t>(i)];
    });
    for (int call : calls) ASSERT_EQ(call, 1);
  }
}

}  // namespace
}  // namespace pergola

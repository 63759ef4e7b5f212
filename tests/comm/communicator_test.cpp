#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/communicator_checks.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class ThreadRanks : public ::testing::TestWithParam<int> {};

TEST_P(ThreadRanks, DoWhatACommunicatorMust) {
  std::atomic<int> ended = 0;
  run_on_thread_ranks(GetParam(), [&](Communicator& ranks) {
    ASSERT_EQ(ranks.size(), GetParam());
    check_all(ranks);
    ++ended;
  });
  EXPECT_EQ(ended, GetParam());
}

TEST_P(ThreadRanks, TalkInTwoThreadsAtOnce) { run_on_thread_ranks(GetParam(), check_beside); }

/// Also where it is the second thread of one that fails, and those of others that wait for it.
TEST(RanksOfThreads, FailureBesideEndsAllAndIsTold) {
  const auto work = [](Communicator& ranks) {
    const auto beside = ranks.beside();
    auto second = std::async(std::launch::async, [&] {
      if (ranks.rank() == 1) throw Error(ErrorKind::numerics, "the culprit's own words");
      beside->barrier();
    });
    ranks.barrier();
    second.get();
    ADD_FAILURE() << "rank " << ranks.rank() << " went on";
  };
  try {
    run_on_thread_ranks(3, work);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the culprit's own words");
  }
}

TEST_P(ThreadRanks, FailureOfOneEndsAllAndIsTold) {
  const int culprit = GetParam() / 2;
  const auto work = [&](Communicator& ranks) {
    if (ranks.rank() == culprit) throw Error(ErrorKind::numerics, "the culprit's own words");
    ranks.barrier();
    ADD_FAILURE() << "rank " << ranks.rank() << " went on";
  };
  try {
    run_on_thread_ranks(GetParam(), work);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the culprit's own words");
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadRanks, ::testing::Values(1, 2, 3, 4, 7, 64));

TEST(RanksOfThreads, MessageThatNobodySentIsAnError) {
  const auto work = [](Communicator& ranks) {
    int number = 0;
    ranks.exchange({}, {{1 - ranks.rank(), &number, sizeof number}});
  };
  EXPECT_THROW(run_on_thread_ranks(2, work), Error);
}

TEST(RanksOfThreads, AllHaveFailedOnlyWhenAllSaySo) {
  run_on_thread_ranks(3, [](Communicator& ranks) { EXPECT_TRUE(ranks.all_have_failed(60)); });
  run_on_thread_ranks(3, [](Communicator& ranks) {
    if (ranks.rank() > 0) {
      EXPECT_FALSE(ranks.all_have_failed(0.01));
    }
  });
}

TEST(Communicator, OneProcessDoesWhatACommunicatorMust) {
  check_all(*serial_communicator());
  EXPECT_FALSE(serial_communicator()->beside());
}

TEST(Communicator, SizesOfAllToAllAreChecked) {
  EXPECT_THROW(serial_communicator()->all_to_all(nullptr, {0, 0}, nullptr, {0}), Error);
}

// Under mpirun: the processes of MPI (tests/CMakeLists.txt registers it for several numbers of them); else one process.
TEST(Communicator, ProcessesDoWhatACommunicatorMust) { check_all(*world_communicator()); }

}  // namespace
}  // namespace pergola

#include "io/write_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <vector>

#include "base/error.hpp"
#include "io/temporary_directory.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// Holds a job back until it is opened.
class Gate {
 public:
  void open() { promise_.set_value(); }
  auto job() {
    return [this, opened = future_] {
      begun_.set_value();
      opened.wait();
    };
  }
  /// Returns when the job, the only one of this gate, runs.
  void wait_for_job() { begun_.get_future().wait(); }

 private:
  std::promise<void> begun_;
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
};

TEST(WriteQueue, JobsRunInTheirOrderOnAnotherThread) {
  std::vector<int> order;
  std::thread::id writer;
  WriteQueue queue(1000);
  for (int k = 0; k < 100; ++k)
    queue.push(100, [&, k] {
      order.push_back(k);
      writer = std::this_thread::get_id();
    });
  queue.drain();
  ASSERT_EQ(order.size(), 100u);
  for (int k = 0; k < 100; ++k) EXPECT_EQ(order[static_cast<std::size_t>(k)], k);
  EXPECT_NE(writer, std::this_thread::get_id());
  EXPECT_EQ(queue.bytes(), 0);
}

TEST(WriteQueue, PushWaitsForRoomAndTheBoundHolds) {
  Gate gate;
  WriteQueue queue(100);
  queue.push(60, gate.job());
  queue.push(40, [] {});
  auto third = std::async(std::launch::async, [&] { queue.push(1, [] {}); });
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(queue.bytes(), 100);
  gate.open();
  third.get();
  queue.drain();
  EXPECT_EQ(queue.bytes(), 0);
}

TEST(WriteQueue, AJobLargerThanTheBoundRunsAlone) {
  Gate gate;
  WriteQueue queue(10);
  queue.push(5, gate.job());
  auto large = std::async(std::launch::async, [&] { queue.push(1000, [] {}); });
  EXPECT_EQ(large.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  gate.open();
  large.get();
  queue.drain();
}

TEST(WriteQueue, TheFirstFailureStopsWhatFollowsAndIsThrownFromThenOn) {
  std::atomic<int> ran = 0;
  WriteQueue queue(1000);
  Gate gate;
  queue.push(1, gate.job());
  queue.push(1, [] { throw Error(ErrorKind::system, "disk: full"); });
  queue.push(1, [&] { ++ran; });
  gate.open();
  EXPECT_EQ(error_of(ErrorKind::system, [&] { queue.drain(); }), "disk: full");
  EXPECT_EQ(error_of(ErrorKind::system, [&] { queue.push(1, [&] { ++ran; }); }), "disk: full");
  EXPECT_EQ(error_of(ErrorKind::system, [&] { queue.check(); }), "disk: full");
  EXPECT_EQ(ran, 0);
}

TEST(WriteQueue, AFailureWakesAPushThatWaits) {
  Gate gate;
  WriteQueue queue(10);
  queue.push(9, [job = gate.job()] {
    job();
    throw Error(ErrorKind::system, "disk: full");
  });
  queue.push(1, [] {});
  auto waiting = std::async(std::launch::async, [&] { queue.push(10, [] {}); });
  gate.open();
  error_of(ErrorKind::system, [&] { waiting.get(); });
}

TEST(WriteQueue, DestructionRunsWhatWaits) {
  std::atomic<int> ran = 0;
  {
    WriteQueue queue(1000);
    for (int k = 0; k < 20; ++k) queue.push(1, [&] { ++ran; });
  }
  EXPECT_EQ(ran, 20);
}

TEST(WriteQueue, AbandonedJobsAreDestroyedWithoutBeingRun) {
  std::atomic<int> ran = 0;
  const auto held = std::make_shared<int>(1);
  Gate gate;
  WriteQueue queue(1000);
  queue.push(1, gate.job());
  gate.wait_for_job();  // one that has not begun is dropped with the others
  for (int k = 0; k < 20; ++k) queue.push(1, [&ran, held] { ++ran; });
  queue.abandon();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(queue.bytes(), 1);
  gate.open();
  queue.drain();
  EXPECT_EQ(ran, 0);
}

TEST(WriteQueue, MemoryOfAJobIsFreeBeforeItsBytesAre) {
  auto held = std::make_shared<std::vector<char>>(1000);
  const std::weak_ptr<std::vector<char>> watched = held;
  WriteQueue queue(1000);
  queue.push(1000, [held = std::move(held)] {});
  queue.push(1000, [] {});  // waits for the room of the first
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace pergola

#pragma once
// Writing on a second thread. A run copies a piece and hands it over; `push` waits if the bytes that wait reach a
// bound, so that slow disks slow the run and do not fill memory.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// Buffers that one thread fills and another empties. A buffer that was given back is taken again, so that its pages
/// are allocated once.
template <class T>
class Spares {
 public:
  /// One that was given back, else a new one.
  std::unique_ptr<T> take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::make_unique<T>();
    auto one = std::move(spare_.back());
    spare_.pop_back();
    return one;
  }
  void give(std::unique_ptr<T> one) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(one));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> spare_;
};

/// A thread of its own that writes files while the steps go on. Jobs run one at a time in the order in which they came.
/// What waits is bounded in bytes: push() waits for room. The first failure is kept: jobs after it are dropped without
/// being run (they may be pieces of the same file), and every later push() and drain() throws it.
class PERGOLA_API WriteQueue {
 public:
  explicit WriteQueue(std::int64_t most_bytes);
  /// Runs what waits, or drops it after a failure or abandon(); a failure that no call has thrown yet is lost.
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// Hands over a job that holds `bytes` of memory until it has run and is destroyed. A job larger than the bound waits
  /// until it is the only one.
  template <class Job>
  void push(std::int64_t bytes, Job job) {
    push_owned(bytes, std::make_unique<HeldJob<Job>>(std::move(job)));
  }
  /// Waits until all jobs have run.
  void drain();
  /// Throws the failure, if there is one; waits for nothing.
  void check();
  /// Drops the jobs that have not begun.
  void abandon();
  /// Bytes of the jobs that wait or run.
  std::int64_t bytes() const;

 private:
  struct AnyJob {
    virtual ~AnyJob() = default;
    virtual void run() = 0;
  };
  template <class Job>
  struct HeldJob final : AnyJob {
    explicit HeldJob(Job given) : job(std::move(given)) {}
    void run() override { job(); }
    Job job;
  };
  struct Entry {
    std::int64_t bytes;
    std::unique_ptr<AnyJob> job;
  };

  void push_owned(std::int64_t bytes, std::unique_ptr<AnyJob> job);
  void work();
  bool idle() const { return waiting_.empty() && !running_; }

  const std::int64_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> waiting_;
  std::int64_t bytes_ = 0;
  bool running_ = false, ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace pergola

#include "io/write_queue.hpp"

#include <signal.h>

namespace pergola {

namespace {

/// Signals that a run answers go to the threads that compute: the thread made while this lives leaves them alone.
class SignalsLeftToOthers {
 public:
  SignalsLeftToOthers() {
    sigset_t left;
    sigemptyset(&left);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&left, number);
    pthread_sigmask(SIG_BLOCK, &left, &before_);
  }
  ~SignalsLeftToOthers() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsLeftToOthers(const SignalsLeftToOthers&) = delete;
  SignalsLeftToOthers& operator=(const SignalsLeftToOthers&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

WriteQueue::WriteQueue(std::int64_t most_bytes) : most_bytes_(most_bytes) {
  const SignalsLeftToOthers left;
  thread_ = std::thread([this] { work(); });
}

/// Runs what still waits. A failure is lost here: drain() reports it.
WriteQueue::~WriteQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

/// Waits for room while other jobs wait or run, and then throws the first failure instead of taking the job.
void WriteQueue::push_owned(std::int64_t bytes, std::unique_ptr<AnyJob> job) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || idle() || bytes_ + bytes <= most_bytes_; });
  if (failure_) std::rethrow_exception(failure_);
  bytes_ += bytes;
  waiting_.push_back({bytes, std::move(job)});
  lock.unlock();
  changed_.notify_all();
}

/// A failure stays: each later call throws it again.
void WriteQueue::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return idle(); });
  if (failure_) std::rethrow_exception(failure_);
}

/// Looks only; a run calls it between steps to learn of a full disk early.
void WriteQueue::check() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

/// The dropped jobs are destroyed after the lock is released, because their memory may be large.
void WriteQueue::abandon() {
  std::deque<Entry> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(waiting_);
    for (const Entry& entry : dropped) bytes_ -= entry.bytes;
  }
  changed_.notify_all();
}

std::int64_t WriteQueue::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

/// The thread's loop. It ends when the queue ends and nothing waits. Jobs run without the lock.
void WriteQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Entry entry = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = true;
    const bool run = !failure_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (run) entry.job->run();
    } catch (...) {
      failure = std::current_exception();
    }
    entry.job.reset();  // its memory is free before its bytes are
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    bytes_ -= entry.bytes;
    running_ = false;
    changed_.notify_all();
  }
}

}  // namespace pergola

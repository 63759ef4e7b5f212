#include "device/parallel.hpp"

#include <unistd.h>

#include <system_error>
#include <utility>

namespace pergola {

namespace {

constexpr int open_bit = 1 << 30;
constexpr int spins_before_sleep = 400;  // 10 to 20 microseconds

/// True in helpers, and in an owner whose loop is running.
thread_local bool inside_a_loop = false;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// Returns when `value` is no longer `old`.
void wait_for_change(const std::atomic<int>& value, int old) {
  for (int k = 0; k < spins_before_sleep; ++k) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause_briefly();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadTeam& ThreadTeam::mine() {
  thread_local ThreadTeam team;
  return team;
}

ThreadTeam::ThreadTeam() : process_(getpid()) {}

ThreadTeam::~ThreadTeam() {
  stop_ = true;
  round_.fetch_add(1);
  round_.notify_all();
  for (auto& helper : helpers_) {
    if (process_ == getpid())
      helper.join();
    else
      helper.detach();  // in a forked process only the thread objects exist
  }
}

void ThreadTeam::run(int threads, std::int64_t count, Call call, const void* body) {
  if (threads <= 1 || count <= 1 || inside_a_loop) {
    for (std::int64_t i = 0; i < count; ++i) call(body, i);
    return;
  }
  try {
    while (static_cast<int>(helpers_.size()) < threads - 1)
      helpers_.emplace_back([this, number = static_cast<int>(helpers_.size())] { help(number); });
  } catch (const std::system_error&) {
    // The system gives no more threads: go on with those that have started.
  }
  next_.store(0, std::memory_order_relaxed);
  count_ = count;
  threads_ = threads;
  call_ = call;
  body_ = body;
  failure_ = nullptr;
  state_.store(open_bit, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();

  inside_a_loop = true;
  work();
  inside_a_loop = false;
  state_.fetch_sub(open_bit, std::memory_order_acq_rel);
  while (const int inside = state_.load(std::memory_order_acquire)) wait_for_change(state_, inside);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadTeam::work() {
  for (std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed); i < count_;
       i = next_.fetch_add(1, std::memory_order_relaxed)) {
    try {
      call_(body_, i);
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
}

bool ThreadTeam::enter() {
  int state = state_.load(std::memory_order_acquire);
  while (state & open_bit)
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
  return false;
}

void ThreadTeam::leave() {
  if (state_.fetch_sub(1, std::memory_order_acq_rel) == 1) state_.notify_one();
}

void ThreadTeam::help(int number) {
  inside_a_loop = true;
  int seen = 0;
  for (;;) {
    wait_for_change(round_, seen);
    seen = round_.load(std::memory_order_acquire);
    if (stop_) return;
    if (!enter()) continue;
    if (number < threads_ - 1) work();
    leave();
  }
}

}  // namespace pergola

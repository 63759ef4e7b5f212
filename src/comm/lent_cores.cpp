#include "comm/lent_cores.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "base/stopwatch.hpp"

namespace pergola {

namespace {

constexpr int open_bit = 1 << 30;
constexpr int most_helpers = 3;  // of a rank
constexpr int nobody = 0, stopped = -1;
constexpr std::size_t line = 64;
/// Helpers and those that lend wake up in 0.02 to 0.15 ms.
constexpr auto soon = std::chrono::microseconds(300);

/// Between processes, which std::atomic's own waiting is not for.
void sleep_while(std::atomic<int>& word, int value) {
  while (word.load() == value) syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
}
void wake(std::atomic<int>& word) { syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

/// The calling thread on a core alone, or on some. Where it may not, it stays where it is.
void bind_to(const cpu_set_t& cores) { pthread_setaffinity_np(pthread_self(), sizeof cores, &cores); }
void bind_to(int core) {
  if (core < 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(core), &one);
  bind_to(one);
}

}  // namespace

/// Of a rank, zero at first.
struct alignas(line) LentCores::Place {
  std::atomic<std::int64_t> next, count;  // of its loop; no count where it is not to be helped
  std::atomic<int> lender[most_helpers];  // by helper, rank + 1: who has lent it a core, or nobody
  std::atomic<int> is_lent;               // its own core, which it is woken up for when that is over
  std::atomic<int> core;                  // which one
};

std::size_t LentCores::shared_bytes(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(Place); }

LentCores::LentCores(int rank, int ranks, std::shared_ptr<void> memory)
    : rank_(rank),
      ranks_(ranks),
      process_(getpid()),
      memory_(std::move(memory)),
      places_(static_cast<Place*>(memory_.get())) {
  static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);
}

LentCores::~LentCores() {
  stop_ = true;
  for (std::size_t k = 0; k < helpers_.size(); ++k) {
    if (process_ != getpid()) {
      helpers_[k].detach();  // a forked process has no helpers, only their names
      continue;
    }
    int none = nobody;
    places_[rank_].lender[k].compare_exchange_strong(none, stopped);
    wake(places_[rank_].lender[k]);
    helpers_[k].join();
  }
}

void LentCores::start_helpers() {
  if (!helpers_.empty()) return;
  try {
    for (int k = 0; k < most_helpers; ++k) helpers_.emplace_back([this, k] { help(k); });
  } catch (const std::system_error&) {
    // The system gives no more threads: no core is lent to those that are not there.
  }
  for (int k = static_cast<int>(helpers_.size()); k < most_helpers; ++k) places_[rank_].lender[k] = stopped;
}

void LentCores::run(std::int64_t count, Call call, const void* body) {
  start_helpers();
  Place& own = places_[rank_];
  count_ = count, call_ = call, body_ = body;
  failure_ = nullptr;
  own.next = 0;
  state_ = open_bit;
  for (const auto begun = Clock::now(); Clock::now() < begun + soon;) {
    const std::int64_t i = own.next.fetch_add(1);
    if (i >= count) break;
    work_on(i);
  }
  own.count = count;  // from now on cores may come
  work();
  own.count = 0;
  state_.fetch_sub(open_bit);
  while (const int inside = state_.load()) state_.wait(inside);
  sleep_while_lent();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

/// Stays on its core, so that it is woken up where its helper has left.
void LentCores::sleep_while_lent() {
  Place& own = places_[rank_];
  cpu_set_t cores;
  const bool found = sched_getaffinity(0, sizeof cores, &cores) == 0;
  own.core = found ? sched_getcpu() : -1;
  own.is_lent = 1;
  if (!lend(rank_)) return;
  bind_to(own.core);
  sleep_while(own.is_lent, 1);
  if (found) bind_to(cores);
}

void LentCores::work() {
  Place& own = places_[rank_];
  for (std::int64_t i; (i = own.next.fetch_add(1)) < count_;) work_on(i);
}

void LentCores::work_on(std::int64_t index) {
  try {
    call_(body_, index);
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

bool LentCores::enter() {
  int state = state_.load();
  while (state & open_bit)
    if (state_.compare_exchange_weak(state, state + 1)) return true;
  return false;
}

void LentCores::leave() {
  if (state_.fetch_sub(1) == 1) state_.notify_one();
}

void LentCores::help(int number) {
  std::atomic<int>& lender = places_[rank_].lender[number];
  for (;;) {
    if (stop_) return;
    sleep_while(lender, nobody);
    if (stop_) return;
    const int from = lender - 1;
    bind_to(places_[from].core);
    if (enter()) {
      work();
      leave();
    }
    lender = nobody;
    if (lend(from)) continue;
    places_[from].is_lent = 0;
    wake(places_[from].is_lent);
  }
}

/// To the rank with most left for each who works on it; false where none has a piece for one more.
bool LentCores::lend(int lender) {
  int to = -1, helper = -1;
  std::int64_t most = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    Place& place = places_[rank];
    const std::int64_t left = place.count - place.next;
    if (left < 2) continue;
    int workers = 1, free = -1;
    for (int k = 0; k < most_helpers; ++k) (place.lender[k] == nobody ? free = k : ++workers);
    if (free < 0 || left <= workers || left / workers <= most) continue;
    most = left / workers, to = rank, helper = free;
  }
  int none = nobody;
  if (to < 0 || !places_[to].lender[helper].compare_exchange_strong(none, lender + 1)) return false;
  wake(places_[to].lender[helper]);
  return true;
}

}  // namespace pergola

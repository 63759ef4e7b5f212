#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "comm/communicator.hpp"

namespace pergola {

namespace {

/// What a rank shows the others during a call. They read it between two calls of Meeting::wait().
struct Shown {
  const void* data = nullptr;
  const std::vector<Communicator::Outgoing>* out = nullptr;
};

/// Where the ranks wait for each other.
class Meeting {
 public:
  explicit Meeting(int ranks) : shown(static_cast<std::size_t>(ranks)), ranks_(ranks) {}

  /// Returns when all ranks have called it. Throws Error(system) if a rank has failed and will not.
  void wait() {
    std::unique_lock lock(mutex_);
    const auto round = round_;
    if (++waiting_ == ranks_) {
      waiting_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return round_ != round || broken_; });
    }
    if (round_ == round) throw Error(ErrorKind::system, "another rank has failed");
  }
  void give_up() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    changed_.notify_all();
  }
  bool all_have_failed(double seconds) {
    std::unique_lock lock(mutex_);
    ++failed_;
    changed_.notify_all();
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return failed_ == ranks_; });
  }

  std::vector<Shown> shown;  // by rank

 private:
  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0, failed_ = 0;
  std::int64_t round_ = 0;
  bool broken_ = false;
};

/// One meeting for the first threads of all ranks, and one for their second threads (Communicator::beside).
struct Meetings {
  explicit Meetings(int ranks) : first(ranks), second(ranks) {}
  void give_up() { first.give_up(), second.give_up(); }
  Meeting first, second;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(Meetings& all, Meeting& meeting, int rank) : all_(all), meeting_(meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_.shown.size()); }
  void barrier() override { meeting_.wait(); }

  void broadcast(void* data, std::size_t bytes, int root) override {
    show({data, nullptr});
    if (rank_ != root && bytes > 0) std::memcpy(data, meeting_.shown[static_cast<std::size_t>(root)].data, bytes);
    meeting_.wait();
  }
  void all_gather_in_place(void* all, const std::vector<std::size_t>& piece_bytes) override {
    show({all, nullptr});
    std::size_t offset = 0;
    for (std::size_t r = 0; r < piece_bytes.size(); ++r) {
      if (r != static_cast<std::size_t>(rank_) && piece_bytes[r] > 0)
        std::memcpy(static_cast<char*>(all) + offset, static_cast<const char*>(meeting_.shown[r].data) + offset,
                    piece_bytes[r]);
      offset += piece_bytes[r];
    }
    meeting_.wait();
  }
  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    show({nullptr, &out});
    bool all_found = true;
    std::vector<int> taken(meeting_.shown.size());  // messages of each rank
    for (const Incoming& message : in) all_found &= receive(message, taken[static_cast<std::size_t>(message.rank)]++);
    meeting_.wait();  // before throwing: other ranks may still read what this rank shows
    if (!all_found) throw Error(ErrorKind::system, "a message was expected that no rank has sent");
  }
  bool all_have_failed(double seconds) override { return meeting_.all_have_failed(seconds); }
  void abort(int) override { all_.give_up(); }
  std::shared_ptr<Communicator> beside() override {
    return std::make_shared<ThreadCommunicator>(all_, all_.second, rank_);
  }

 private:
  void show(const Shown& mine) {
    meeting_.shown[static_cast<std::size_t>(rank_)] = mine;
    meeting_.wait();
  }
  /// Copies the message with this number among those from its rank to this one. False if there is none of this size.
  bool receive(const Incoming& message, int number) {
    for (const Outgoing& sent : *meeting_.shown[static_cast<std::size_t>(message.rank)].out) {
      if (sent.rank != rank_ || number-- > 0) continue;
      if (sent.bytes != message.bytes) return false;
      if (message.bytes > 0) std::memcpy(message.data, sent.data, message.bytes);
      return true;
    }
    return false;
  }

  Meetings& all_;
  Meeting& meeting_;
  const int rank_;
};

}  // namespace

void run_on_thread_ranks(int ranks, const std::function<void(Communicator&)>& work) {
  Meetings meetings(ranks);
  std::mutex failure_mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadCommunicator communicator(meetings, meetings.first, rank);
      try {
        work(communicator);
      } catch (...) {
        {
          const std::lock_guard lock(failure_mutex);
          if (!failure) failure = std::current_exception();
        }
        meetings.give_up();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pergola

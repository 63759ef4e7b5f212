#pragma once
#include <memory>
#include <mutex>

#include "comm/beside.hpp"
#include "comm/communicator.hpp"

namespace pergola {

/// What a rank has had to do with the others.
struct Traffic {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;     // that it handed over for others
  std::int64_t received = 0;  // bytes of others that came to it
  /// To other ranks: those of an exchange; of a call that all ranks take part in as many as a tree of messages is deep.
  std::int64_t messages = 0;
  double seconds = 0;  // from the beginning of its calls to their end: waiting, and sending and receiving
};

/// Another communicator, with its calls counted. What is said beside it (comm/beside.hpp) counts too, but for the time:
/// that is its own.
class PERGOLA_API CountedCommunicator final : public Communicator, public TalksBeside {
 public:
  explicit CountedCommunicator(std::shared_ptr<Communicator> inner) : inner_(std::move(inner)) {}
  Traffic traffic() const;
  /// Counts what this rank sent to others, and what came to it, by another way.
  void add(std::int64_t bytes, std::int64_t received, std::int64_t messages, double seconds);

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void barrier() override;
  void broadcast(void* data, std::size_t bytes, int root) override;
  void all_gather_in_place(void* all, const std::vector<std::size_t>& piece_bytes) override;
  void all_reduce(std::int64_t* values, std::size_t count, Reduction reduction) override;
  void all_reduce(double* values, std::size_t count, Reduction reduction) override;
  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override;
  bool all_have_failed(double seconds) override { return inner_->all_have_failed(seconds); }
  void abort(int exit_code) override { inner_->abort(exit_code); }
  std::shared_ptr<Communicator> beside() override;

 private:
  template <class Call>
  void counted(std::size_t bytes, std::size_t received, int messages, const Call& call);
  /// Rounds until what one rank has is with all.
  int depth() const;

  std::shared_ptr<Communicator> inner_;
  mutable std::mutex mutex_;
  Traffic traffic_;
  std::shared_ptr<CountedCommunicator> beside_;
};

/// The same where calls of the communicator are counted.
PERGOLA_API void count_other_way(Communicator& ranks, std::int64_t bytes, std::int64_t received, std::int64_t messages,
                                 double seconds);
/// Seconds of all its calls so far; 0 where they are not counted.
PERGOLA_API double counted_seconds(const Communicator& ranks);

}  // namespace pergola

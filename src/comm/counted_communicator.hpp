#pragma once
#include <memory>
#include <mutex>

#include "comm/communicator.hpp"

namespace pergola {

/// What a rank has sent, received and waited.
struct Traffic {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;     // sent to other ranks
  std::int64_t received = 0;  // bytes from other ranks
  /// Sent to other ranks. An exchange counts its messages; any other call counts the depth of a tree over all ranks.
  std::int64_t messages = 0;
  double seconds = 0;  // in calls: waiting, sending and receiving
};

/// Passes all calls on to another communicator and counts them. Calls of beside() count too, except their time: the
/// communicator of the second thread counts that itself.
class PERGOLA_API CountedCommunicator final : public Communicator {
 public:
  explicit CountedCommunicator(std::shared_ptr<Communicator> inner) : inner_(std::move(inner)) {}
  Traffic traffic() const;
  /// Counts what this rank sent to others and received from them by other means.
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
  /// Rounds after which a value of one rank has reached all.
  int depth() const;

  std::shared_ptr<Communicator> inner_;
  mutable std::mutex mutex_;
  Traffic traffic_;
  std::shared_ptr<CountedCommunicator> beside_;
};

/// Calls add() if `ranks` is a CountedCommunicator.
PERGOLA_API void count_other_way(Communicator& ranks, std::int64_t bytes, std::int64_t received, std::int64_t messages,
                                 double seconds);
/// Traffic::seconds so far; 0 if `ranks` is not a CountedCommunicator.
PERGOLA_API double counted_seconds(const Communicator& ranks);

}  // namespace pergola

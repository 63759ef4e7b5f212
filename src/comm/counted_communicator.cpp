#include "comm/counted_communicator.hpp"

#include <bit>
#include <numeric>

#include "base/stopwatch.hpp"

namespace pergola {

template <class Call>
void CountedCommunicator::counted(std::size_t bytes, std::size_t received, int messages, const Call& call) {
  const auto begin = Clock::now();
  call();
  add(static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(received), messages, seconds_since(begin));
  const std::lock_guard lock(mutex_);
  ++traffic_.calls;
}

Traffic CountedCommunicator::traffic() const {
  const std::lock_guard lock(mutex_);
  Traffic all = traffic_;
  if (!beside_) return all;
  const Traffic other = beside_->traffic();
  all.calls += other.calls, all.messages += other.messages;
  all.bytes += other.bytes, all.received += other.received;
  return all;
}

std::shared_ptr<Communicator> CountedCommunicator::beside() {
  if (beside_) return beside_;
  const auto inner = inner_->beside();
  const std::lock_guard lock(mutex_);
  if (inner) beside_ = std::make_shared<CountedCommunicator>(inner);
  return beside_;
}

void CountedCommunicator::add(std::int64_t bytes, std::int64_t received, std::int64_t messages, double seconds) {
  const std::lock_guard lock(mutex_);
  traffic_.bytes += bytes, traffic_.received += received;
  traffic_.messages += messages;
  traffic_.seconds += seconds;
}

void count_other_way(Communicator& ranks, std::int64_t bytes, std::int64_t received, std::int64_t messages,
                     double seconds) {
  if (auto* const counted = dynamic_cast<CountedCommunicator*>(&ranks))
    counted->add(bytes, received, messages, seconds);
}

double counted_seconds(const Communicator& ranks) {
  const auto* const counted = dynamic_cast<const CountedCommunicator*>(&ranks);
  return counted ? counted->traffic().seconds : 0;
}

int CountedCommunicator::depth() const { return std::bit_width(static_cast<unsigned>(size() - 1)); }

void CountedCommunicator::barrier() {
  counted(0, 0, depth(), [&] { inner_->barrier(); });
}

void CountedCommunicator::broadcast(void* data, std::size_t bytes, int root) {
  const bool sends = rank() == root;
  counted(sends ? bytes : 0, sends ? 0 : bytes, depth(), [&] { inner_->broadcast(data, bytes, root); });
}

void CountedCommunicator::all_gather_in_place(void* all, const std::vector<std::size_t>& piece_bytes) {
  const std::size_t own = piece_bytes[static_cast<std::size_t>(rank())];
  const std::size_t sum = std::accumulate(piece_bytes.begin(), piece_bytes.end(), std::size_t{0});
  counted(own, sum - own, depth(), [&] { inner_->all_gather_in_place(all, piece_bytes); });
}

void CountedCommunicator::all_reduce(std::int64_t* values, std::size_t count, Reduction reduction) {
  const std::size_t bytes = count * sizeof *values;
  counted(bytes, bytes, depth(), [&] { inner_->all_reduce(values, count, reduction); });
}

void CountedCommunicator::all_reduce(double* values, std::size_t count, Reduction reduction) {
  const std::size_t bytes = count * sizeof *values;
  counted(bytes, bytes, depth(), [&] { inner_->all_reduce(values, count, reduction); });
}

void CountedCommunicator::exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) {
  std::size_t bytes = 0, received = 0;
  int messages = 0;
  for (const auto& together : joined_messages(out)) {
    if (together.front().rank == rank()) continue;
    for (const Outgoing& message : together) bytes += message.bytes;
    ++messages;
  }
  for (const Incoming& message : in) received += message.rank == rank() ? 0 : message.bytes;
  counted(bytes, received, messages, [&] { inner_->exchange(out, in); });
}

}  // namespace pergola

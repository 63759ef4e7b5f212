#include "comm/counted_communicator.hpp"

#include "base/stopwatch.hpp"

namespace pergola {

template <class Call>
void CountedCommunicator::counted(std::size_t bytes, const Call& call) {
  const auto begin = Clock::now();
  call();
  traffic_.seconds += seconds_since(begin);
  traffic_.bytes += static_cast<std::int64_t>(bytes);
  ++traffic_.calls;
}

void CountedCommunicator::barrier() {
  counted(0, [&] { inner_->barrier(); });
}

void CountedCommunicator::broadcast(void* data, std::size_t bytes, int root) {
  counted(rank() == root ? bytes : 0, [&] { inner_->broadcast(data, bytes, root); });
}

void CountedCommunicator::all_gather_in_place(void* all, const std::vector<std::size_t>& piece_bytes) {
  counted(piece_bytes[static_cast<std::size_t>(rank())], [&] { inner_->all_gather_in_place(all, piece_bytes); });
}

void CountedCommunicator::all_reduce(std::int64_t* values, std::size_t count, Reduction reduction) {
  counted(count * sizeof *values, [&] { inner_->all_reduce(values, count, reduction); });
}

void CountedCommunicator::all_reduce(double* values, std::size_t count, Reduction reduction) {
  counted(count * sizeof *values, [&] { inner_->all_reduce(values, count, reduction); });
}

void CountedCommunicator::exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) {
  std::size_t bytes = 0;
  for (const Outgoing& message : out) bytes += message.rank == rank() ? 0 : message.bytes;
  counted(bytes, [&] { inner_->exchange(out, in); });
}

}  // namespace pergola

#include "comm/communicator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"

namespace pergola {

namespace {

template <class T>
T combined(T a, T b, Reduction reduction) {
  if (reduction == Reduction::sum) return a + b;
  return reduction == Reduction::minimum ? std::min(a, b) : std::max(a, b);
}

/// Every rank gets all values and combines them in the order of ranks.
template <class T>
void reduce_by_gathering(Communicator& communicator, T* values, std::size_t count, Reduction reduction) {
  const auto ranks = static_cast<std::size_t>(communicator.size()),
             rank = static_cast<std::size_t>(communicator.rank());
  if (ranks == 1) return;
  std::vector<T> all(ranks * count);
  std::copy_n(values, count, all.data() + rank * count);
  communicator.all_gather_in_place(all.data(), std::vector<std::size_t>(ranks, count * sizeof(T)));
  std::copy_n(all.data(), count, values);
  for (std::size_t r = 1; r < ranks; ++r)
    for (std::size_t i = 0; i < count; ++i) values[i] = combined(values[i], all[r * count + i], reduction);
}

class SerialCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void barrier() override {}
  void broadcast(void*, std::size_t, int) override {}
  void all_gather_in_place(void*, const std::vector<std::size_t>&) override {}
  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    for (std::size_t k = 0; k < in.size(); ++k)
      if (in[k].bytes > 0) std::memcpy(in[k].data, out.at(k).data, in[k].bytes);
  }
  bool all_have_failed(double) override { return true; }
  void abort(int exit_code) override { std::_Exit(exit_code); }
};

}  // namespace

void Communicator::all_reduce(std::int64_t* values, std::size_t count, Reduction reduction) {
  reduce_by_gathering(*this, values, count, reduction);
}

void Communicator::all_reduce(double* values, std::size_t count, Reduction reduction) {
  reduce_by_gathering(*this, values, count, reduction);
}

void Communicator::all_to_all(const void* send, const std::vector<std::size_t>& send_bytes, void* receive,
                              const std::vector<std::size_t>& receive_bytes) {
  const auto ranks = static_cast<std::size_t>(size());
  if (send_bytes.size() != ranks || receive_bytes.size() != ranks)
    throw Error(ErrorKind::input, fmt::format("all_to_all: expected {} sizes, found {} to send and {} to receive",
                                              ranks, send_bytes.size(), receive_bytes.size()));
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  const char* from = static_cast<const char*>(send);
  char* to = static_cast<char*>(receive);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (send_bytes[r] > 0) out.push_back({static_cast<int>(r), from, send_bytes[r]});
    if (receive_bytes[r] > 0) in.push_back({static_cast<int>(r), to, receive_bytes[r]});
    from += send_bytes[r];
    to += receive_bytes[r];
  }
  exchange(out, in);
}

std::shared_ptr<Communicator> serial_communicator() { return std::make_shared<SerialCommunicator>(); }

}  // namespace pergola

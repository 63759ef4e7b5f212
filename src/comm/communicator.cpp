#include "comm/communicator.hpp"

#include <cstdlib>

namespace pergola {

namespace {

class SerialCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void barrier() override {}
  void broadcast(void*, std::size_t, int) override {}
  void all_gather_in_place(void*, const std::vector<std::size_t>&) override {}
  bool all_have_failed(double) override { return true; }
  void abort(int exit_code) override { std::_Exit(exit_code); }
};

}  // namespace

std::shared_ptr<Communicator> serial_communicator() { return std::make_shared<SerialCommunicator>(); }

}  // namespace pergola

#include "comm/communicator.hpp"

namespace pergola {

std::shared_ptr<Communicator> world_communicator() { return serial_communicator(); }

}  // namespace pergola

#include "base/error.hpp"
#include "comm/communicator.hpp"

namespace pergola {

std::shared_ptr<Communicator> world_communicator() { return serial_communicator(); }

std::shared_ptr<Communicator> mpi_communicator(const void*) {
  throw Error(ErrorKind::input, "an MPI communicator was handed in; this build has no MPI");
}

bool mpi_built() { return false; }

bool mpi_takes_device_pointers() { return false; }

}  // namespace pergola

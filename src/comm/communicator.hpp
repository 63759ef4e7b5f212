#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// The processes that work on one simulation. <mpi.h> is included by comm/communicator_mpi.cpp and nowhere else.
class PERGOLA_API Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void barrier() = 0;
  /// Rank `root`'s bytes to all.
  virtual void broadcast(void* data, std::size_t bytes, int root = 0) = 0;
  /// Every rank's piece, in order of rank, to all. `piece_bytes[r]` is the size of rank r's piece; `all` has room for
  /// their sum, and this rank's piece already stands at its place in it.
  virtual void all_gather_in_place(void* all, const std::vector<std::size_t>& piece_bytes) = 0;
  /// For a rank that cannot go on: true when within `seconds` all ranks have said so, so that one of them may speak for
  /// all; false when others still work and must be ended with abort().
  virtual bool all_have_failed(double seconds) = 0;
  /// Ends the processes of all ranks.
  virtual void abort(int exit_code) = 0;
  bool is_root() const { return rank() == 0; }
};

/// One process.
PERGOLA_API std::shared_ptr<Communicator> serial_communicator();

/// All processes that mpirun or srun started; the serial communicator when this process was not started by one of them
/// or the build has no MPI. Starts MPI on the first call; MPI ends with the process.
PERGOLA_API std::shared_ptr<Communicator> world_communicator();

/// Whether this build holds MPI.
PERGOLA_API bool mpi_built();

}  // namespace pergola

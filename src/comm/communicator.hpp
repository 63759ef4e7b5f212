#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

enum class Reduction { sum, minimum, maximum };

/// The ranks that work on one simulation: one process, the processes of MPI, or threads of this process
/// (comm/thread_ranks.hpp). All calls but rank() and size() are collective: every rank makes the same ones in the same
/// order. Memory is the host's. <mpi.h> is included by comm/communicator_mpi.cpp and nowhere else.
class PERGOLA_API Communicator {
 public:
  struct Outgoing {
    int rank = 0;
    const void* data = nullptr;
    std::size_t bytes = 0;
  };
  struct Incoming {
    int rank = 0;
    void* data = nullptr;
    std::size_t bytes = 0;
  };

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void barrier() = 0;
  /// Rank `root`'s bytes to all.
  virtual void broadcast(void* data, std::size_t bytes, int root = 0) = 0;
  /// Every rank's piece, in order of rank, to all. `piece_bytes[r]` is the size of rank r's piece; `all` has room for
  /// their sum, and this rank's piece already stands at its place in it.
  virtual void all_gather_in_place(void* all, const std::vector<std::size_t>& piece_bytes) = 0;
  /// Each element over all ranks, to all. Whole numbers are exact; sums of reals are added in the order of ranks, so
  /// that they have the same bits on every rank and every kind of communicator. No NaN.
  virtual void all_reduce(std::int64_t* values, std::size_t count, Reduction reduction);
  virtual void all_reduce(double* values, std::size_t count, Reduction reduction);
  /// Messages between some ranks: sender and receiver both know of each and of its size. Several from a rank to another
  /// arrive in the order in which they are given; a rank may send to itself. Neighbours exchange what they share.
  virtual void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) = 0;
  /// The bytes for rank r, send_bytes[r] of them, stand in `send` in the order of ranks, and so do those that arrive in
  /// `receive`.
  void all_to_all(const void* send, const std::vector<std::size_t>& send_bytes, void* receive,
                  const std::vector<std::size_t>& receive_bytes);
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

/// The processes of an MPI communicator that a program hands in: a pointer to its MPI_Comm, which is duplicated. MPI
/// has been started by then and is ended by whoever started it. Throws Error(input) in a build without MPI.
PERGOLA_API std::shared_ptr<Communicator> mpi_communicator(const void* mpi_comm);

/// Whether this build holds MPI.
PERGOLA_API bool mpi_built();

}  // namespace pergola

#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

enum class Reduction { sum, minimum, maximum };

/// The ranks that work on one simulation: one process, the processes of MPI, or threads of one process.
///
/// This is the seam between ranks. All data that a rank sends passes through these calls, except GPU memory that
/// another rank of the machine opens (domain/device_messages.hpp). Only comm/communicator_mpi.cpp includes <mpi.h>.
/// A new kind of communicator implements the pure virtual functions; the reductions and all_to_all() follow from them.
/// What always holds: all calls except rank(), size(), is_root(), all_have_failed() and abort() are collective, that
/// is, every rank makes the same calls in the same order. Data lies in host memory; exchange() also takes device
/// pointers where mpi_takes_device_pointers(). Sums of reals have the same bits on every rank and with every kind of
/// communicator. A call that fails throws Error(system).
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
  bool is_root() const { return rank() == 0; }
  virtual void barrier() = 0;
  /// Sends the bytes of rank `root` to all ranks.
  virtual void broadcast(void* data, std::size_t bytes, int root = 0) = 0;
  /// Sends every rank's piece to all ranks, in the order of ranks. `piece_bytes[r]` is the size of rank r's piece.
  /// `all` has room for all pieces, and this rank's piece is already at its place in it.
  virtual void all_gather_in_place(void* all, const std::vector<std::size_t>& piece_bytes) = 0;
  /// Combines each element over all ranks; all ranks get the result. Reals are added in the order of ranks. No NaN.
  virtual void all_reduce(std::int64_t* values, std::size_t count, Reduction reduction);
  virtual void all_reduce(double* values, std::size_t count, Reduction reduction);
  /// Messages between some of the ranks. Sender and receiver both know every message and its size. Several messages
  /// from one rank to another arrive in the order of the list. A rank may send to itself.
  virtual void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) = 0;
  /// `send` holds send_bytes[r] bytes for each rank r, in the order of ranks; `receive` gets the others' in that order.
  void all_to_all(const void* send, const std::vector<std::size_t>& send_bytes, void* receive,
                  const std::vector<std::size_t>& receive_bytes);
  /// The same ranks for a second thread of each rank, which may communicate while the first thread does. Returns the
  /// same communicator every time; null on all ranks if they cannot: one process, or an MPI without such threads.
  virtual std::shared_ptr<Communicator> beside() { return nullptr; }
  /// For a rank that has failed. True if all ranks call it within `seconds`: one of them may then report the error for
  /// all. False if other ranks still work: end them with abort().
  virtual bool all_have_failed(double seconds) = 0;
  /// Ends the processes of all ranks.
  virtual void abort(int exit_code) = 0;
};

/// One process.
PERGOLA_API std::shared_ptr<Communicator> serial_communicator();

/// All processes that mpirun or srun started. The serial communicator if neither started this process or if the build
/// has no MPI. The first call starts MPI; MPI ends with the process.
PERGOLA_API std::shared_ptr<Communicator> world_communicator();

/// The processes of an MPI communicator of the calling program. `mpi_comm` points to its MPI_Comm, which is duplicated.
/// The program starts and ends MPI. Throws Error(input) in a build without MPI.
PERGOLA_API std::shared_ptr<Communicator> mpi_communicator(const void* mpi_comm);

/// Calls `work` on `ranks` threads, each with its own communicator, and waits for all. If one throws, the others leave
/// the call in which they wait with Error(system), and the first exception is thrown again. For tests and for `plan`.
PERGOLA_API void run_on_thread_ranks(int ranks, const std::function<void(Communicator&)>& work);

/// Whether this build contains MPI.
PERGOLA_API bool mpi_built();

/// Whether the MPI library of this process says that it takes pointers to GPU memory.
PERGOLA_API bool mpi_takes_device_pointers();

/// The messages from one rank to another in one exchange() travel as one if together they have at most this many
/// bytes: a short message costs its latency, a long one its bytes.
constexpr std::size_t most_joined_bytes = 65536;

/// Groups the messages of one exchange(): those of a group travel as one, in this order. Empty messages are left out.
/// Sender and receiver know the same messages, so they find the same groups.
template <class Message>
std::vector<std::vector<Message>> joined_messages(std::vector<Message> all) {
  std::erase_if(all, [](const Message& message) { return message.bytes == 0; });
  std::stable_sort(all.begin(), all.end(), [](const Message& a, const Message& b) { return a.rank < b.rank; });
  std::vector<std::vector<Message>> joined;
  for (auto first = all.begin(); first != all.end();) {
    std::size_t bytes = 0;
    auto end = first;
    for (; end != all.end() && end->rank == first->rank; ++end) bytes += end->bytes;
    if (bytes <= most_joined_bytes)
      joined.emplace_back(first, end);
    else
      for (; first != end; ++first) joined.push_back({*first});
    first = end;
  }
  return joined;
}

}  // namespace pergola

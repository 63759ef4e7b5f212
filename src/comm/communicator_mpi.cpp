#include <fmt/core.h>
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "comm/communicator.hpp"

namespace pergola {

namespace {

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm processes) {
    check("MPI_Comm_dup", MPI_Comm_dup(processes, &processes_));
    check("MPI_Comm_dup", MPI_Comm_dup(processes, &failures_));
    // Otherwise MPI ends the processes itself, without our error message and exit code.
    MPI_Comm_set_errhandler(processes_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(failures_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(processes_, &rank_);
    MPI_Comm_size(processes_, &size_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void barrier() override { check("MPI_Barrier", MPI_Barrier(processes_)); }
  void broadcast(void* data, std::size_t bytes, int root) override {
    in_pieces(bytes, [&](std::size_t offset, int piece) {
      check("MPI_Bcast", MPI_Bcast(static_cast<char*>(data) + offset, piece, MPI_BYTE, root, processes_));
    });
  }
  void all_gather_in_place(void* all, const std::vector<std::size_t>& piece_bytes) override {
    std::vector<int> counts, offsets;
    std::size_t offset = 0;
    for (const std::size_t bytes : piece_bytes) {
      counts.push_back(static_cast<int>(bytes));
      offsets.push_back(static_cast<int>(offset));
      offset += bytes;
    }
    if (offset <= static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      check("MPI_Allgatherv", MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts.data(), offsets.data(),
                                             MPI_BYTE, processes_));
      return;
    }
    offset = 0;
    for (int r = 0; r < size_; ++r) {
      broadcast(static_cast<char*>(all) + offset, piece_bytes[static_cast<std::size_t>(r)], r);
      offset += piece_bytes[static_cast<std::size_t>(r)];
    }
  }
  void all_reduce(std::int64_t* values, std::size_t count, Reduction reduction) override {
    reduce(values, count, MPI_INT64_T, reduction);
  }
  void all_reduce(double* values, std::size_t count, Reduction reduction) override {
    if (reduction == Reduction::sum)
      return Communicator::all_reduce(values, count, reduction);  // MPI adds in an order of its own
    reduce(values, count, MPI_DOUBLE, reduction);
  }
  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    std::vector<MPI_Request> requests;
    for (const auto& messages : joined_messages(in))
      transfer(messages, [&](void* data, int count, MPI_Datatype type, int rank) {
        check("MPI_Irecv", MPI_Irecv(data, count, type, rank, 0, processes_, &requests.emplace_back()));
      });
    for (const auto& messages : joined_messages(out))
      transfer(messages, [&](const void* data, int count, MPI_Datatype type, int rank) {
        check("MPI_Isend", MPI_Isend(data, count, type, rank, 0, processes_, &requests.emplace_back()));
      });
    check("MPI_Waitall", MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  }
  bool all_have_failed(double seconds) override {
    MPI_Request request{};
    MPI_Ibarrier(failures_, &request);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    int done = 0;
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return done != 0;
  }
  void abort(int exit_code) override {
    MPI_Abort(processes_, exit_code);
    std::_Exit(exit_code);
  }
  std::shared_ptr<Communicator> beside() override {
    if (std::exchange(asked_beside_, true)) return beside_;
    int level = MPI_THREAD_SINGLE;
    check("MPI_Query_thread", MPI_Query_thread(&level));
    std::int64_t bears = level == MPI_THREAD_MULTIPLE ? 1 : 0;
    all_reduce(&bears, 1, Reduction::minimum);
    if (bears && size_ > 1) beside_ = std::make_shared<MpiCommunicator>(processes_);
    return beside_;
  }

 private:
  static void check(const char* call, int code) {
    if (code == MPI_SUCCESS) return;
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, reason, &length);
    throw Error(ErrorKind::system, fmt::format("{} failed: {}", call, reason));
  }
  /// MPI counts are int, so long messages go in pieces.
  template <class Action>
  static void in_pieces(std::size_t bytes, const Action& action) {
    constexpr std::size_t most = std::size_t{1} << 30;
    for (std::size_t offset = 0; offset < bytes; offset += most)
      action(offset, static_cast<int>(std::min(bytes - offset, most)));
  }
  static void* byte_at(void* data, std::size_t offset) { return static_cast<char*>(data) + offset; }
  static const void* byte_at(const void* data, std::size_t offset) { return static_cast<const char*>(data) + offset; }
  /// Calls start(data, count, type, rank) for messages that travel as one, each from its own place in memory.
  template <class Message, class Start>
  static void transfer(const std::vector<Message>& messages, const Start& start) {
    const Message& first = messages.front();
    if (messages.size() == 1)
      return in_pieces(first.bytes, [&](std::size_t offset, int bytes) {
        start(byte_at(first.data, offset), bytes, MPI_BYTE, first.rank);
      });
    std::vector<int> bytes;
    std::vector<MPI_Aint> places(messages.size());
    for (std::size_t k = 0; k < messages.size(); ++k) {
      bytes.push_back(static_cast<int>(messages[k].bytes));
      check("MPI_Get_address", MPI_Get_address(messages[k].data, &places[k]));
    }
    MPI_Datatype together = MPI_DATATYPE_NULL;
    check("MPI_Type_create_hindexed",
          MPI_Type_create_hindexed(static_cast<int>(bytes.size()), bytes.data(), places.data(), MPI_BYTE, &together));
    check("MPI_Type_commit", MPI_Type_commit(&together));
    start(MPI_BOTTOM, 1, together, first.rank);
    MPI_Type_free(&together);  // takes effect once the message is sent
  }
  void reduce(void* values, std::size_t count, MPI_Datatype type, Reduction reduction) {
    const MPI_Op operation = reduction == Reduction::sum       ? MPI_SUM
                             : reduction == Reduction::minimum ? MPI_MIN
                                                               : MPI_MAX;
    in_pieces(count * element_bytes, [&](std::size_t offset, int bytes) {
      check("MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, static_cast<char*>(values) + offset,
                                           bytes / static_cast<int>(element_bytes), type, operation, processes_));
    });
  }

  static constexpr std::size_t element_bytes = 8;  // of std::int64_t and double
  int rank_ = 0, size_ = 1;
  // Duplicates of the given communicator; failures_ is for all_have_failed() only. MPI_Finalize frees them.
  MPI_Comm processes_ = MPI_COMM_NULL, failures_ = MPI_COMM_NULL;
  bool asked_beside_ = false;
  std::shared_ptr<Communicator> beside_;
};

/// MPI starts only under mpirun or srun: a plain `pergola` must also work where MPI cannot start.
bool started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_STEP_ID", "MPI_LOCALNRANKS"})
    if (std::getenv(name)) return true;
  return false;
}

/// Several threads of a rank communicate only where it may have a GPU (domain/work_beside.hpp). Elsewhere MPI is
/// started for one thread, because its locks for several take time. PERGOLA_MPI_THREADS=one or several overrides this.
int wanted_threads() {
  const char* const words = std::getenv("PERGOLA_MPI_THREADS");
  const std::string_view said = words ? words : "";
  const bool several = said == "several" || (said != "one" && cuda_built && std::filesystem::exists("/dev/nvidiactl"));
  return several ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
}

}  // namespace

bool mpi_built() { return true; }

bool mpi_takes_device_pointers() {
  int initialized = 0;
  MPI_Initialized(&initialized);
#if defined(MPIX_CUDA_AWARE_SUPPORT)  // Open MPI has the query below
  return initialized && MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

std::shared_ptr<Communicator> world_communicator() {
  if (!started_by_mpi()) return serial_communicator();
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, wanted_threads(), &provided) != MPI_SUCCESS)
      throw Error(ErrorKind::system, "MPI could not be started");
    std::atexit([] {
      int finalized = 0;
      MPI_Finalized(&finalized);
      if (!finalized) MPI_Finalize();
    });
  }
  return std::make_shared<MpiCommunicator>(MPI_COMM_WORLD);
}

std::shared_ptr<Communicator> mpi_communicator(const void* mpi_comm) {
  return std::make_shared<MpiCommunicator>(*static_cast<const MPI_Comm*>(mpi_comm));
}

}  // namespace pergola

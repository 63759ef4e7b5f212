#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

#include "base/error.hpp"
#include "comm/communicator.hpp"

namespace pergola {

namespace {

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_dup(MPI_COMM_WORLD, &failures_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void broadcast(void* data, std::size_t bytes, int root) override {
    // MPI counts are int: long messages go in pieces.
    auto* at = static_cast<char*>(data);
    while (bytes > 0) {
      const std::size_t piece = std::min<std::size_t>(bytes, 1u << 30);
      MPI_Bcast(at, static_cast<int>(piece), MPI_BYTE, root, MPI_COMM_WORLD);
      at += piece;
      bytes -= piece;
    }
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
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts.data(), offsets.data(), MPI_BYTE, MPI_COMM_WORLD);
      return;
    }
    offset = 0;
    for (int r = 0; r < size_; ++r) {
      broadcast(static_cast<char*>(all) + offset, piece_bytes[static_cast<std::size_t>(r)], r);
      offset += piece_bytes[static_cast<std::size_t>(r)];
    }
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
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  int rank_ = 0, size_ = 1;
  MPI_Comm failures_ = MPI_COMM_NULL;  // for all_have_failed() alone; MPI_Finalize gives it back
};

/// MPI starts only under mpirun or srun: a plain `pergola` must work where MPI's daemons do not.
bool started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_STEP_ID", "MPI_LOCALNRANKS"})
    if (std::getenv(name)) return true;
  return false;
}

}  // namespace

bool mpi_built() { return true; }

std::shared_ptr<Communicator> world_communicator() {
  if (!started_by_mpi()) return serial_communicator();
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
      throw Error(ErrorKind::system, "MPI could not be started");
    std::atexit([] {
      int finalized = 0;
      MPI_Finalized(&finalized);
      if (!finalized) MPI_Finalize();
    });
  }
  return std::make_shared<MpiCommunicator>();
}

}  // namespace pergola

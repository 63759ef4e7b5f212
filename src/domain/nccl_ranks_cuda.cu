#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "device/gpu_identity.hpp"
#include "device/launch.cuh"
#include "domain/nccl_ranks.hpp"

namespace pergola {

namespace {

// The part of nccl.h (NCCL 2.7 and later) that is used here: its interface has not changed since.
using NcclComm = void*;
struct NcclId {
  char bytes[128];
};
constexpr int nccl_bytes = 0;  // ncclInt8

struct NcclLibrary {
  int (*ncclGetUniqueId)(NcclId*);
  int (*ncclCommInitRank)(NcclComm*, int, NcclId, int);
  int (*ncclCommDestroy)(NcclComm);
  int (*ncclGroupStart)();
  int (*ncclGroupEnd)();
  int (*ncclSend)(const void*, std::size_t, int, int, NcclComm, cudaStream_t);
  int (*ncclRecv)(void*, std::size_t, int, int, NcclComm, cudaStream_t);
  const char* (*ncclGetErrorString)(int);
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// False where it is not there, or is too old.
bool open_library(NcclLibrary& to) {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);  // never closed: it has threads of its own
  if (!library) return false;
#define PERGOLA_NCCL_FIND(name) find(library, #name, to.name)
  return PERGOLA_NCCL_FIND(ncclGetUniqueId) && PERGOLA_NCCL_FIND(ncclCommInitRank) &&
         PERGOLA_NCCL_FIND(ncclCommDestroy) && PERGOLA_NCCL_FIND(ncclGroupStart) && PERGOLA_NCCL_FIND(ncclGroupEnd) &&
         PERGOLA_NCCL_FIND(ncclSend) && PERGOLA_NCCL_FIND(ncclRecv) && PERGOLA_NCCL_FIND(ncclGetErrorString);
#undef PERGOLA_NCCL_FIND
}

class OpenNcclRanks final : public NcclRanks {
 public:
  OpenNcclRanks(const NcclLibrary& library, const Device& device, Communicator& ranks)
      : library_(library), device_(device) {
    device_.make_current();
    NcclId id{};
    if (ranks.is_root()) check(library_.ncclGetUniqueId(&id));
    ranks.broadcast(&id, sizeof id, 0);
    check(library_.ncclCommInitRank(&comm_, ranks.size(), id, ranks.rank()));
  }
  ~OpenNcclRanks() override {
    if (comm_) library_.ncclCommDestroy(comm_);
  }
  OpenNcclRanks(const OpenNcclRanks&) = delete;
  OpenNcclRanks& operator=(const OpenNcclRanks&) = delete;

  void exchange(const std::vector<Communicator::Outgoing>& out,
                const std::vector<Communicator::Incoming>& in) override {
    device_.make_current();
    const cudaStream_t stream = cuda::handle(device_.stream());
    check(library_.ncclGroupStart());
    for (const auto& message : out)
      check(library_.ncclSend(message.data, message.bytes, nccl_bytes, message.rank, comm_, stream));
    for (const auto& message : in)
      check(library_.ncclRecv(message.data, message.bytes, nccl_bytes, message.rank, comm_, stream));
    check(library_.ncclGroupEnd());
    device_.synchronize();
  }

 private:
  void check(int result) const {
    if (result != 0) throw Error(ErrorKind::device, fmt::format("NCCL: {}", library_.ncclGetErrorString(result)));
  }

  NcclLibrary library_;
  Device device_;
  NcclComm comm_ = nullptr;
};

}  // namespace

bool nccl_is_there() {
  NcclLibrary library{};
  return open_library(library);
}

std::unique_ptr<NcclRanks> open_nccl_ranks(const Device& device, Communicator& ranks) {
  NcclLibrary library{};
  std::int64_t is_there = open_library(library) ? 1 : 0;
  ranks.all_reduce(&is_there, 1, Reduction::minimum);
  if (!is_there) return nullptr;
  std::vector<GpuIdentity> names(static_cast<std::size_t>(ranks.size()));
  names[static_cast<std::size_t>(ranks.rank())] = gpu_identity(device);
  ranks.all_gather_in_place(names.data(), std::vector<std::size_t>(names.size(), sizeof(names[0])));
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end()) return nullptr;
  return std::make_unique<OpenNcclRanks>(library, device, ranks);
}

}  // namespace pergola

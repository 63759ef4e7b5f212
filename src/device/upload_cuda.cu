#include <algorithm>
#include <array>
#include <cstring>

#include "device/launch.cuh"
#include "device/parallel.hpp"
#include "device/shared_buffer.hpp"
#include "device/side_stream.cuh"
#include "device/upload.hpp"

namespace pergola {

namespace {

/// What a thread brings at a time, and how many threads do. Locking memory takes a millisecond for some 1.5 MiB.
constexpr std::size_t piece_bytes = std::size_t{512} << 10;
constexpr int most_threads = 8;
/// Fewer bytes than these are copied as they are.
constexpr std::size_t least_bytes = std::size_t{4} << 20;

/// Two pieces of page-locked memory that one thread fills in turn.
class PieceCopies {
 public:
  PieceCopies(const Device& device, cudaStream_t stream, std::byte* memory) : stream_(stream), memory_(memory) {
    device.make_current();
    for (cudaEvent_t& event : copied_)
      cuda::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  }
  PieceCopies(const PieceCopies&) = delete;
  PieceCopies& operator=(const PieceCopies&) = delete;
  ~PieceCopies() {
    for (const cudaEvent_t event : copied_)
      if (event) cudaEventDestroy(event);
  }

  void copy(const Upload& one) {
    std::byte* const piece = memory_ + next_ * piece_bytes;
    cuda::check(cudaEventSynchronize(copied_[next_]), "copy to device");
    std::memcpy(piece, one.from, one.bytes);
    cuda::check(cudaMemcpyAsync(one.to, piece, one.bytes, cudaMemcpyHostToDevice, stream_), "copy to device");
    cuda::check(cudaEventRecord(copied_[next_], stream_), "cudaEventRecord");
    next_ = 1 - next_;
  }

 private:
  cudaStream_t stream_;
  std::byte* memory_;
  std::array<cudaEvent_t, 2> copied_{};
  std::size_t next_ = 0;
};

}  // namespace

void upload_cuda(const Device& device, std::span<const Upload> uploads) {
  std::vector<Upload> pieces;
  std::size_t total = 0;
  for (const Upload& one : uploads) {
    for (std::size_t at = 0; at < one.bytes; at += piece_bytes)
      pieces.push_back({static_cast<std::byte*>(one.to) + at, static_cast<const std::byte*>(one.from) + at,
                        std::min(piece_bytes, one.bytes - at)});
    total += one.bytes;
  }
  if (total < least_bytes) {
    for (const Upload& one : uploads)
      if (one.bytes > 0) device.memory().from_host(one.to, one.from, one.bytes);
    return;
  }
  device.make_current();
  const int threads = std::clamp(device.threads(), 1, most_threads);
  SharedBuffer<std::byte> locked(device, 2 * threads * static_cast<std::int64_t>(piece_bytes));
  const cuda::SideStream side;
  parallel_for(threads, threads, [&](std::int64_t thread) {
    PieceCopies copies(device, side.stream(), locked.data() + 2 * static_cast<std::size_t>(thread) * piece_bytes);
    for (auto k = static_cast<std::size_t>(thread); k < pieces.size(); k += static_cast<std::size_t>(threads))
      copies.copy(pieces[k]);
  });
  cuda::check(cudaStreamSynchronize(side.stream()), "copy to device");
}

}  // namespace pergola

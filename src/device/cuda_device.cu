#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/streams.cuh"

namespace pergola {

namespace {

std::atomic<double> spent_on_opening = 0;
std::atomic<const char*> stage_now = nullptr;
thread_local bool urgent = false;

/// Adds the seconds of its life to spent_on_opening.
class OpeningClock {
 public:
  ~OpeningClock() { spent_on_opening += seconds_since(begin_); }

 private:
  Clock::time_point begin_ = Clock::now();
};

/// The allocations of all devices of this process.
class MemoryAccount {
 public:
  void add(void* pointer, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    sizes_[pointer] = bytes, held_ += bytes;
    if (held_ > most_) most_ = held_, most_in_ = stage_now;
  }
  void remove(void* pointer) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(pointer);
    if (found == sizes_.end()) return;
    held_ -= found->second;
    sizes_.erase(found);
  }
  std::size_t held() {
    const std::lock_guard lock(mutex_);
    return held_;
  }
  std::size_t most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }
  std::string most_in() {
    const std::lock_guard lock(mutex_);
    return most_in_ ? most_in_ : "";
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::size_t held_ = 0, most_ = 0;
  const char* most_in_ = nullptr;
};

/// Never destroyed: buffers may be released while the process ends.
MemoryAccount& account() {
  static auto* const all = new MemoryAccount;
  return *all;
}

class CudaMemory final : public DeviceMemory {
 public:
  explicit CudaMemory(int ordinal) : ordinal_(ordinal) {
    const OpeningClock clock;
    make_current();
    int least = 0, greatest = 0;
    cuda::check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cuda::check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? greatest : least),
                "cudaStreamCreate");
  }
  ~CudaMemory() override {
    cudaSetDevice(ordinal_);
    for (const cudaEvent_t event : spare_events_) cudaEventDestroy(event);
    cudaStreamDestroy(stream_);
  }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  void* allocate(std::size_t bytes) override {
    make_current();
    void* pointer = nullptr;
    if (cudaMalloc(&pointer, bytes) != cudaSuccess) {
      cudaGetLastError();
      throw Error(ErrorKind::device,
                  fmt::format("cuda:{}: out of memory: {} asked for, {} free", ordinal_,
                              bytes_text(static_cast<double>(bytes)), bytes_text(static_cast<double>(free_bytes()))));
    }
    account().add(pointer, bytes);
    return pointer;
  }
  void release(void* pointer) noexcept override {
    account().remove(pointer);
    cudaSetDevice(ordinal_);
    cudaFree(pointer);
  }
  void* allocate_shared(std::size_t bytes) override {
    make_current();
    void* pointer = nullptr;
    if (cudaHostAlloc(&pointer, bytes, cudaHostAllocMapped | cudaHostAllocPortable) != cudaSuccess) {
      cudaGetLastError();
      throw Error(ErrorKind::device, fmt::format("cuda:{}: the system gave no page-locked memory: {} asked for",
                                                 ordinal_, bytes_text(static_cast<double>(bytes))));
    }
    return pointer;
  }
  void release_shared(void* pointer) noexcept override {
    cudaSetDevice(ordinal_);
    cudaFreeHost(pointer);
  }
  void from_host(void* device, const void* host, std::size_t bytes) override {
    make_current();
    cuda::check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_), "copy to device");
    synchronize();  // the caller may free the host memory
  }
  void to_host(void* host, const void* device, std::size_t bytes) override {
    make_current();
    cuda::check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "copy to host");
    synchronize();
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    make_current();
    cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copy on device");
  }
  void zero(void* device, std::size_t bytes) override {
    make_current();
    cuda::check(cudaMemsetAsync(device, 0, bytes, stream_), "zero");
  }
  void synchronize() override { cuda::check(cudaStreamSynchronize(stream_), "synchronize"); }
  std::size_t free_bytes() const override { return memory_info().first; }
  std::size_t total_bytes() const override { return memory_info().second; }
  Stream stream() const override { return {stream_}; }
  Event record_event() override {
    make_current();
    cudaEvent_t event = nullptr;
    if (spare_events_.empty())
      cuda::check(cudaEventCreate(&event), "cudaEventCreate");
    else
      event = spare_events_.back(), spare_events_.pop_back();
    cuda::check(cudaEventRecord(event, stream_), "cudaEventRecord");
    return {event, 0};
  }
  double seconds_between(const Event& first, const Event& later) override {
    make_current();
    float milliseconds = 0;
    cuda::check(cudaEventSynchronize(event_of(later)), "cudaEventSynchronize");
    cuda::check(cudaEventElapsedTime(&milliseconds, event_of(first), event_of(later)), "cudaEventElapsedTime");
    return 1e-3 * milliseconds;
  }
  void release(const Event& event) noexcept override { spare_events_.push_back(event_of(event)); }
  void make_current() const override { cuda::check(cudaSetDevice(ordinal_), "cudaSetDevice"); }

 private:
  std::pair<std::size_t, std::size_t> memory_info() const {
    make_current();
    std::size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return {free, total};
  }
  static cudaEvent_t event_of(const Event& event) { return static_cast<cudaEvent_t>(event.handle); }

  int ordinal_;
  cudaStream_t stream_ = nullptr;
  std::vector<cudaEvent_t> spare_events_;
};

/// Why this build cannot use a device; empty if it can.
std::string why_not_usable(const cudaDeviceProp& properties) {
  if (properties.major < 7)
    return fmt::format("compute capability {}.{} is too old", properties.major, properties.minor);
  return "";
}

/// A thread uploads pieces of this size, and this many threads do. Locking 1.5 MiB of memory takes a millisecond.
constexpr std::size_t piece_bytes = std::size_t{512} << 10;
constexpr int most_threads = 8;
/// Fewer bytes than these are copied directly.
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

std::unique_ptr<DeviceMemory> open_cuda_memory(int ordinal, std::string& name) {
  const auto found = list_cuda_devices();
  if (found.size() == 1 && found[0].spec == "cuda")
    throw Error(ErrorKind::device, fmt::format("cuda:{}: {}", ordinal, found[0].why_not));
  if (ordinal >= static_cast<int>(found.size()))
    throw Error(ErrorKind::device,
                fmt::format("cuda:{}: no such device; this machine has {} (cuda:0{})", ordinal, found.size(),
                            found.size() > 1 ? fmt::format(" to cuda:{}", found.size() - 1) : ""));
  const auto& report = found[static_cast<std::size_t>(ordinal)];
  if (!report.usable) throw Error(ErrorKind::device, fmt::format("{}: {}", report.spec, report.why_not));
  name = report.name;
  return std::make_unique<CudaMemory>(ordinal);
}

std::size_t cuda_held_bytes() { return account().held(); }
std::size_t cuda_most_held_bytes() { return account().most(); }
std::string cuda_most_held_in() { return account().most_in(); }
void note_cuda_stage(const char* name) { stage_now = name; }

double cuda_opening_seconds() { return spent_on_opening; }

UrgentStreams::UrgentStreams() { urgent = true; }
UrgentStreams::~UrgentStreams() { urgent = false; }

std::vector<DeviceReport> list_cuda_devices() {
  const OpeningClock clock;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    return {{"cuda", "", false,
             status == cudaSuccess ? "no CUDA device found"
             : status == cudaErrorInsufficientDriver
                 ? "no NVIDIA driver found, or one older than this build's CUDA runtime"
                 : cudaGetErrorString(status),
             0, 0}};
  }
  std::vector<DeviceReport> all;
  for (int k = 0; k < count; ++k) {
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, k), "cudaGetDeviceProperties");
    const std::string why = why_not_usable(properties);
    all.push_back({fmt::format("cuda:{}", k), properties.name, why.empty(), why, properties.totalGlobalMem,
                   properties.multiProcessorCount});
  }
  return all;
}

GpuIdentity gpu_identity(const Device& device) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, device.ordinal()), "cudaGetDeviceProperties");
  GpuIdentity identity{};
  std::memcpy(identity.data(), properties.uuid.bytes, identity.size());
  return identity;
}

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

#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// A queue of work on a device. Empty on the CPU, where work is done when the call returns.
struct Stream {
  void* handle = nullptr;  // cudaStream_t
};

/// A moment in a stream: when all work queued before it is done. On the CPU, the time of the call.
struct Event {
  void* handle = nullptr;  // cudaEvent_t
  double seconds = 0;
};

/// The seam between host code and a device: memory, copies, events and waiting, for CPU and CUDA.
///
/// One object per opened device; a new kind of device implements this class, and Device::open() makes it. Work is
/// queued on the stream and done in its order. What always holds: from_host(), to_host() and synchronize() wait, the
/// other calls do not; a host address that was given is free again when the call returns; a call that fails throws
/// Error(device), which names the device.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// Throws Error(device) that says how many bytes were asked for and how many are free.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* pointer) noexcept = 0;
  /// Memory that the host and the device reach by the same address: page-locked and mapped on CUDA. After synchronize()
  /// the host may read what the device wrote.
  virtual void* allocate_shared(std::size_t bytes) = 0;
  virtual void release_shared(void* pointer) noexcept = 0;
  virtual void from_host(void* device, const void* host, std::size_t bytes) = 0;
  virtual void to_host(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* device, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  virtual std::size_t free_bytes() const = 0;
  virtual std::size_t total_bytes() const = 0;
  virtual Stream stream() const = 0;
  virtual Event record_event() = 0;
  /// Waits for the later event.
  virtual double seconds_between(const Event& first, const Event& later) = 0;
  virtual void release(const Event& event) noexcept = 0;
  /// The calling thread launches on this device from now on.
  virtual void make_current() const {}
};

/// A processor that was opened for use: the CPU with a number of threads, or one CUDA device with a stream of its own.
/// A Device is a handle: its copies stand for the same opened device.
class PERGOLA_API Device {
 public:
  /// spec: auto | cpu | cuda | cuda:K. threads = 0 means all cores that this process may use.
  /// Throws Error(input) for any other spec, Error(device) with the reason if that device cannot be used.
  /// PERGOLA_DEVICE_FAULT=KIND:N in the environment makes the device fail, for tests; see docs/faults.md.
  static Device open(std::string_view spec = "auto", int threads = 0);

  bool is_cuda() const { return ordinal_ >= 0; }
  int ordinal() const { return ordinal_; }
  int threads() const { return threads_; }
  /// "cpu" or "cuda:0".
  std::string spec() const;
  /// The vendor's name, "NVIDIA H200".
  const std::string& name() const { return name_; }
  DeviceMemory& memory() const { return *memory_; }
  Stream stream() const { return memory_->stream(); }
  void make_current() const { memory_->make_current(); }
  void synchronize() const { memory_->synchronize(); }

 private:
  int ordinal_ = -1;
  int threads_ = 1;
  std::string name_;
  std::shared_ptr<DeviceMemory> memory_;
};

/// One line of `pergola devices`.
struct DeviceReport {
  std::string spec;
  std::string name;
  bool usable = false;
  std::string why_not;
  std::size_t memory_bytes = 0;
  int units = 0;  // cores or multiprocessors
};

PERGOLA_API std::vector<DeviceReport> list_devices();

/// The number of cores that this process may use.
PERGOLA_API int available_cores();

/// The best SIMD instruction set that the CPU code uses on this machine, for example "AVX3".
PERGOLA_API std::string cpu_instruction_set();

/// Measures the fused multiply-adds per second of a plain loop on all threads of the device, counted per SIMD lane or
/// GPU thread. `pergola bench` states every rate also as a fraction of what this allows. Takes about 0.1 s.
PERGOLA_API double fma_rate(const Device& device, bool double_precision);

/// Measures the bytes read and written per second by a plain copy on all threads of the device, of more memory than
/// most caches hold: the ceiling of what memory limits. Takes about 0.2 s.
PERGOLA_API double copy_rate(const Device& device);

// From here on functions of a CUDA build (device/cuda_device.cu, device/ceiling_cuda.cu). The inline ones exist in
// every build.

std::unique_ptr<DeviceMemory> open_cuda_memory(int ordinal, std::string& name);
std::vector<DeviceReport> list_cuda_devices();
double fma_rate_cuda(const Device& device, bool double_precision);
double copy_rate_cuda(const Device& device);

/// NVIDIA's number of a GPU, or of an isolated part of one: the same for all processes, unique over machines.
using GpuIdentity = std::array<char, 16>;
GpuIdentity gpu_identity(const Device& device);

/// While it lives, devices that this thread opens get streams of the highest priority on their GPU.
class UrgentStreams {
 public:
  UrgentStreams();
  ~UrgentStreams();
  UrgentStreams(const UrgentStreams&) = delete;
  UrgentStreams& operator=(const UrgentStreams&) = delete;
};

/// Seconds that this process has spent on finding and opening GPUs. The first time this starts CUDA.
double cuda_opening_seconds();
inline double opening_seconds(const Device& device) {
  if constexpr (cuda_built) return device.is_cuda() ? cuda_opening_seconds() : 0;
  return 0;
}

/// Bytes on GPUs that the devices of this process hold now, and the most that they have held. The free memory of a GPU
/// says less, because it also depends on other processes.
std::size_t cuda_held_bytes();
std::size_t cuda_most_held_bytes();
/// The stage of a step (device/stage_clock.hpp) in which they first held the most; empty if in none.
std::string cuda_most_held_in();
inline std::size_t gpu_held_bytes() {
  if constexpr (cuda_built) return cuda_held_bytes();
  return 0;
}
inline std::size_t gpu_most_held_bytes() {
  if constexpr (cuda_built) return cuda_most_held_bytes();
  return 0;
}
inline std::string gpu_most_held_in() {
  if constexpr (cuda_built) return cuda_most_held_in();
  return {};
}
/// A stage of a step on a GPU begins; null: none runs. The pointer is kept.
void note_cuda_stage(const char* name);

}  // namespace pergola

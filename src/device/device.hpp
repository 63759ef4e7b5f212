#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// A queue of work on a device. On the CPU it is empty and work is done when the call returns.
struct Stream {
  void* handle = nullptr;  // cudaStream_t
};

/// A moment in a stream: when all work queued before it is done. On the CPU, the time of the call.
struct Event {
  void* handle = nullptr;  // cudaEvent_t
  double seconds = 0;
};

/// What one backend (CPU, CUDA) does with memory. One object per opened device.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// Throws Error(device) that says how many bytes were asked for and how many are free.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* pointer) noexcept = 0;
  /// Memory that the host and the device both reach by the same address: page-locked and mapped on CUDA. The host may
  /// read what the device wrote after synchronize().
  virtual void* allocate_shared(std::size_t bytes) = 0;
  virtual void release_shared(void* pointer) noexcept = 0;
  virtual void from_host(void* device, const void* host, std::size_t bytes) = 0;
  /// Returns when the bytes have arrived.
  virtual void to_host(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* device, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  virtual std::size_t free_bytes() const = 0;
  virtual std::size_t total_bytes() const = 0;
  virtual Stream stream() const = 0;
  virtual Event record_event() = 0;
  /// Waits for the later one.
  virtual double seconds_between(const Event& first, const Event& later) = 0;
  virtual void release(const Event& event) noexcept = 0;
  /// Makes this the device that the calling thread launches on.
  virtual void make_current() const {}
};

/// A processor that was opened for use: the CPU with a number of threads, or one CUDA device with a stream of its own.
/// A Device is a handle: copies name the same opened device.
class PERGOLA_API Device {
 public:
  /// spec: auto | cpu | cuda | cuda:K. threads = 0 means all cores that this process may use.
  /// Throws Error(input) on a spec that is not one, Error(device) when that device cannot be used, with the reason.
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

/// The best SIMD instruction set that the CPU code uses on this machine, for example "AVX3".
PERGOLA_API std::string cpu_instruction_set();

// The CUDA side of this folder (device/cuda_device.cu); present where cuda_built is true.
std::unique_ptr<DeviceMemory> open_cuda_memory(int ordinal, std::string& name);
std::vector<DeviceReport> list_cuda_devices();

}  // namespace pergola

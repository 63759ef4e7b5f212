#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/view.hpp"
#include "device/device.hpp"

namespace pergola {

/// Memory for `size` values of a plain type on a Device, released with its owner. `shared`: the host and the device
/// both read and write it (DeviceMemory::allocate_shared). Buffer and SharedBuffer are made of it.
template <class T, bool shared>
class HeldMemory {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  HeldMemory() = default;
  HeldMemory(const Device& device, std::int64_t size) : device_(device), size_(size) {
    if (size <= 0) return;
    DeviceMemory& memory = device_.memory();
    data_ = static_cast<T*>(shared ? memory.allocate_shared(bytes()) : memory.allocate(bytes()));
  }
  HeldMemory(HeldMemory&& other) noexcept { swap(other); }
  HeldMemory& operator=(HeldMemory&& other) noexcept {
    HeldMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~HeldMemory() {
    if (data_) shared ? device_.memory().release_shared(data_) : device_.memory().release(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t size() const { return size_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
  View<T> view() { return {data_, size_}; }
  View<const T> view() const { return {data_, size_}; }

  void swap(HeldMemory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 protected:
  Device device_;
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// Memory for values that the host and a Device both read and write: small things that need no copy of their own.
template <class T>
using SharedBuffer = HeldMemory<T, true>;

/// Memory for values that lives on a Device: the host copies to and from it.
template <class T>
class Buffer : public HeldMemory<T, false> {
  using Held = HeldMemory<T, false>;
  using Held::data_, Held::device_, Held::size_;

 public:
  using Held::bytes, Held::Held;
  Buffer() = default;
  Buffer(const Device& device, const std::vector<T>& values) : Held(device, static_cast<std::int64_t>(values.size())) {
    from_host(values.data());
  }

  void from_host(const T* values) {
    if (size_ > 0) device_.memory().from_host(data_, values, bytes());
  }
  void to_host(T* values) const {
    if (size_ > 0) device_.memory().to_host(values, data_, bytes());
  }
  std::vector<T> to_host() const {
    std::vector<T> values(static_cast<std::size_t>(size_));
    to_host(values.data());
    return values;
  }
  void zero() {
    if (size_ > 0) device_.memory().zero(data_, bytes());
  }
};

/// Bytes of the host and their destination on a GPU.
struct Upload {
  void* to;
  const void* from;
  std::size_t bytes;
};

/// Many bytes at once: all threads copy them into page-locked memory, and pieces go to the GPU while the next ones are
/// copied. Returns when all have arrived. In device/cuda_device.cu; present where cuda_built is true.
void upload_cuda(const Device& device, std::span<const Upload> uploads);

/// New arrays on a GPU with these values.
template <class T, std::size_t count>
std::array<Buffer<T>, count> uploaded_cuda(const Device& device, const std::array<const std::vector<T>*, count>& from) {
  std::array<Buffer<T>, count> to;
  std::array<Upload, count> uploads;
  for (std::size_t k = 0; k < count; ++k) {
    to[k] = Buffer<T>(device, static_cast<std::int64_t>(from[k]->size()));
    uploads[k] = {to[k].data(), from[k]->data(), to[k].bytes()};
  }
  upload_cuda(device, uploads);
  return to;
}

}  // namespace pergola

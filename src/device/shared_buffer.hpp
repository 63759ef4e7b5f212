#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "device/device.hpp"

namespace pergola {

/// Memory for `size` values of a plain type that the host and a Device both read and write: small things that go over
/// and come back without a copy of their own.
template <class T>
class SharedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SharedBuffer() = default;
  SharedBuffer(const Device& device, std::int64_t size) : device_(device), size_(size) {
    if (size > 0) data_ = static_cast<T*>(device_.memory().allocate_shared(static_cast<std::size_t>(size) * sizeof(T)));
  }
  SharedBuffer(SharedBuffer&& other) noexcept { swap(other); }
  SharedBuffer& operator=(SharedBuffer&& other) noexcept {
    SharedBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~SharedBuffer() {
    if (data_) device_.memory().release_shared(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t size() const { return size_; }

  void swap(SharedBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  Device device_;
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace pergola

#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/view.hpp"
#include "device/device.hpp"

namespace pergola {

/// Memory for `size` values of a plain type that lives on a Device and is given back with the Buffer.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(const Device& device, std::int64_t size) : device_(device), size_(size) {
    if (size > 0) data_ = static_cast<T*>(device_.memory().allocate(bytes()));
  }
  Buffer(const Device& device, const std::vector<T>& values)
      : Buffer(device, static_cast<std::int64_t>(values.size())) {
    from_host(values.data());
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (data_) device_.memory().release(data_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t size() const { return size_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
  View<T> view() { return {data_, size_}; }
  View<const T> view() const { return {data_, size_}; }

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

  void swap(Buffer& other) noexcept {
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

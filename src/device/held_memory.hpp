#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/view.hpp"
#include "device/device.hpp"

namespace pergola {

/// Memory for `size` values of a plain type that is asked of a Device as Place says and given back with its owner; what
/// Buffer and SharedBuffer have in common.
template <class T, class Place>
class HeldMemory {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  HeldMemory() = default;
  HeldMemory(const Device& device, std::int64_t size) : device_(device), size_(size) {
    if (size > 0) data_ = static_cast<T*>(Place::allocate(device_.memory(), bytes()));
  }
  HeldMemory(HeldMemory&& other) noexcept { swap(other); }
  HeldMemory& operator=(HeldMemory&& other) noexcept {
    HeldMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~HeldMemory() {
    if (data_) Place::release(device_.memory(), data_);
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

}  // namespace pergola

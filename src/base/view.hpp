#pragma once
#include <cstdint>

#include "base/host_device.hpp"

namespace pergola {

/// A range of values that another object owns; usable in a kernel. Counts are 64-bit everywhere.
template <class T>
class View {
 public:
  constexpr View() = default;
  PERGOLA_HD constexpr View(T* data, std::int64_t size) : data_(data), size_(size) {}
  PERGOLA_HD constexpr T* data() const { return data_; }
  PERGOLA_HD constexpr std::int64_t size() const { return size_; }
  PERGOLA_HD constexpr bool empty() const { return size_ == 0; }
  PERGOLA_HD constexpr T& operator[](std::int64_t i) const { return data_[i]; }
  PERGOLA_HD constexpr T* begin() const { return data_; }
  PERGOLA_HD constexpr T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace pergola

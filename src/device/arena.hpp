#pragma once
#include <cstddef>
#include <cstdint>

#include "device/buffer.hpp"

namespace pergola {

/// Room for arrays. A part states in one function over an arena what it needs for so many things, and calls it with an
/// arena of its device to have that room, with one that only counts to say what it would take: `plan` and the check
/// before a start know memory from the lines that allocate it.
class Arena {
 public:
  /// Only counts.
  Arena() = default;
  /// Gives room on a device, which must live as long.
  explicit Arena(const Device& device) : device_(&device) {}

  /// At least `size` values. A buffer that is too small loses what it holds, before it gets new memory, with `spare`
  /// values more, which are not counted.
  template <class T>
  void room(Buffer<T>& buffer, std::int64_t size, std::int64_t spare = 0) {
    count<T>(size);
    if (!device_ || buffer.size() >= size) return;
    buffer = Buffer<T>();
    buffer = Buffer<T>(*device_, size + spare);
  }
  /// A buffer that cannot change is only counted.
  template <class T>
  void room(const Buffer<T>&, std::int64_t size, std::int64_t = 0) {
    count<T>(size);
  }
  /// Values that lie elsewhere, in a vector.
  template <class T>
  void count(std::int64_t size) {
    bytes_ += size * static_cast<std::int64_t>(sizeof(T));
  }

  std::int64_t bytes() const { return bytes_; }

 private:
  const Device* device_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// Parts of one piece of memory, one after the other, each at a multiple of 256 bytes. From null on: what they take.
class MemoryParts {
 public:
  explicit MemoryParts(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t size) {
    auto* const part =
        reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(memory_) + static_cast<std::uintptr_t>(used_));
    used_ += (size * static_cast<std::int64_t>(sizeof(T)) + 255) / 256 * 256;
    return part;
  }
  std::int64_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::int64_t used_ = 0;
};

}  // namespace pergola

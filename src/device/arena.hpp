#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

#include "device/buffer.hpp"

namespace pergola {

/// Allocates the buffers of a part, or only counts their bytes.
///
/// A part lists its buffers and their sizes in one function over an arena. Called with an arena of its device, that
/// function allocates them; called with a default arena, or for a const part, it counts. So `plan` and the check before
/// a start know the memory from the lines that allocate it. What always holds: bytes() is the same in both cases, and a
/// buffer that is large enough keeps its memory and its values.
class Arena {
 public:
  /// Counts only.
  Arena() = default;
  /// Allocates on a device, which must outlive the arena.
  explicit Arena(const Device& device) : device_(&device) {}

  /// At least `size` values. A buffer that is too small releases its memory and its values before it gets new memory,
  /// for `spare` values more, which are not counted.
  template <class T>
  void room(Buffer<T>& buffer, std::int64_t size, std::int64_t spare = 0) {
    count<T>(size);
    if (!device_ || buffer.size() >= size) return;
    buffer = Buffer<T>();
    buffer = Buffer<T>(*device_, size + spare);
  }
  /// A const buffer is only counted.
  template <class T>
  void room(const Buffer<T>&, std::int64_t size, std::int64_t = 0) {
    count<T>(size);
  }
  /// Counts values that lie elsewhere, for example in a vector.
  template <class T>
  void count(std::int64_t size) {
    bytes_ += size * static_cast<std::int64_t>(sizeof(T));
  }

  std::int64_t bytes() const { return bytes_; }

 private:
  const Device* device_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// Divides one piece of memory into parts, each at a multiple of 256 bytes. With null it counts what they take.
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

/// Borrowed memory of a device: a function that returns at least `bytes` of it.
using LentMemory = std::function<std::byte*(std::int64_t bytes)>;

}  // namespace pergola

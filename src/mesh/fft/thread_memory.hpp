#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "device/buffer.hpp"

namespace pergola {

/// Work memory of the same size for each thread of a device, lent and given back.
class ThreadMemory {
 public:
  ThreadMemory(const Device& device, std::int64_t bytes) : memory_(device, bytes * device.threads()) {
    memory_.zero();
    for (int t = 0; t < device.threads(); ++t) free_.push_back(memory_.data() + t * bytes);
  }
  std::size_t bytes() const { return memory_.bytes(); }
  template <class Body>
  void lend(const Body& body) {
    std::byte* memory;
    {
      const std::lock_guard lock(mutex_);
      memory = free_.back();
      free_.pop_back();
    }
    body(memory);
    const std::lock_guard lock(mutex_);
    free_.push_back(memory);
  }

 private:
  Buffer<std::byte> memory_;
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};

}  // namespace pergola

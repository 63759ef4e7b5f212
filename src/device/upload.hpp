#pragma once
#include <array>
#include <span>
#include <vector>

#include "device/buffer.hpp"

namespace pergola {

/// Bytes of the host that go to a place on a GPU.
struct Upload {
  void* to;
  const void* from;
  std::size_t bytes;
};

/// Many bytes at once: all threads bring them into page-locked memory, from which they are copied while the next ones
/// are brought. Returns when they have arrived. Where cuda_built is true.
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

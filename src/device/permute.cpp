#include "device/permute.hpp"

#include "device/parallel.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 16384;

template <class T>
void permute_cpu(int threads, std::int64_t count, const std::uint32_t* order, const void* from, void* to) {
  const T* const source = static_cast<const T*>(from);
  T* const target = static_cast<T*>(to);
  parallel_chunks(threads, count, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) target[k] = source[order[k]];
  });
}

}  // namespace

void permute_bytes(const Device& device, std::int64_t count, const std::uint32_t* order, const void* from, void* to,
                   int bytes) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return permute_cuda(device, count, order, from, to, bytes);
  }
  switch (bytes) {
    case 1:
      return permute_cpu<std::uint8_t>(device.threads(), count, order, from, to);
    case 4:
      return permute_cpu<std::uint32_t>(device.threads(), count, order, from, to);
    default:
      return permute_cpu<std::uint64_t>(device.threads(), count, order, from, to);
  }
}

void invert(const Device& device, std::int64_t count, const std::uint32_t* order, std::uint32_t* inverse) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return invert_cuda(device, count, order, inverse);
  }
  parallel_chunks(device.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) inverse[order[k]] = static_cast<std::uint32_t>(k);
  });
}

}  // namespace pergola

#include "picture/seen_density.hpp"

#include <algorithm>
#include <atomic>

#include "device/parallel.hpp"

namespace pergola {

namespace {

// Particles in a piece, and in a task of one thread.
constexpr std::int64_t most_at_once = std::int64_t{1} << 20, chunk_of_counting = 65536;

template <class T>
void make_room(const Device& device, std::int64_t size, Buffer<T>& buffer) {
  if (buffer.size() < size) buffer = Buffer<T>(device, size);
}

}  // namespace

/// Threads add whole numbers atomically: the sums do not depend on their order.
void count_seen(const CountSeen& body, std::int64_t begin, std::int64_t end, std::uint64_t* pixels) {
  for (std::int64_t i = begin; i < end; ++i) {
    std::uint64_t weight = 0;
    if (const std::int64_t pixel = body.pixel_of(i, weight); pixel >= 0)
      std::atomic_ref(pixels[pixel]).fetch_add(weight, std::memory_order_relaxed);
  }
}

/// Whole numbers: the sum is exact.
void SeenDensity::add(const SeenDensity& more) {
  pixels.resize(more.pixels.size(), 0);
  for (std::size_t k = 0; k < pixels.size(); ++k) pixels[k] += more.pixels[k];
}

void SeenCounter::count_piece(const Device& device, std::int64_t n, const Sight& sight) {
  const CountSeen body{x_.data(), y_.data(), z_.data(), sight};
  if (device.is_cuda()) {
    if constexpr (cuda_built) return count_seen_cuda(device, n, body, pixels_.data());
  }
  parallel_chunks(device.threads(), n, chunk_of_counting,
                  [&](std::int64_t begin, std::int64_t end) { count_seen(body, begin, end, pixels_.data()); });
}

/// Positions go piece by piece into the counter's memory on the device; only the pixels go to the host.
SeenDensity SeenCounter::count(const ShownParticles& shown, const Sight& sight) {
  const Device& device = shown.device();
  const std::int64_t piece = std::min(most_at_once, shown.count());
  for (Buffer<double>* one : {&x_, &y_, &z_}) make_room(device, piece, *one);
  SeenDensity seen{sight.width, sight.height, {}};
  const std::int64_t size = std::int64_t{sight.width} * sight.height;
  if (pixels_.size() != size) pixels_ = Buffer<std::uint64_t>(device, size);
  pixels_.zero();
  ShownArrays<double> to;
  to.x = x_.data(), to.y = y_.data(), to.z = z_.data();
  for (std::int64_t first = 0; first < shown.count(); first += piece) {
    const std::int64_t n = std::min(piece, shown.count() - first);
    shown.show(first, n, to);
    count_piece(device, n, sight);
  }
  seen.pixels = pixels_.to_host();
  return seen;
}

}  // namespace pergola

#include "analysis/sampled_particles.hpp"

#include <algorithm>
#include <vector>

#include "base/philox.hpp"
#include "device/buffer.hpp"
#include "device/permute.hpp"

namespace pergola {

namespace {

constexpr std::int64_t piece_size = std::int64_t{1} << 20;
constexpr std::uint64_t sample_seed = 20, sample_stream = 0;

/// Rising places: one in each stretch, anywhere in it.
std::vector<std::int64_t> places_of(std::int64_t count, std::int64_t most) {
  const std::int64_t wanted = std::min(count, most);
  std::vector<std::int64_t> places;
  for (std::int64_t k = 0; k < wanted; ++k) {
    const auto edge = [&](std::int64_t stretch) {
      return static_cast<std::int64_t>(static_cast<double>(count) * static_cast<double>(stretch) /
                                       static_cast<double>(wanted));
    };
    const std::int64_t first = wanted == count ? k : edge(k), length = wanted == count ? 1 : edge(k + 1) - first;
    Philox random(sample_seed, sample_stream, static_cast<std::uint64_t>(k));
    places.push_back(first +
                     std::min(length - 1, static_cast<std::int64_t>(random.uniform() * static_cast<double>(length))));
  }
  return places;
}

template <class T>
void pick(const Device& device, const Buffer<std::uint32_t>& order, std::int64_t count, const Buffer<T>& from,
          Buffer<T>& picked, T* to) {
  permute(device, count, order.data(), from.data(), picked.data());
  device.memory().to_host(to, picked.data(), static_cast<std::size_t>(count) * sizeof(T));
}

}  // namespace

Particles sample_of(const ShownParticles& shown, std::int64_t most) {
  const Device& device = shown.device();
  const auto places = places_of(shown.count(), most);
  Particles sample;
  sample.resize(static_cast<std::int64_t>(places.size()));
  const std::int64_t size = std::min(piece_size, shown.count());
  Buffer<double> number[4], picked(device, size);
  for (auto& one : number) one = Buffer<double>(device, size);
  Buffer<std::uint64_t> id(device, size), picked_id(device, size);
  ShownArrays<double> to;
  to.x = number[0].data(), to.y = number[1].data(), to.z = number[2].data(), to.mass = number[3].data();
  to.id = id.data();
  double* const host[4] = {sample.x.data(), sample.y.data(), sample.z.data(), sample.mass.data()};
  std::size_t done = 0;
  for (std::int64_t first = 0; first < shown.count(); first += piece_size) {
    const std::int64_t n = std::min(piece_size, shown.count() - first);
    std::vector<std::uint32_t> within;
    for (std::size_t k = done; k < places.size() && places[k] < first + n; ++k)
      within.push_back(static_cast<std::uint32_t>(places[k] - first));
    if (within.empty()) continue;
    shown.show(first, n, to);
    const Buffer<std::uint32_t> order(device, within);
    const auto count = static_cast<std::int64_t>(within.size());
    for (int k = 0; k < 4; ++k) pick(device, order, count, number[k], picked, host[k] + done);
    pick(device, order, count, id, picked_id, sample.id.data() + done);
    done += within.size();
  }
  return sample;
}

}  // namespace pergola

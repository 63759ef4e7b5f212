#include "device/launch.cuh"
#include "particles/sample.hpp"
#include "particles/show_cuda.cuh"

namespace pergola {

void find_sample_cuda(const Device& device, std::int64_t n, const std::uint64_t* id, std::uint64_t limit,
                      std::uint32_t* places, std::uint32_t* count) {
  device.make_current();
  cuda::launch("sample", n, device.stream(), [=] __device__(std::int64_t k) {
    if (sample_hash(id[k]) < limit) places[atomicAdd(count, 1u)] = static_cast<std::uint32_t>(k);
  });
}

void draw_points_cuda(const Device& device, std::int64_t n, const DrawPoint& body) {
  device.make_current();
  cuda::launch("draw points", n, device.stream(), body);
}

template void show_cuda(const Device&, std::int64_t, const ShowParticle<float, float, ShowAsIs>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<float, double, ShowAsIs>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<double, float, ShowAsIs>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<double, double, ShowAsIs>&);

}  // namespace pergola

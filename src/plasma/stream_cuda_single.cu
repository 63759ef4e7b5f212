#include "plasma/stream_cuda.cuh"
#include "plasma/stream_factories.hpp"

namespace pergola {

template <>
std::unique_ptr<StreamingParticles<float>> make_streaming_particles_cuda(const Device& device,
                                                                         const PlasmaOptions& options,
                                                                         const std::vector<std::int64_t>& counts) {
  return std::make_unique<cuda::StreamingParticlesCuda<float>>(device, options, counts);
}

template <>
std::int64_t streaming_bytes_cuda<float>(const PlasmaOptions& options, const std::vector<std::int64_t>& counts) {
  return cuda::stream_bytes<float>(options, counts);
}

}  // namespace pergola

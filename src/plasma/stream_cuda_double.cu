#include "plasma/stream_cuda.cuh"
#include "plasma/stream_factories.hpp"

namespace pergola {

template <>
std::unique_ptr<StreamingParticles<double>> make_streaming_particles_cuda(const Device& device,
                                                                          const PlasmaOptions& options,
                                                                          const std::vector<std::int64_t>& counts) {
  return std::make_unique<cuda::StreamingParticlesCuda<double>>(device, options, counts);
}

template <>
std::int64_t streaming_bytes_cuda<double>(const PlasmaOptions& options, const std::vector<std::int64_t>& counts) {
  return cuda::stream_bytes<double>(options, counts);
}

}  // namespace pergola

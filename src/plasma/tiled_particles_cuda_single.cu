// TiledParticles on a GPU in single precision.
#include "plasma/tiled_particles_cuda.cuh"

namespace pergola {

template <>
std::unique_ptr<TiledParticles<float>> make_tiled_particles_cuda(const Device& device, const PlasmaOptions& options,
                                                                 const std::vector<std::int64_t>& counts,
                                                                 std::shared_ptr<Communicator> ranks) {
  return std::make_unique<cuda::TiledParticlesCuda<float>>(device, options, counts, std::move(ranks));
}

template <>
std::int64_t tiled_bytes_cuda<float>(const PlasmaOptions& options, const std::vector<std::int64_t>& counts,
                                     double part) {
  return cuda::stream_bytes<float>(options, counts, part);
}

}  // namespace pergola

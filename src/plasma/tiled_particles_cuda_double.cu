// TiledParticles on a GPU in double precision.
#include "plasma/tiled_particles_cuda.cuh"

namespace pergola {

template <>
std::unique_ptr<TiledParticles<double>> make_tiled_particles_cuda(const Device& device, const PlasmaOptions& options,
                                                                  const std::vector<std::int64_t>& counts,
                                                                  std::shared_ptr<Communicator> ranks) {
  return std::make_unique<cuda::TiledParticlesCuda<double>>(device, options, counts, std::move(ranks));
}

template <>
std::int64_t tiled_bytes_cuda<double>(const PlasmaOptions& options, const std::vector<std::int64_t>& counts,
                                      double part) {
  return cuda::stream_bytes<double>(options, counts, part);
}

}  // namespace pergola

#include "plasma/tiled_particles.hpp"

#include <utility>

#include "plasma/factories.hpp"

namespace pergola {

template <class Real>
std::unique_ptr<TiledParticles<Real>> make_tiled_particles(const Device& device, const PlasmaOptions& options,
                                                           const std::vector<std::int64_t>& counts,
                                                           std::shared_ptr<Communicator> ranks) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return make_tiled_particles_cuda<Real>(device, options, counts, std::move(ranks));
  return make_tiled_particles_cpu<Real>(device, options, std::move(ranks));
}

template std::unique_ptr<TiledParticles<float>> make_tiled_particles(const Device&, const PlasmaOptions&,
                                                                     const std::vector<std::int64_t>&,
                                                                     std::shared_ptr<Communicator>);
template std::unique_ptr<TiledParticles<double>> make_tiled_particles(const Device&, const PlasmaOptions&,
                                                                      const std::vector<std::int64_t>&,
                                                                      std::shared_ptr<Communicator>);

namespace {

template <class Real>
std::int64_t tiled_bytes_of(const Device& device, const PlasmaOptions& options, const std::vector<std::int64_t>& counts,
                            double part) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return tiled_bytes_cuda<Real>(options, counts, part);
  return tiled_bytes_cpu<Real>(options, counts, part);
}

}  // namespace

std::int64_t tiled_bytes(const Device& device, const PlasmaOptions& options, const std::vector<std::int64_t>& counts,
                         bool double_precision, double part) {
  return double_precision ? tiled_bytes_of<double>(device, options, counts, part)
                          : tiled_bytes_of<float>(device, options, counts, part);
}

}  // namespace pergola

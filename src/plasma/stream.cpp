#include "plasma/stream.hpp"

#include "plasma/stream_factories.hpp"

namespace pergola {

template <class Real>
std::unique_ptr<StreamingParticles<Real>> make_streaming_particles(const Device& device, const PlasmaOptions& options,
                                                                   const std::vector<std::int64_t>& counts) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return make_streaming_particles_cuda<Real>(device, options, counts);
  return make_streaming_particles_cpu<Real>(device, options, counts);
}

template std::unique_ptr<StreamingParticles<float>> make_streaming_particles(const Device&, const PlasmaOptions&,
                                                                             const std::vector<std::int64_t>&);
template std::unique_ptr<StreamingParticles<double>> make_streaming_particles(const Device&, const PlasmaOptions&,
                                                                              const std::vector<std::int64_t>&);

namespace {

template <class Real>
std::int64_t streaming_bytes_of(const Device& device, const PlasmaOptions& options,
                                const std::vector<std::int64_t>& counts) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return streaming_bytes_cuda<Real>(options, counts);
  return streaming_bytes_cpu<Real>(options, counts);
}

}  // namespace

std::int64_t streaming_bytes(const Device& device, const PlasmaOptions& options,
                             const std::vector<std::int64_t>& counts, bool double_precision) {
  return double_precision ? streaming_bytes_of<double>(device, options, counts)
                          : streaming_bytes_of<float>(device, options, counts);
}

}  // namespace pergola

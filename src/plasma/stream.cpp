#include "plasma/stream.hpp"

#include "base/error.hpp"
#include "plasma/stream_factories.hpp"

namespace pergola {

template <class Real>
std::unique_ptr<StreamingParticles<Real>> make_streaming_particles(const Device& device, const PlasmaOptions& options,
                                                                   const std::vector<std::int64_t>& counts) {
  if (device.is_cuda()) throw Error(ErrorKind::device, "plasma: particles are moved on the CPU only; use --device cpu");
  return make_streaming_particles_cpu<Real>(device, options, counts);
}

template std::unique_ptr<StreamingParticles<float>> make_streaming_particles(const Device&, const PlasmaOptions&,
                                                                             const std::vector<std::int64_t>&);
template std::unique_ptr<StreamingParticles<double>> make_streaming_particles(const Device&, const PlasmaOptions&,
                                                                              const std::vector<std::int64_t>&);

std::int64_t streaming_bytes(const Device&, const PlasmaOptions& options, const std::vector<std::int64_t>& counts,
                             bool double_precision) {
  return double_precision ? streaming_bytes_cpu<double>(options, counts) : streaming_bytes_cpu<float>(options, counts);
}

}  // namespace pergola

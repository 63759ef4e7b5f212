#pragma once
// The makers of particles and fields for one kind of device; plasma/stream.cpp and plasma/field.cpp choose.
#include "plasma/field.hpp"
#include "plasma/stream.hpp"

namespace pergola {

template <class Real>
std::unique_ptr<StreamingParticles<Real>> make_streaming_particles_cpu(const Device& device,
                                                                       const PlasmaOptions& options,
                                                                       const std::vector<std::int64_t>& counts);
template <class Real>
std::int64_t streaming_bytes_cpu(const PlasmaOptions& options, const std::vector<std::int64_t>& counts);

// The CUDA side (plasma/stream_cuda_*.cu, plasma/field_cuda.cu); present where cuda_built is true.
template <class Real>
std::unique_ptr<StreamingParticles<Real>> make_streaming_particles_cuda(const Device& device,
                                                                        const PlasmaOptions& options,
                                                                        const std::vector<std::int64_t>& counts);
template <class Real>
std::int64_t streaming_bytes_cuda(const PlasmaOptions& options, const std::vector<std::int64_t>& counts);
template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field_cuda(const Device& device, const PlasmaOptions& options);

}  // namespace pergola

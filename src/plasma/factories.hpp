#pragma once
// The makers of particles and fields for one kind of device; plasma/tiled_particles.cpp and plasma/field.cpp choose.
#include "plasma/field.hpp"
#include "plasma/tiled_particles.hpp"

namespace pergola {

template <class Real>
std::unique_ptr<TiledParticles<Real>> make_tiled_particles_cpu(const Device& device, const PlasmaOptions& options,
                                                               std::shared_ptr<Communicator> ranks);
template <class Real>
std::int64_t tiled_bytes_cpu(const PlasmaOptions& options, const std::vector<std::int64_t>& counts, double part);

// The CUDA side (plasma/tiled_particles_cuda_*.cu, plasma/field_cuda.cu); present where cuda_built is true.
template <class Real>
std::unique_ptr<TiledParticles<Real>> make_tiled_particles_cuda(const Device& device, const PlasmaOptions& options,
                                                                const std::vector<std::int64_t>& counts,
                                                                std::shared_ptr<Communicator> ranks);
template <class Real>
std::int64_t tiled_bytes_cuda(const PlasmaOptions& options, const std::vector<std::int64_t>& counts, double part);
template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field_cuda(const Device& device, const PlasmaOptions& options,
                                                          std::shared_ptr<Communicator> ranks);
/// Of ranks that share the field out (plasma/field_slabs_cuda.cu).
template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field_slabs_cuda(const Device& device, const PlasmaOptions& options,
                                                                const std::shared_ptr<Communicator>& ranks);

}  // namespace pergola

#pragma once
// The makers of streaming particles for one kind of device; plasma/stream.cpp chooses.
#include "plasma/stream.hpp"

namespace pergola {

template <class Real>
std::unique_ptr<StreamingParticles<Real>> make_streaming_particles_cpu(const Device& device,
                                                                       const PlasmaOptions& options,
                                                                       const std::vector<std::int64_t>& counts);
template <class Real>
std::int64_t streaming_bytes_cpu(const PlasmaOptions& options, const std::vector<std::int64_t>& counts);

}  // namespace pergola

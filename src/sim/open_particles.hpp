#pragma once
#include <memory>

#include "base/host_device.hpp"
#include "config/config.hpp"
#include "device/device.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// The particles that a configuration names, and their time.
struct StartingPoint {
  std::unique_ptr<ParticleSource> particles;
  double time = 0;
  double box_side = 0;  // as the file or the model states it; 0: none
};
/// Particles of a file have been checked, each of them. They come in pieces, unless `whole` asks for all in memory; a
/// model that can be made on `device` is made there, one that ranks can make together (`shared`) by
/// DeviceSource::make_shares().
PERGOLA_API StartingPoint open_particles(const RunConfig& config, int threads, bool whole = false,
                                         const Device* device = nullptr, bool shared = false);

}  // namespace pergola

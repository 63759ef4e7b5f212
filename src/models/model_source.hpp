#pragma once
#include <memory>
#include <string>

#include "models/model.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// The particles of make_model(), with the same bits, in pieces: spheres and cubes, whose particles are drawn one by
/// one, are never in memory as a whole; of other models all particles are made at once. threads = 0 means all cores.
PERGOLA_API std::unique_ptr<ParticleSource> make_model_source(const std::string& name, const ModelOptions& options,
                                                              int threads = 0);

/// The same made on a device, if the model knows how to, else null. Numbers differ from those of make_model() in
/// their last bits, and are the same each time.
PERGOLA_API std::unique_ptr<DeviceSource> make_model_on(const Device& device, const std::string& name,
                                                        const ModelOptions& options);

/// The particles of make_model(), with the same bits, for ranks that make them together (DeviceSource::make_shares),
/// if the model knows how to or they are drawn one by one, else null. Nothing is made before it is asked for; who
/// reads without that makes all of it. threads = 0 means all cores.
PERGOLA_API std::unique_ptr<DeviceSource> make_shared_model(const std::string& name, const ModelOptions& options,
                                                            int threads);

/// Makes the periodic box of a model larger or smaller by a factor along each side; false, and nothing is changed, if
/// an option does not say it.
PERGOLA_API bool scale_model_box(const std::string& name, ModelOptions& options, double factor);

/// Whether the particles of a model can be drawn one by one.
PERGOLA_API bool can_be_made_in_pieces(const std::string& name);

}  // namespace pergola

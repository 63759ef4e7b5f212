#pragma once
// The particles of a configuration (from a model, a file or two parts), and the box of its solver.
#include <memory>
#include <string_view>

#include "base/error.hpp"
#include "base/host_device.hpp"
#include "config/config.hpp"
#include "device/device.hpp"
#include "particles/box.hpp"
#include "particles/particle_source.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// The particles that a configuration names, and their time.
struct StartingPoint {
  std::unique_ptr<ParticleSource> particles;
  double time = 0;
  double box_side = 0;  // as the file or the model states it; 0: none
};
/// Opens the particles that a configuration names. All particles of a file are checked. They are read in pieces, or all
/// at once with `whole`. A model that can be made on `device` is made there; with `shared`, one that ranks can make
/// together is made by DeviceSource::make_shares().
PERGOLA_API StartingPoint open_particles(const RunConfig& config, int threads, bool whole = false,
                                         const Device* device = nullptr, bool shared = false);

/// The box of the configured solver, with what is left open found from the particles; open space if it has none.
/// `stated_side`: BoxSize of the file or the model's own; 0: none. Throws Error(input) that names the file and the key
/// if a periodic box has no side or the box does not hold the particles.
PERGOLA_API Box find_solver_box(const RunConfig& config, ParticleSource& particles, double stated_side);
PERGOLA_API Box find_solver_box(const RunConfig& config, const Particles& particles, double stated_side);

/// Calls body(), and adds the name of the configuration to the errors of solvers, which know their keys only.
template <class Body>
void with_file_in_errors(const RunConfig& config, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input || !std::string_view(error.what()).starts_with("gravity.")) throw;
    throw Error(ErrorKind::input, config.source + ": " + error.what());
  }
}

/// Whether that reads all particles. They are then best kept on the host until they are on the device.
bool box_is_for_all(const SolverOptions& options);

}  // namespace pergola

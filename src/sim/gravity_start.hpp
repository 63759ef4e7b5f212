#pragma once
// What happens once at the start of a run under gravity: checks of the particles against the configuration, remarks,
// and a note whether the particles were made on the device.
#include <string>

#include "base/profile.hpp"
#include "base/state_source.hpp"
#include "config/config.hpp"
#include "particles/box.hpp"
#include "particles/particle_source.hpp"
#include "time/integrator.hpp"

namespace pergola {

/// The potential of a homogeneous density that is taken away, for an expanding universe in open space: only the
/// contrast to the mean density acts there. It pushes outwards with Ω_m H₀² x/2. Springel 2005, MNRAS 364, 1105,
/// section 2.1, as in GADGET-2.
ExternalPotential homogeneous_background(const RunConfig& config);

/// Refuses particles without a scale factor, snapshots at redshifts before theirs, matter that is not that of the
/// universe of [cosmology] in a periodic box, and a box that the particles state (its side; 0: none) in open space.
/// `gravity`: with the box of the run.
void check_universe(const RunConfig& config, const SolverOptions& gravity, ParticleSource& particles,
                    double scale_factor, double stated_side);

/// Throws Error(input) if a shared step, of this key of the configuration, is too short to change the time of the run,
/// which would never end. `start`: of the run. A step of 0 is no step.
void check_shared_step(const RunConfig& config, double start, const char* key, double step);

/// What n particles of a run take on its device: its integrator with the solver, and what measuring energies takes
/// beside them on a GPU.
struct DeviceNeed {
  std::int64_t steps = 0, energies = 0;
  std::int64_t all() const { return steps + energies; }
};
DeviceNeed device_need(Integrator& integrator, const SolverOptions& gravity, const Device& device, std::int64_t n);

/// A remark if one cell of an isolated mesh has about half of the mass; else empty. One particle far from all others
/// makes the box that wide. `gravity`: with the box. Reads some thousand particles.
std::string crowded_mesh_remark(const SolverOptions& gravity, ParticleSource& particles);

/// What some thousand particles of an isolated system say of it as a whole.
struct StartLook {
  double virial_ratio = 0;   // 2T/|W|, about the mean velocity and without softening; 0: not known, or all are at rest
  double radius = 0;         // of half of the mass, about the medians of the coordinates; 0: not known
  double crossing_time = 0;  // of this radius' diameter, with the rms or the circular speed; 0: not known
  double softening = 0;      // the least of the particles' species
};
inline constexpr double least_virial_ratio = 0.01, most_virial_ratio = 100;

/// Looks at the particles before they start. Nothing is known of a universe, a periodic box, particles in forces of
/// others, and particles that are not on the host. Throws Error(input) for files without units whose particles do not
/// belong together with G = 1. `gravity`: with the box.
StartLook look_at_start(const RunConfig& config, const SolverOptions& gravity, ParticleSource& particles);

/// A remark if virial ratio, crossing time, softening and steps make no sense together; else empty. `step`: the
/// shortest of the first steps; 0: not known. `length`: of the run.
std::string start_remark(const StartLook& look, double step, double length);

/// Starts the integrator with these particles, at its own time. Returns whether they were made on its device
/// (particles/device_source.hpp) and not read. Making them is the stage "initial conditions" of `profile`.
bool start_noted(Integrator& integrator, ParticleSource& particles, double at, Profile* profile);

/// The box of the particles, in a saved state.
void put_box(StateSource& to, const Box& box);
Box get_box(StateInput& state);
/// The name of the device that made the particles, in a saved state; empty: none.
void put_made_on(StateSource& to, const std::string& device);
std::string get_made_on(StateInput& state);

}  // namespace pergola

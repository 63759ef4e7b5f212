#include "sim/universe_matter.hpp"

#include <fmt/core.h>

#include <cmath>

#include "base/text.hpp"
#include "gravity/solver_entry.hpp"
#include "particles/particle_source.hpp"
#include "physics/cosmology.hpp"

namespace pergola {

ExternalPotential homogeneous_background(const RunConfig& config) {
  ExternalPotential background;
  background.kind = physics::ExternalKind::homogeneous;
  background.density = -physics::mean_density(*config.background(), config.gravitational_constant());
  return background;
}

namespace {

constexpr double same_matter = 5e-3;

/// Files of GADGET's binary formats, and many others, state no units: those in which the masses would fit.
std::string units_that_fit(const RunConfig& config, double density) {
  if (config.unit_system().name != nbody_units().name) return {};
  for (const char* name : {"cosmology", "gadget"}) {
    RunConfig other = config;
    other.units.system = name;
    if (std::abs(density / physics::mean_density(*other.background(), other.gravitational_constant()) - 1) <=
        same_matter)
      return fmt::format("; no units are stated, with units.system = \"{}\" they fit", name);
  }
  return {};
}

}  // namespace

void check_universe(const RunConfig& config, const SolverOptions& gravity, ParticleSource& particles,
                    double scale_factor, double stated_side) {
  if (!(scale_factor > 0))
    throw Error(ErrorKind::input,
                fmt::format("{}: [cosmology]: expected particles at a scale factor > 0, the Time of their file or that "
                            "of the model cosmology, found {} at time {}",
                            config.source, particles.name(), to_text(scale_factor)));
  for (const double redshift : config.output.redshifts)
    if ((1 + redshift) * scale_factor > 1 + 1e-9)
      throw Error(ErrorKind::input,
                  fmt::format("{}: output.redshifts: expected at most that of {}, {:.6g}, found {}", config.source,
                              particles.name(), 1 / scale_factor - 1, to_text(redshift)));
  const Box box = box_of(gravity);
  if (!box.periodic()) {
    if (stated_side > 0)
      throw Error(
          ErrorKind::input,
          fmt::format("{}: gravity.solver: expected a periodic box (tree, treepm or mesh) for [cosmology] and {}, "
                      "which states one of side {}, found {} in open space",
                      config.source, particles.name(), to_text(stated_side), gravity.solver));
    return;
  }
  const auto background = *config.background();
  const double expected = physics::mean_density(background, gravity.gravitational_constant);
  const double found = total_mass(particles) / (box.side.x * box.side.y * box.side.z);
  if (std::abs(found / expected - 1) > same_matter)
    throw Error(ErrorKind::input,
                fmt::format("{}: cosmology.omega_matter: expected {:.5g}, that of the masses of {} in a box of {} with "
                            "these units, found {}{}",
                            config.source, background.omega_matter * found / expected, particles.name(),
                            to_text(box.side.x), to_text(background.omega_matter), units_that_fit(config, found)));
}

}  // namespace pergola

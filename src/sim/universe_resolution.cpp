// The wave number and the halo mass up to which a run of the universe can be trusted.
#include "sim/universe_resolution.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "gravity/solver_entry.hpp"
#include "models/model.hpp"
#include "physics/resolution.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace pergola {

namespace {

constexpr double one_per_cent = 0.01;

/// Where forces end to be Newton's: the wave number at which the pull of a wave is 1 % too weak, in the run's lengths,
/// and the length of that.
struct ForceLimit {
  double wave_number = 0, length = 0;
  std::string of;
};

ForceLimit mesh_limit(const MeshOptions& mesh, const Box& box) {
  const double cell = box.side.x / mesh.cells[0];
  const int order = mesh.deconvolve ? 0 : static_cast<int>(mesh.assignment);
  const bool discrete = mesh.poisson == Poisson::multigrid || mesh.laplacian == Laplacian::discrete;
  const int points = mesh.gradient == Gradient::two_point ? 2 : mesh.gradient == Gradient::four_point ? 4 : 0;
  const auto factor = [&](double x) { return x > 0 ? physics::mesh_wave_factor(x, order, discrete, points) : 1; };
  return {physics::departs_at(factor, one_per_cent, 3) / cell, 2 * cell,
          fmt::format("the mesh, whose cells of {:.3g} weaken the pull of shorter waves by more than that", cell)};
}

ForceLimit softening_limit(const Softening& softening) {
  const double largest = *std::max_element(softening.epsilon.begin(), softening.epsilon.end());
  if (!(largest > 0)) return {};
  const auto factor = [&](double x) { return physics::softened_wave_factor(softening.kernel, x); };
  return {physics::departs_at(factor, one_per_cent, 3) / largest, physics::spline_support * largest,
          fmt::format("softening, whose {:.3g} weakens the pull of shorter waves by more than that", largest)};
}

void note_start(const RunConfig& config, double start_time, std::vector<std::string>& notes) {
  if (config.particles.model.empty() || !(start_time > 0)) return;
  const auto waves = model_waves(config.particles.model, config.particles.options);
  if (!waves) return;
  const double expansions = config.run.end_time / start_time, least = physics::least_expansions(waves->order);
  if (expansions >= least) return;
  notes.push_back(
      fmt::format("the start (order {}) is {:.3g} expansions before the end, less than {}: what it leaves out of the "
                  "motion is still there",
                  waves->order, expansions, to_text(least)));
}

}  // namespace

std::optional<UniverseResolution> universe_resolution(const RunConfig& config, std::int64_t n, double start_time) {
  const Box box = box_of(config.gravity);
  const UnitSystem units = config.unit_system();
  if (!config.cosmology || !box.periodic() || !box.given() || n < 1 || units.name == nbody_units().name)
    return std::nullopt;
  UniverseResolution found;
  found.length_mpc_h = units.length_cm / megaparsec_cm;
  const double spacing = std::cbrt(box.volume() / static_cast<double>(n));
  found.spacing_mpc_h = spacing * found.length_mpc_h;
  const ForceLimit force = solver_entry(config.gravity.solver).can.smooths
                               ? mesh_limit(config.gravity.mesh, box)
                               : softening_limit(config.gravity.softening.at(config.run.end_time));
  const double nyquist = physics::trusted_part_of_nyquist * physics::particle_nyquist(spacing);
  const bool by_force = force.wave_number > 0 && force.wave_number < nyquist;
  found.wave_number = (by_force ? force.wave_number : nyquist) / found.length_mpc_h;
  found.wave_number_of = by_force ? force.of : "half the Nyquist wave number of the particles";
  constexpr double overdensity = 200;
  const double formed = physics::halo_particles_of_force(force.length / spacing, overdensity);
  found.halo_particles = std::ceil(std::max(physics::trusted_halo_particles, formed));
  found.counted_particles = std::ceil(std::max(physics::counted_halo_particles, formed));
  found.halo_of = formed > physics::trusted_halo_particles
                      ? fmt::format("where its radius is the {:.3g} below which forces are softened", force.length)
                      : "of which a mass function to a per cent needs so many";
  const double mean = physics::mean_density(*config.background(), units.gravitational_constant);
  found.halo_mass = found.halo_particles * mean * spacing * spacing * spacing * units.mass_g / (solar_mass_kg * 1e3);
  note_start(config, start_time, found.notes);
  if (const double side = box.side.x * found.length_mpc_h; side < physics::representative_box_mpc_h)
    found.notes.push_back(
        fmt::format("a box of {:.4g} Mpc/h lacks waves that change what is in it by more than a per cent: the universe "
                    "at 1 % needs {} Mpc/h or more",
                    side, to_text(physics::representative_box_mpc_h)));
  return found;
}

}  // namespace pergola

// A snapshot as analyses take it: box, universe, units, and peculiar velocities.
#include "sim/analysis_snapshot.hpp"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "sim/unit_text.hpp"

namespace pergola {

namespace {

/// Lengths of a cosmological file are in its unit over h.
std::optional<AnalysisUniverse> universe_of(const SnapshotHeader& header, const RunConfig* of_run) {
  if (!has_universe(header) || !header.units || !(header.time > 0)) return std::nullopt;
  AnalysisUniverse found;
  if (of_run && of_run->cosmology) {
    found.cosmology = *of_run->cosmology;
    if (const auto waves = waves_at_start(*of_run, &found.waves_from))
      found.waves = waves->power, found.waves_from = waves->from;
  }
  found.cosmology.omega_matter = *header.omega0;
  found.cosmology.omega_lambda = header.omega_lambda.value_or(1 - *header.omega0);
  found.cosmology.omega_baryon = header.omega_baryon.value_or(found.cosmology.omega_baryon);
  found.cosmology.h = header.hubble_param.value_or(found.cosmology.h);
  found.scale_factor = header.time;
  found.length_mpc_h = header.units->length_cm / megaparsec_cm;
  found.hubble = physics::hubble_in_units_per_h(header.units->length_cm, header.units->velocity_cm_per_s);
  return found;
}

/// The velocities of a cosmological file, √a dx/dt, as peculiar ones.
void make_peculiar(Particles& particles, double a) {
  const double factor = std::sqrt(physics::peculiar_over_file_energy(a));
  for (auto* component : {&particles.vx, &particles.vy, &particles.vz})
    for (double& v : *component) v *= factor;
}

}  // namespace

std::optional<ModelWaves> waves_at_start(const RunConfig& run, std::string* why_not) {
  try {
    if (!run.particles.model.empty()) return model_waves(run.particles.model, run.particles.options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    if (why_not) *why_not = fmt::format("not known: {}", error.what());
    return std::nullopt;
  }
  if (run.inherited_cosmology || !run.cosmology) return std::nullopt;
  return ModelWaves{physics::eisenstein_hu_power(*run.cosmology), false, 1,
                    fmt::format("Eisenstein & Hu 1998 with sigma8 = {} and n_s = {} of [cosmology]; {} does not say "
                                "which waves it has",
                                to_text(run.cosmology->sigma8), to_text(run.cosmology->n_s), run.particles.file),
                    ""};
}

AnalysisSnapshot analysis_snapshot(const std::string& name, const SnapshotHeader& header, Particles particles,
                                   const RunConfig* of_run) {
  AnalysisSnapshot to;
  to.name = name;
  to.time = header.time;
  to.moment = time_text(header);
  const double side = header.box_size;
  if (side > 0) to.box = {{0, 0, 0}, {side, side, side}, Boundary::periodic};
  if (has_universe(header)) {
    physics::Background universe;
    universe.omega_matter = *header.omega0;
    universe.omega_lambda = header.omega_lambda.value_or(1 - *header.omega0);
    if (header.time > 0) to.matter_part = universe.matter_part(header.time);
  }
  to.universe = universe_of(header, of_run);
  if (to.universe) to.matter_part = to.universe->cosmology.background(1).matter_part(to.time);
  RunConfig config;
  take_file_units(config, name, header.units);
  to.gravitational_constant = config.unit_system().gravitational_constant;
  to.units = plain_units(header);
  if (of_run && !of_run->cosmology) to.field = of_run->gravity.external;
  to.particles = std::move(particles);
  if (is_cosmological(header)) {
    if (!to.units.length.empty()) to.units.length.insert(to.units.length.begin(), 'c');
    make_peculiar(to.particles, header.time);
  }
  return to;
}

}  // namespace pergola

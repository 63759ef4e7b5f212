// GravitySystem while it runs: remarks about the configuration at the start, and in an expanding universe the equation
// of energy and the growth of the largest waves.
//
// Remarks are sentences for the log: warnings that a configuration is hardly meant so, with the key to change. They
// stop nothing. The watch adds up energies over the run, and compares the largest waves with linear growth while they
// are small; both end in lines of the report card.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/file_units.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "io/snapshot.hpp"
#include "models/model.hpp"
#include "physics/cosmology.hpp"
#include "sim/analysis_snapshot.hpp"
#include "sim/gravity_system.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

namespace {

/// Of the energy equation; less is within the tolerance of its check.
constexpr double negligible_doubt = 2e-3;

/// Where a lattice of particles and the cells of a mesh do not divide one another, the clouds of neighbours are cut
/// differently, and what that makes of equal masses is of the size of the waves.
std::string lattice_remark(const RunConfig& config, const Box& box) {
  if (!config.particles.file.empty() || config.particles.model.empty() || !box.periodic()) return {};
  if (!solver_entry(config.gravity.solver).can.smooths) return {};
  const int side = model_lattice(config.particles.model, config.particles.options);
  for (const int cells : config.gravity.mesh.cells)
    if (side > 0 && cells % side != 0 && side % cells != 0)
      return fmt::format(
          "gravity.mesh.cells: {} per side and a lattice of {} particles per side do not divide one another, which "
          "makes "
          "the first forces worse; use {} cells",
          cells, side, nearest_mesh_size(2 * side));
  return {};
}

/// A universe's particles are displaced by perturbation theory, which does not hold where their neighbours are as dense
/// as that: 0.1 to 0.2 are usual (Knebe et al. 2009).
std::string late_start_remark(const RunConfig& config, double start) {
  constexpr double most_contrast = 0.5;
  const auto& [model, file, options] = static_cast<const RunConfig::ParticlesPart&>(config.particles);
  const auto waves = config.cosmology && !model.empty() ? model_waves(model, options) : std::nullopt;
  if (!waves) return {};
  const double spacing = model_box_side(model, options) / std::cbrt(static_cast<double>(options.n));
  const double radius = spacing * std::cbrt(3 / (4 * std::numbers::pi));
  const double contrast = physics::growth_at(*config.background(), start).d1 * waves->power.sigma(radius);
  if (contrast <= most_contrast) return {};
  return fmt::format(
      "particles.redshift: {:.4g} is late for this box: the rms density contrast of the volume of a particle is {:.2g} "
      "there, and perturbation theory, which moves the particles to their places, fails above {}; begin earlier",
      1 / start - 1, contrast, to_text(most_contrast));
}

/// Species of the particles, and softening lengths that suit them.
struct FoundSpecies {
  std::array<bool, species_count> species{};
  std::array<double, species_count> suits{};  // 0: no advice
};

/// The species that a part has; of a model without advice, and of particles that a program gives, none are known.
void find_species(const RunConfig::ParticlesPart& part, FoundSpecies& found) {
  if (part.file.empty()) {
    if (part.model.empty()) return;
    const auto advice = model_softening(part.model, part.options);
    for (std::size_t s = 0; s < advice.size(); ++s)
      if (advice[s] > 0) found.species[s] = true, found.suits[s] = advice[s];
    return;
  }
  try {
    const auto counts = inspect_snapshot(part.file).counts;
    for (std::size_t s = 0; s < counts.size(); ++s) found.species[s] |= counts[s] > 0;
  } catch (const Error&) {  // a resumed run may no longer have its file
  }
}

/// gravity.softening has one default, whatever the units and the particles are. Where these have units, or where other
/// species have been given their own, it is hardly meant: what to say then, with what suits the model; empty: nothing.
std::string default_softening_remark(const RunConfig& config) {
  if (solver_entry(config.gravity.solver).can.smooths) return {};
  FoundSpecies found;
  for (const auto& part : config.particles.all()) find_species(part, found);
  const auto& epsilon = config.gravity.softening.epsilon;
  const double by_default = RunConfig{}.gravity.softening.epsilon[0];
  std::vector<std::string> names, advice;
  bool others = false;
  for (std::size_t s = 0; s < epsilon.size(); ++s) {
    if (!found.species[s]) continue;
    others |= epsilon[s] != by_default;
    if (epsilon[s] != by_default) continue;
    names.emplace_back(species_names[s]);
    if (found.suits[s] > 0) advice.push_back(fmt::format("{} = {:.2g}", species_names[s], found.suits[s]));
  }
  if (names.empty() || !(others || config.cosmology || config.unit_system().name != nbody_units().name)) return {};
  return fmt::format("gravity.softening: {} of {} is the default, which knows neither units nor particles; set it{}",
                     to_text(by_default), fmt::join(names, ", "),
                     advice.empty() ? "" : fmt::format(", {{ {} }} suits the model", fmt::join(advice, ", ")));
}

/// What a file says of itself that the run takes otherwise.
void add_file_remarks(const RunConfig& config, const Box& box, std::vector<Remark>& sentences) {
  for (const std::string& name : files_without_units(config))
    sentences.push_back({LogLevel::info, assumed_units_text(name)});
  const std::string& file = config.particles.file;
  if (file.empty()) return;
  SnapshotHeader header;
  try {
    header = inspect_snapshot(file).header;
  } catch (const Error&) {
    return;  // a resumed run may no longer have its file
  }
  if (header.format == "swift")
    sentences.push_back({LogLevel::info, fmt::format("{}: a universe of SWIFT: lengths and masses are taken times h, "
                                                     "velocities over √a, as GADGET has them",
                                                     file)});
  if (header.redshift != 0 && !config.cosmology)
    sentences.push_back(
        {LogLevel::warning,
         fmt::format("{}: states redshift {}, but no universe that is known here (Omega0, HubbleParam, Time = "
                     "1/(1 + redshift)): it runs in a space at rest; with [cosmology] it would expand",
                     file, to_text(header.redshift))});
  if (header.box_size > 0 && !box.periodic())
    sentences.push_back(
        {LogLevel::warning, fmt::format("{}: states a periodic box of {}; the {} solver runs it in open space", file,
                                        to_text(header.box_size), config.gravity.solver)});
}

}  // namespace

/// With each line of energies of an expanding universe: advances the energy equation, and measures the largest waves
/// while they are linear.
void GravitySystem::watch(const Energies& energies) {
  const double a = time();
  energy_error_ = energy_equation_.add(a, energies.kinetic, energies.potential);
  if (!box().periodic()) return;
  const auto background = *config().background();
  const bool first = waves_.start_scale_factor == 0;
  if (!first) {
    const auto largest = [&](double at) {
      return waves_.largest_at_start() * physics::growth_at(background, at).d1 /
             physics::growth_at(background, waves_.start_scale_factor).d1;
    };
    if (largest(a) > WaveWatch::linear_below) return;
    // Each particle is looked at for it. Only the last of these lines counts: the next one may come a step late.
    const double end = config().run.end_time, every = config().output.energy_every;
    const double next = every > 0 ? std::min(end, a * std::exp(2 * every + config().time.step_max)) : end;
    if (a < end && largest(next) <= WaveWatch::linear_below) return;
  }
  const LargeWaves waves = find_large_waves();
  if (first) {
    waves_.start = waves, waves_.start_scale_factor = a;
    if (is_compared()) take_starting_power();
  }
  waves_.latest = waves, waves_.scale_factor = a;
}

/// The growth of the 13 largest waves while they were linear. Their scatter is that of what couples them at contrasts
/// of 0.02, and of the forces.
std::vector<Check> GravitySystem::growth_checks() const {
  if (!config().cosmology || waves_.scale_factor <= waves_.start_scale_factor) return {};
  const auto background = *config().background();
  const double linear = physics::growth_at(background, waves_.scale_factor).d1 /
                        physics::growth_at(background, waves_.start_scale_factor).d1;
  const LargeWaveGrowth growth = wave_growth(waves_.start, waves_.latest, linear);
  const auto check = [](const char* name, double measured, double expected, double tolerance) {
    return Check{name, measured, expected, tolerance, std::abs(measured - expected) <= tolerance};
  };
  std::vector<Check> found{check("large_wave_growth", growth.mean, 1, 0.02),
                           check("large_wave_scatter", growth.scatter, 0, 0.05)};
  found[0].parts.assign(growth.ratio.begin(), growth.ratio.end());
  return found;
}

/// 0 if it is small compared with the expected accuracy, so that the tolerance stays the same.
double GravitySystem::energy_equation_doubt() const {
  const RunConfig& config = this->config();
  if (!config.cosmology) return 0;
  const double all = config.length_between(start_time(), config.run.end_time), every = config.output.energy_every;
  const double doubt = layzer_irvine_doubt(every > 0 ? std::min(every, all) : all);
  return doubt > negligible_doubt ? doubt : 0;
}

namespace {

/// Snapshots that are asked for at redshifts after the end of the run.
std::string late_redshifts_remark(const RunConfig& config) {
  std::vector<std::string> late;
  for (const double redshift : config.output.redshifts)
    if (config.run.end_time * (1 + redshift) < 1 - 1e-9) late.push_back(to_text(redshift));
  if (late.empty()) return "";
  return fmt::format("output.redshifts: no snapshot at {}, after the end of the run at redshift {:.6g}",
                     fmt::join(late, ", "), 1 / config.run.end_time - 1);
}

}  // namespace

// In the order of the log.
std::vector<Remark> GravitySystem::remarks_at_start() const {
  const RunConfig& config = this->config();
  std::vector<Remark> sentences;
  if (const double doubt = energy_equation_doubt(); doubt > 0)
    sentences.push_back(
        {LogLevel::warning,
         fmt::format("output.energy_every: {} in ln a are few energies for the equation of Layzer and Irvine: its "
                     "integral is then known to about {:.1g}, which the report card allows for; use 0.25",
                     to_text(config.output.energy_every), doubt)});
  if (config.inherited_cosmology)
    sentences.push_back(
        {LogLevel::info,
         fmt::format(
             "{}: a box of the universe: [cosmology] was taken from it, omega_matter = {}, omega_lambda = {}, h = {}",
             config.particles.file, to_text(config.cosmology->omega_matter), to_text(config.cosmology->omega_lambda),
             to_text(config.cosmology->h))});
  if (const auto waves = config.cosmology ? waves_at_start(config) : std::nullopt; waves && !waves->table.empty())
    sentences.push_back({LogLevel::info, fmt::format("transfer: {}", waves->from)});
  if (config.cosmology)
    for (std::string text : {late_redshifts_remark(config), curvature_remark(*config.cosmology)})
      if (!text.empty()) sentences.push_back({LogLevel::warning, std::move(text)});
  if (!made_on().empty())
    sentences.push_back({LogLevel::info, fmt::format("initial conditions were made on {}: the last bits of places and "
                                                     "velocities are not those that the CPU makes",
                                                     made_on())});
  if (config.cosmology && !box().periodic())
    sentences.push_back({LogLevel::info,
                         "[cosmology] in open space: comoving places about the origin, where matter of the mean "
                         "density would be at rest; its pull is taken off"});
  if (std::string text = lattice_remark(config, box()); !text.empty())
    sentences.push_back({LogLevel::warning, std::move(text)});
  for (const std::string& text : said_at_start())
    if (!text.empty()) sentences.push_back({LogLevel::warning, text});
  if (std::string text = unused_steps_remark(config.time); !text.empty())
    sentences.push_back({LogLevel::warning, std::move(text)});
  if (std::string text = late_start_remark(config, start_time()); !text.empty())
    sentences.push_back({LogLevel::warning, std::move(text)});
  if (std::string text = default_softening_remark(config); !text.empty())
    sentences.push_back({LogLevel::warning, std::move(text)});
  for (const auto& part : config.particles.all())
    if (!part.model.empty())
      if (std::string text = default_mass_remark(part.model, part.options); !text.empty())
        sentences.push_back({LogLevel::warning, std::move(text)});
  add_file_remarks(config, box(), sentences);
  if (!softened_pairs_.empty()) sentences.push_back({LogLevel::warning, softened_pairs_});
  for (Remark& remark : hard_pair_remarks(config, start_time(), pairs_)) sentences.push_back(std::move(remark));
  return sentences;
}

}  // namespace pergola

// What a box of the universe is compared with at its end: linear theory, a table of somebody else, halos of Tinker.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/expected_halos.hpp"
#include "analysis/power_spectrum.hpp"
#include "analysis/structure.hpp"
#include "base/units.hpp"
#include "gravity/solver_entry.hpp"
#include "models/transfer_table.hpp"
#include "models/waves.hpp"
#include "physics/eisenstein_hu.hpp"
#include "physics/growth.hpp"
#include "physics/power_spectrum.hpp"
#include "physics/resolution.hpp"
#include "sim/gravity_system.hpp"
#include "sim/universe_resolution.hpp"

namespace pergola {

namespace {

/// Fewer say nothing about theory.
constexpr std::int64_t least_for_structure = 32 * 32 * 32;

/// The waves that the box began with; none where nobody said.
std::optional<ModelWaves> waves_at_start(const RunConfig& config) {
  if (!config.particles.model.empty()) return model_waves(config.particles.model, config.particles.options);
  if (config.inherited_cosmology || !config.cosmology) return std::nullopt;
  return ModelWaves{physics::eisenstein_hu_power(*config.cosmology), false};
}

AnalysisSnapshot snapshot_of(const RunConfig& config, const Box& box, double a, double length_mpc_h,
                             Particles particles) {
  AnalysisSnapshot snapshot;
  snapshot.time = a;
  snapshot.box = box;
  snapshot.gravitational_constant = config.gravitational_constant();
  snapshot.universe = AnalysisUniverse{*config.cosmology, true, a, length_mpc_h, config.background()->hubble};
  snapshot.matter_part = config.background()->matter_part(a);
  snapshot.particles = std::move(particles);
  return snapshot;
}

/// Of a spectrum in the run's lengths, to that of tables in Mpc/h.
PowerSpectrum in_mpc_h(PowerSpectrum spectrum, double length_mpc_h) {
  const double volume = length_mpc_h * length_mpc_h * length_mpc_h;
  for (PowerBin& bin : spectrum.bins) bin.k /= length_mpc_h, bin.power *= volume;
  spectrum.shot_noise *= volume;
  return spectrum;
}

Check one_within(const char* name, double measured, double tolerance) {
  return {name, measured, 1, tolerance, std::abs(measured - 1) <= tolerance};
}

/// The largest waves against linear theory, as far as it holds.
std::optional<Check> linear_check(const PowerSpectrum& spectrum, const ModelWaves& waves, double growth,
                                  double k_trusted) {
  const auto linear = [&](double k) { return growth * growth * waves.power(k); };
  double k_linear = 0;
  for (const PowerBin& bin : spectrum.bins) {
    if (bin.k > k_trusted || physics::power_per_log(bin.k, linear(bin.k)) > physics::linear_power_per_log) break;
    k_linear = bin.k;
  }
  const PowerRatio ratio = power_ratio(spectrum, linear, 0, k_linear, waves.fixed);
  if (ratio.shells == 0) return std::nullopt;
  const double next_order = 0.3 * physics::power_per_log(k_linear, linear(k_linear));
  return one_within("power_over_linear", ratio.mean, 0.02 + 3 * ratio.error + next_order);
}

}  // namespace

std::vector<Check> GravitySystem::structure_checks(const std::function<void(const std::string& part)>& begins) {
  const RunConfig& run = config();
  if (!run.cosmology || size() < least_for_structure || size() > run.output.structure_most) return {};
  RunConfig boxed = run;
  set_box(boxed.gravity, box());
  const auto trusted = universe_resolution(boxed, size(), start_time());
  const auto waves = waves_at_start(run);
  if (!trusted || (!waves && run.output.power_reference.empty())) return {};
  const double unit = trusted->length_mpc_h, a = time();
  begins(fmt::format("power spectrum of {} particles against theory", size()));
  const AnalysisSnapshot snapshot = snapshot_of(run, box(), a, unit, particles());
  const PowerSpectrum spectrum = [&] {
    Profile::Scope scope(&profile(), "report card: power");
    return in_mpc_h(power_spectrum(*shown(), box(), usual_power_cells(size()), 0), unit);
  }();
  std::vector<Check> checks;
  if (waves) {
    const double growth = physics::growth_at(*run.background(), a).d1;
    if (const auto check = linear_check(spectrum, *waves, growth, trusted->wave_number)) checks.push_back(*check);
  }
  if (!run.output.power_reference.empty()) {
    const PowerTable table(run.output.power_reference);
    const PowerRatio ratio = power_ratio(spectrum, table, table.first(), std::min(table.last(), trusted->wave_number),
                                         waves && waves->fixed);
    if (ratio.shells > 0) checks.push_back(one_within("power_over_reference", ratio.mean, 0.02 + 3 * ratio.error));
  }
  if (!waves) return checks;
  const double mean = physics::mean_density(*run.background(), run.gravitational_constant());
  const ExpectedHalos theory(*snapshot.universe, mean, waves->power);
  Profile::Scope scope(&profile(), "report card: halos");
  for (const HaloCount& count : halo_counts(snapshot, theory, trusted->counted_particles, device(), begins))
    checks.push_back({fmt::format("halos_from_{:.0f}_particles", count.particles), count.found, count.expected,
                      count.tolerance(), std::abs(count.found - count.expected) <= count.tolerance()});
  return checks;
}

}  // namespace pergola

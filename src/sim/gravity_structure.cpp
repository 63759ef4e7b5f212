// What a box of the universe is compared with at its end: linear theory, a given table, halos of Tinker.
//
// Units: the system works in the run's lengths; theory and wave numbers are in h/Mpc, converted by in_mpc_h(). The
// checks are ratios of measured to expected power, with 1 expected, and counts of halos above some masses.
// Only waves and halos that the resolution can be trusted with are compared (sim/universe_resolution.hpp).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "analysis/mass_function.hpp"
#include "analysis/power_spectrum.hpp"
#include "analysis/structure.hpp"
#include "base/units.hpp"
#include "comm/agreement.hpp"
#include "gravity/solver_entry.hpp"
#include "models/model.hpp"
#include "models/transfer_table.hpp"
#include "physics/cosmology.hpp"
#include "physics/power_spectrum.hpp"
#include "physics/resolution.hpp"
#include "sim/analysis_snapshot.hpp"
#include "sim/gravity_system.hpp"
#include "sim/universe_resolution.hpp"

namespace pergola {

namespace {

/// Fewer say nothing about theory.
constexpr std::int64_t least_for_structure = 32 * 32 * 32;

/// What an analysis sees: the particles with their box, units and cosmology.
AnalysisSnapshot snapshot_of(const RunConfig& config, const Box& box, double a, double length_mpc_h,
                             Particles particles) {
  AnalysisSnapshot snapshot;
  snapshot.time = a;
  snapshot.box = box;
  snapshot.gravitational_constant = config.gravitational_constant();
  snapshot.universe = AnalysisUniverse{*config.cosmology, {}, {}, a, length_mpc_h, config.background()->hubble};
  snapshot.matter_part = config.background()->matter_part(a);
  snapshot.particles = std::move(particles);
  return snapshot;
}

std::optional<UniverseResolution> resolution_of(RunConfig config, const Box& box, std::int64_t size,
                                                double start_time) {
  set_box(config.gravity, box);
  return universe_resolution(config, size, start_time);
}

/// Converts a spectrum from the run's lengths to Mpc/h.
PowerSpectrum in_mpc_h(PowerSpectrum spectrum, double length_mpc_h) {
  const double volume = length_mpc_h * length_mpc_h * length_mpc_h;
  for (PowerBin& bin : spectrum.bins) bin.k /= length_mpc_h, bin.power *= volume;
  spectrum.shot_noise *= volume;
  return spectrum;
}

/// A ratio that is expected to be 1.
Check one_within(const char* name, double measured, double tolerance) {
  return {name, measured, 1, tolerance, std::abs(measured - 1) <= tolerance};
}

/// The largest waves against linear theory while it holds. The tolerance includes the scatter of few waves.
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
  const double next_order = physics::next_order_part * physics::power_per_log(k_linear, linear(k_linear));
  Check check = one_within("power_over_linear", ratio.mean, 0.02 + 3 * ratio.error + next_order);
  if (!waves.fixed) check.scatter = ratio.error;
  return check;
}

/// The largest waves against those of the start, or the reason why that is not possible.
std::optional<Check> growth_check(const StartingPower& start, const PowerSpectrum& end, const RunConfig& config,
                                  double a, double k_trusted, std::string& why_not) {
  if (start.scale_factor == 0) {
    why_not =
        "the power spectrum of the start is not known: output.structure_most left it out, or the checkpoint is of "
        "an earlier version";
    return std::nullopt;
  }
  const auto background = *config.background();
  const double growth = physics::growth_at(background, a).d1 / physics::growth_at(background, start.scale_factor).d1;
  // A model displaces a lattice or a glass, which have no noise; of a file that is not known.
  const double noise = config.particles.model.empty() ? most_white_noise(start.spectrum) : 0;
  const GrownPower grown = grown_power(start.spectrum, end, growth, k_trusted, noise);
  if (grown.shells > 0) return one_within("power_over_start", grown.ratio, grown.tolerance);
  why_not = grown.first_power_per_log > physics::linear_power_per_log
                ? fmt::format(
                      "the largest waves of the box are not linear at the end (power per logarithm of k {:.2g}, "
                      "expected at most {})",
                      grown.first_power_per_log, physics::linear_power_per_log)
                : "the forces are too soft for the largest waves of the box to grow as linear theory says";
  return std::nullopt;
}

}  // namespace

// Costs a power spectrum and groups, so that the size has an upper limit too (output.structure_most).
bool GravitySystem::is_compared() const {
  return config().cosmology && box().periodic() && size() >= least_for_structure &&
         size() <= config().output.structure_most;
}

void GravitySystem::take_starting_power() { starting_power_ = {time(), measure_power()}; }

/// In the run's lengths.
PowerSpectrum GravitySystem::measure_power() {
  Profile::Scope scope(&profile(), "report card: power");
  const int cells = usual_power_cells(size());
  return power_spectrum(*shown_here(), box(), cells, 0, ranks());
}

// Collective where particles are distributed.
std::optional<PowerSpectrum> GravitySystem::measure_end_power(
    const std::function<void(const std::string& part)>& begins) {
  if (!is_compared() || !resolution_of(config(), box(), size(), start_time())) return std::nullopt;
  pergola::on_root(communicator(),
                   [&] { begins(fmt::format("power spectrum of {} particles against theory", size())); });
  return measure_power();
}

// Against the power of the start, linear theory and a table of the user; those that do not apply are left out.
std::vector<Check> GravitySystem::power_checks(const PowerSpectrum& measured,
                                               const std::function<void(const std::string& part)>& begins) {
  const RunConfig& run = config();
  const auto trusted = resolution_of(run, box(), size(), start_time());
  const auto waves = waves_at_start(run);
  const double unit = trusted->length_mpc_h, a = time();
  const PowerSpectrum spectrum = in_mpc_h(measured, unit);
  std::vector<Check> checks;
  std::string why_not;
  if (const auto check = growth_check(starting_power_, measured, run, a, trusted->wave_number * unit, why_not))
    checks.push_back(*check);
  else
    begins(fmt::format("power_over_start is left out: {}", why_not));
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
  return checks;
}

// Counts of halos against the mass function of theory.
std::vector<Check> GravitySystem::halo_checks(const std::function<void(const std::string& part)>& begins) {
  const RunConfig& run = config();
  const auto trusted = resolution_of(run, box(), size(), start_time());
  const auto waves = waves_at_start(run);
  if (!waves) return {};
  AnalysisSnapshot snapshot = snapshot_of(run, box(), time(), trusted->length_mpc_h, fetch(*shown_here()));
  const double mean = physics::mean_density(*run.background(), run.gravitational_constant());
  const ExpectedHalos theory(*snapshot.universe, mean, waves->power);
  Profile::Scope scope(&profile(), "report card: halos");
  std::vector<Check> checks;
  for (const HaloCount& count :
       halo_counts(std::move(snapshot), theory, trusted->counted_particles, device(), begins, ranks()))
    checks.push_back({fmt::format("halos_from_{:.0f}_particles", count.particles), count.found, count.expected,
                      count.tolerance(), std::abs(count.found - count.expected) <= count.tolerance()});
  return checks;
}

}  // namespace pergola

// Checks of a plasma run before it starts: stability of the step, resolution of the grid, memory.
#include "sim/plasma_preflight.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plasma/particle_in_cell.hpp"

namespace pergola {

namespace {

/// Steps of a plasma oscillation: the leapfrog is unstable from 2 on, and off by (ω dt)²/24 in frequency below.
constexpr double unstable_step = 2, coarse_step = 0.3, good_step = 0.2;
/// A turn about the magnetic field in one step, in radians.
constexpr double blind_turn = std::numbers::pi, coarse_turn = 1;
/// Steps that can be counted and, one day, be taken.
constexpr double most_steps = 1e15;
/// Cells that particles may cross in a step before fields are skipped.
constexpr double far_transit = 1;

/// Debye lengths in a cell beyond which the grid heats the plasma.
double coarsest_cell(const PlasmaOptions& options) {
  if (options.smoothing >= 0.5) return 3;
  return options.shape == PlasmaShape::quadratic ? 2 : 1;
}

double largest(const PlasmaProfile& profile) {
  return profile.kind == PlasmaProfile::Kind::sine ? 1 + std::abs(profile.amplitude) : 1;
}

/// One species as the checks see it, in computed units.
struct Facts {
  std::string name;
  double plasma_frequency = 0, cyclotron_frequency = 0;
  double slowest_thermal = 0, fastest = 0;
};

std::vector<Facts> facts_of(const PlasmaConfig& plasma, const PlasmaOptions& options) {
  std::vector<Facts> all;
  for (const auto& species : plasma.species) {
    const PlasmaLoad load = plasma.load(species);
    const auto& [x, y, z] = load.thermal;
    Facts facts{species.name, 0, 0, 0, 0};
    facts.plasma_frequency = std::abs(species.charge) * std::sqrt(load.density * largest(load.profile) / species.mass);
    facts.cyclotron_frequency =
        std::abs(species.charge) / species.mass * std::sqrt(dot(options.magnetic_field, options.magnetic_field));
    facts.slowest_thermal = options.dimensions == 2 ? std::min(x, y) : std::min({x, y, z});
    facts.fastest = std::max({x, y, z}) + std::sqrt(dot(load.drift, load.drift));
    all.push_back(facts);
  }
  return all;
}

[[noreturn]] void refuse_step(const RunConfig& config, const std::string& why) {
  throw Error(ErrorKind::input, fmt::format("{}: time.step: {}", config.source, why));
}

void check_cell(const RunConfig& config, const PlasmaOptions& options, const Facts& species,
                std::vector<std::string>& warnings) {
  if (species.slowest_thermal <= 0 || species.plasma_frequency <= 0) return;
  const double lengths = species.plasma_frequency / species.slowest_thermal, most = coarsest_cell(options);
  if (lengths <= most) return;
  const auto& plasma = config.plasma;
  const std::string remedy =
      plasma.lengths == PlasmaLengths::cells
          ? fmt::format("raise the thermal velocity to {:.3g} cells omega_p", species.plasma_frequency / most)
          : fmt::format("set plasma.cell_size to at most {:.3g}", plasma.cell_size * most / lengths);
  warnings.push_back(fmt::format(
      "a cell is {:.3g} Debye lengths of {}, more than {}: the grid will heat them; {}, or use plasma.shape = "
      "\"quadratic\" or plasma.smoothing",
      lengths, species.name, most, remedy));
}

}  // namespace

std::vector<std::string> check_plasma(const RunConfig& config) {
  const PlasmaOptions options = config.plasma.options();
  const double unit = config.plasma.units().time().file, step = config.time.step / unit;
  const auto species = facts_of(config.plasma, options);
  if (const double steps = config.run.end_time / config.time.step; !(steps <= most_steps))
    throw Error(ErrorKind::input,
                fmt::format("{}: run.end_time: {} is {:.3g} steps of time.step = {}, expected at most "
                            "{:.0e}; are both in the same unit?",
                            config.source, to_text(config.run.end_time), steps, to_text(config.time.step), most_steps));
  std::vector<std::string> warnings;
  const bool mean_field = std::any_of(config.expect.begin(), config.expect.end(),
                                      [](const Expectation& one) { return one.name == "field_energy"; });
  if (config.plasma.wave.asked_for() && config.output.spectrum_every == 0 && !mean_field)
    warnings.push_back(
        "[plasma.wave] asks for a wave, which is not measured without the potential every few steps: set "
        "output.spectrum_every, in steps");
  double square = 0;
  for (const Facts& one : species) square += one.plasma_frequency * one.plasma_frequency;
  const double frequency = std::sqrt(square), phase = frequency * step;
  if (phase >= unstable_step)
    refuse_step(config, fmt::format("omega_p dt is {:.3g}, expected less than {}: the leapfrog would be unstable; set "
                                    "it to {:.3g} or less",
                                    phase, unstable_step, unit * good_step / frequency));
  if (phase > coarse_step)
    warnings.push_back(
        fmt::format("omega_p dt is {:.3g}: the plasma frequency will be off by {:.1f} %; set time.step "
                    "to {:.3g} or less",
                    phase, 100 * phase * phase / 24, unit * good_step / frequency));
  for (const Facts& one : species) {
    const double turn = one.cyclotron_frequency * step, transit = one.fastest * step;
    if (turn >= blind_turn)
      refuse_step(config, fmt::format("{} would turn by {:.3g} radians about the magnetic field in one step, expected "
                                      "less than pi; set it to {:.3g} or less",
                                      one.name, turn, unit * good_step / one.cyclotron_frequency));
    if (turn > coarse_turn)
      warnings.push_back(
          fmt::format("{} turn by {:.3g} radians about the magnetic field in one step; set time.step to "
                      "{:.3g} or less",
                      one.name, turn, unit * good_step / one.cyclotron_frequency));
    if (transit > far_transit)
      warnings.push_back(
          fmt::format("{} cross {:.3g} cells in one step and skip the fields between; set time.step to "
                      "{:.3g} or less, or use larger cells",
                      one.name, transit, unit * far_transit / one.fastest));
    check_cell(config, options, one, warnings);
  }
  return warnings;
}

PlasmaMemory plasma_memory(const RunConfig& config, const Device& device, int ranks) {
  const PlasmaOptions options = config.plasma.options();
  PlasmaMemory memory;
  std::vector<std::int64_t> counts;
  constexpr double countable = 1e15;
  for (const auto& species : config.plasma.species) {
    const PlasmaLoad load = config.plasma.load(species);
    const double count = static_cast<double>(load.particles_per_cell) * static_cast<double>(options.cell_count()) *
                         profile_mean(options, load.profile);
    memory.particles += (count < countable ? static_cast<double>(loaded_count(options, load)) : count) / ranks;
    counts.push_back(count < countable ? loaded_count(options, load) : 0);
  }
  // An id, places and velocities.
  const double bytes_each = 8.0 * (1 + options.dimensions + options.velocities);
  memory.host_bytes = memory.particles * bytes_each;
  memory.device_bytes =
      memory.particles < countable
          ? static_cast<double>(plasma_device_bytes(device, options, config.precision(), counts, ranks))
          : memory.host_bytes;
  memory.device_free_bytes = static_cast<double>(device.memory().free_bytes());
  memory.host_free_bytes = static_cast<double>(Device::open("cpu", 1).memory().free_bytes());
  memory.fits = device.is_cuda()
                    ? memory.device_bytes <= memory.device_free_bytes && memory.host_bytes <= memory.host_free_bytes
                    : memory.device_bytes + memory.host_bytes <= memory.host_free_bytes;
  return memory;
}

std::int64_t whole_plasma_steps(const RunConfig& config) {
  return static_cast<std::int64_t>(std::floor(config.run.end_time / config.time.step + 1e-9));
}

}  // namespace pergola

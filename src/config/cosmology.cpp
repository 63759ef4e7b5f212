// [cosmology]: keys, defaults, and what is refused before the particles are known.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/config.hpp"
#include "config/keys.hpp"
#include "gravity/solver_entry.hpp"
#include "io/snapshot.hpp"
#include "models/model.hpp"
#include "models/transfer_table.hpp"

// With [cosmology] the time of a run is the scale factor a, and intervals of outputs are in ln a. Redshifts are 1/a
// − 1. The cosmology comes from [cosmology], else from a model that has its own, else from the header of
// particles.file. A model's own parameters that contradict [cosmology] are refused. Checks here need no particles: the
// background must expand, times must be in order, the box must fit the solver.
namespace pergola {

namespace {

/// Keys of other tables that say nothing without [cosmology].
constexpr std::array<const char*, 4> of_a_universe{"run.end_redshift", "output.redshifts", "output.structure_most",
                                                   "output.power_reference"};

/// A key of [cosmology] for each parameter of physics/cosmology.hpp, with the range that is stated there.
ConfigKey parameter_key(const physics::CosmologyParameter& parameter) {
  const std::string path = fmt::format("cosmology.{}", parameter.name);
  const Range range = parameter.above ? Range::above(parameter.low) : Range::between(parameter.low, parameter.high);
  const auto member = parameter.value;
  return {
      path, parameter.help,
      [=](RunConfig& config, const ConfigValue& value) { (*config.cosmology).*member = read_real(value, path, range); },
      [=](const RunConfig& config) {
        return config.cosmology ? to_text((*config.cosmology).*member) : std::string("none");
      }};
}

[[noreturn]] void refuse_without_cosmology(const ConfigValue& value, const std::string& path) {
  throw Error(ErrorKind::input, fmt::format("{}: {}: expected [cosmology] beside it, found none", value.where(), path));
}

/// A model's own parameters are those of the run.
void agree_with_model(RunConfig& config, const FindValue& find) {
  auto& particles = config.particles;
  if (particles.model.empty()) return;
  const auto start = model_cosmology(particles.model, particles.options);
  if (!start) return;
  if (!config.cosmology) {
    config.cosmology = start->universe;
    return;
  }
  for (const auto& parameter : physics::cosmology_parameters) {
    const double of_run = (*config.cosmology).*parameter.value;
    const ConfigValue* given = find(fmt::format("particles.{}", parameter.name));
    if (given && start->universe.*parameter.value != of_run)
      throw Error(ErrorKind::input,
                  fmt::format("{}: particles.{}: expected {} as in [cosmology], found {}; leave it out", given->where(),
                              parameter.name, to_text(of_run), given->found()));
    particles.options.values[parameter.name] = of_run;
  }
}

}  // namespace

bool is_universe_key(const std::string& path) {
  return path.starts_with("cosmology.") || std::count(of_a_universe.begin(), of_a_universe.end(), path) > 0;
}

std::vector<ConfigKey> cosmology_keys() {
  std::vector<ConfigKey> keys;
  for (const auto& parameter : physics::cosmology_parameters) keys.push_back(parameter_key(parameter));
  return keys;
}

/// Another way to give run.end_time; config_text() shows only the scale factor.
ConfigKey end_redshift_key() {
  const std::string path = "run.end_redshift";
  return {path, "",
          [=](RunConfig& config, const ConfigValue& value) {
            const double redshift = read_real(value, path, Range::above(-1));
            config.run.end_time = 1 / (1 + redshift);
          },
          nullptr};
}

ConfigKey redshifts_key() {
  const std::string path = "output.redshifts";
  return {path, "snapshots at these redshifts",
          [=](RunConfig& config, const ConfigValue& value) {
            const auto* array = value.get_if<ConfigValue::Array>();
            if (!array) refuse(value, path, "an array of redshifts such as [4, 1, 0.5]");
            config.output.redshifts.clear();
            for (const auto& entry : *array)
              config.output.redshifts.push_back(read_real(entry, path, Range::above(-1)));
          },
          [](const RunConfig& config) {
            std::vector<std::string> parts;
            for (const double redshift : config.output.redshifts) parts.push_back(to_text(redshift));
            return fmt::format("[{}]", fmt::join(parts, ", "));
          }};
}

/// The table is read once here, so that a wrong file is refused before the run and not at its end.
ConfigKey power_reference_key() {
  const std::string path = "output.power_reference";
  return {path, "a table of the power spectrum at the end, k in h/Mpc and P in (Mpc/h)^3, to compare with",
          [=](RunConfig& config, const ConfigValue& value) {
            const auto* file = value.get_if<std::string>();
            if (!file) refuse(value, path, "the name of a file");
            config.output.power_reference = *file;
            if (file->empty()) return;
            try {
              PowerTable{*file};
            } catch (const Error& error) {
              throw Error(error.kind(), fmt::format("{}: {}: {}", value.where(), path, error.what()));
            }
          },
          [](const RunConfig& config) { return toml_string(config.output.power_reference); }};
}

/// GADGET's header of a static run has Omega0 = 0, or a time that is not the scale factor of its redshift.
bool is_cosmological(const SnapshotHeader& header) {
  return header.omega0.value_or(0) > 0 && header.hubble_param.value_or(0) > 0 && header.time > 0 &&
         std::abs(header.time * (1 + header.redshift) - 1) < 1e-3;
}

/// w0 and wa are not in GADGET's header: they keep their defaults.
void inherit_cosmology(RunConfig& config) {
  if (config.cosmology) return;
  SnapshotHeader header;
  try {
    header = inspect_snapshot(config.particles.file).header;
  } catch (const Error&) {
    return;  // the reader of the particles reports what is wrong with the file
  }
  if (!is_cosmological(header)) return;
  config.inherited_cosmology = true;
  config.cosmology.emplace();
  config.cosmology->omega_matter = *header.omega0;
  config.cosmology->omega_lambda = header.omega_lambda.value_or(0);
  config.cosmology->h = *header.hubble_param;
  config.cosmology->omega_baryon = header.omega_baryon.value_or(config.cosmology->omega_baryon);
}

/// Defaults of a universe: block or adaptive steps of at most 1/64, and outputs by ln a. Keys that mean nothing
/// without [cosmology] are refused.
void complete_cosmology(RunConfig& config, const FindValue& find) {
  agree_with_model(config, find);
  const ConfigValue* end = find("run.end_redshift");
  for (const char* path : of_a_universe)
    if (const ConfigValue* value = find(path); value && !config.cosmology) refuse_without_cosmology(*value, path);
  if (const char* path = "gravity.softening_max_proper"; !config.cosmology && config.gravity.softening.changes())
    if (const ConfigValue* value = find(path)) refuse_without_cosmology(*value, path);
  if (!config.cosmology) return;
  if (end && find("run.end_time"))
    throw Error(ErrorKind::input,
                fmt::format("{}: run.end_redshift: expected one of run.end_time and run.end_redshift, found both",
                            end->where()));
  check_universe_keys(config, find);
  if (!find("time.adaptive") && !find("time.step") && !find("time.steps")) {
    // A mesh moves all particles for about the price of one.
    const SolverInfo& solver = solver_entry(config.gravity.solver).can;
    if (solver.subset && !solver.smooths)
      config.time.steps = "block";
    else
      config.time.adaptive = true;
  }
  if (!find("time.step_max")) config.time.step_max = 0x1p-6;
  if (!find("output.energy_every")) config.output.energy_every = 0.25;
  if (!config.output.redshifts.empty() && !find("output.snapshots_every")) config.output.snapshots_every = 0;
  if (config.units.system == "auto" && config.particles.file.empty() && !config.particles.model.empty())
    if (const ModelInfo& model = find_model(config.particles.model); model.own_units) config.units.system = model.units;
}

/// N-body units have no lengths in Mpc: there H₀ is 1.
std::optional<physics::Background> RunConfig::background() const {
  if (!cosmology) return std::nullopt;
  const UnitSystem used = unit_system();
  const bool without_lengths = used.name == nbody_units().name;
  return cosmology->background(
      without_lengths ? 1 : physics::hubble_in_units_per_h(used.length_cm, used.velocity_cm_per_s));
}

/// Integrators need the background to step in an expanding universe.
TimeOptions RunConfig::time_options() const {
  TimeOptions options = time;
  options.background = background();
  return options;
}

/// In ln a with [cosmology], else in time.
double RunConfig::length_between(double from, double to) const { return cosmology ? std::log(to / from) : to - from; }

namespace {

[[noreturn]] void refuse_universe_key(const RunConfig& config, const FindValue& find, const std::string& key,
                                      const std::string& expected) {
  const ConfigValue* value = find(key);
  throw Error(ErrorKind::input,
              fmt::format("{}: {}: expected {}", value ? value->where() : config.source, key, expected));
}

/// The first scale factor up to `end`, or to today, at which H² is not above 0: no run comes from before, or goes on.
std::optional<double> standstill(const physics::Background& background, double end) {
  constexpr int places = 4000;
  const double first = 1e-4, last = std::max(1.0, end);  // growth is found from early times to today, whatever the run
  for (int k = 0; k <= places; ++k) {
    const double a = first * std::pow(last / first, static_cast<double>(k) / places);
    if (!(background.expansion2(a) > 0)) return a;
  }
  return std::nullopt;
}

/// Refuses universes that no run can begin in: more baryons than matter, dark energy that rules early, a standstill.
void check_background(const RunConfig& config, const FindValue& find) {
  const physics::Cosmology& universe = *config.cosmology;
  if (universe.omega_baryon > universe.omega_matter)
    refuse_universe_key(config, find, "cosmology.omega_baryon",
                        fmt::format("at most cosmology.omega_matter, {}, found {}", to_text(universe.omega_matter),
                                    to_text(universe.omega_baryon)));
  if (universe.w0 + universe.wa >= 0)
    refuse_universe_key(config, find, "cosmology.wa",
                        fmt::format("w0 + wa below 0, so that matter rules the early universe, found {}",
                                    to_text(universe.w0 + universe.wa)));
  if (const auto a = standstill(universe.background(1), config.run.end_time))
    refuse_universe_key(
        config, find, "cosmology.omega_lambda",
        fmt::format("a universe that expands from its beginning to the end of the run, found one that stands "
                    "still at a = {:.3g}",
                    *a));
}

/// The run must end after its start, and redshifts of snapshots must lie after it.
void check_times(const RunConfig& config, const FindValue& find, double start) {
  const double redshift = 1 / start - 1;
  if (config.run.end_time <= start) {
    if (find("run.end_redshift"))
      refuse_universe_key(
          config, find, "run.end_redshift",
          fmt::format("less than particles.redshift, {:.6g}, found {:.6g}", redshift, 1 / config.run.end_time - 1));
    refuse_universe_key(config, find, "run.end_time",
                        fmt::format("more than the scale factor of the start (particles.redshift), {}, found {}",
                                    to_text(start), to_text(config.run.end_time)));
  }
  for (const double at : config.output.redshifts)
    if (at > redshift * (1 + 1e-12))
      refuse_universe_key(config, find, "output.redshifts",
                          fmt::format("at most particles.redshift, {:.6g}, found {}", redshift, to_text(at)));
}

/// The model fills a periodic box of a known side: the solver must have periodic boundaries and the same side.
void check_box(const RunConfig& config, const FindValue& find, double side) {
  const SolverEntry& solver = solver_entry(config.gravity.solver);
  const std::string which = fmt::format("the model {} has a periodic box of {}", config.particles.model, to_text(side));
  if (!solver.box)
    refuse_universe_key(config, find, "gravity.solver",
                        fmt::format("tree, treepm or mesh, for {}, found {}", which, solver.name));
  if (const ConfigValue* boundary = find("gravity.mesh.boundary"))
    if (const auto* word = boundary->get_if<std::string>(); word && *word == "isolated")
      refuse_universe_key(config, find, "gravity.mesh.boundary",
                          fmt::format("auto or periodic, for {}, found isolated", which));
  SolverOptions gravity = config.gravity;
  const Vec3<double> given = solver.box(gravity).side;
  if (given.x > 0 && (given.x != side || given.y != side || given.z != side))
    refuse_universe_key(config, find, "gravity.mesh.box",
                        fmt::format("{}, for {}, or none, found {} x {} x {}", to_text(side), which, to_text(given.x),
                                    to_text(given.y), to_text(given.z)));
  if (const ConfigValue* radii = find("output.radii_every")) {
    const auto more = config.output.more.find("output.radii_every");
    if (more != config.output.more.end() && more->second > 0)
      refuse(*radii, "output.radii_every", "0 or -1, for " + which + " and so no centre");
  }
}

}  // namespace

void check_universe_keys(const RunConfig& config, const FindValue& find) {
  check_background(config, find);
  if (config.particles.model.empty()) return;
  const auto start = model_cosmology(config.particles.model, config.particles.options);
  if (!start) return;
  const ModelInfo& model = find_model(config.particles.model);
  const std::string& units = config.units.system;
  if (model.own_units && units != "auto" && units != "custom" && units != model.units)
    refuse_universe_key(
        config, find, "units.system",
        fmt::format("auto or {}, in which the model {} is made, found {}", model.units, config.particles.model, units));
  check_times(config, find, start->scale_factor);
  check_box(config, find, model_box_side(config.particles.model, config.particles.options));
}

}  // namespace pergola

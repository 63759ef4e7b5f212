// What cannot be right in a run with [cosmology], as far as it is known before the particles are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/keys.hpp"
#include "gravity/solver_entry.hpp"
#include "models/model.hpp"

namespace pergola {

namespace {

using Find = std::function<const ConfigValue*(const std::string&)>;

[[noreturn]] void refuse_key(const RunConfig& config, const Find& find, const std::string& key,
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

void check_background(const RunConfig& config, const Find& find) {
  const physics::Cosmology& universe = *config.cosmology;
  if (universe.omega_baryon > universe.omega_matter)
    refuse_key(config, find, "cosmology.omega_baryon",
               fmt::format("at most cosmology.omega_matter, {}, found {}", to_text(universe.omega_matter),
                           to_text(universe.omega_baryon)));
  if (universe.w0 + universe.wa >= 0)
    refuse_key(config, find, "cosmology.wa",
               fmt::format("w0 + wa below 0, so that matter rules the early universe, found {}",
                           to_text(universe.w0 + universe.wa)));
  if (const auto a = standstill(universe.background(1), config.run.end_time))
    refuse_key(config, find, "cosmology.omega_lambda",
               fmt::format("a universe that expands from its beginning to the end of the run, found one that stands "
                           "still at a = {:.3g}",
                           *a));
}

void check_times(const RunConfig& config, const Find& find, double start) {
  const double redshift = 1 / start - 1;
  if (config.run.end_time <= start) {
    if (find("run.end_redshift"))
      refuse_key(
          config, find, "run.end_redshift",
          fmt::format("less than particles.redshift, {:.6g}, found {:.6g}", redshift, 1 / config.run.end_time - 1));
    refuse_key(config, find, "run.end_time",
               fmt::format("more than the scale factor of the start (particles.redshift), {}, found {}", to_text(start),
                           to_text(config.run.end_time)));
  }
  for (const double at : config.output.redshifts)
    if (at > redshift * (1 + 1e-12))
      refuse_key(config, find, "output.redshifts",
                 fmt::format("at most particles.redshift, {:.6g}, found {}", redshift, to_text(at)));
}

void check_box(const RunConfig& config, const Find& find, double side) {
  const SolverEntry& solver = solver_entry(config.gravity.solver);
  const std::string which = fmt::format("the model {} has a periodic box of {}", config.particles.model, to_text(side));
  if (!solver.box)
    refuse_key(config, find, "gravity.solver",
               fmt::format("tree, treepm or mesh, for {}, found {}", which, solver.name));
  if (const ConfigValue* boundary = find("gravity.mesh.boundary"))
    if (const auto* word = boundary->get_if<std::string>(); word && *word == "isolated")
      refuse_key(config, find, "gravity.mesh.boundary", fmt::format("auto or periodic, for {}, found isolated", which));
  SolverOptions gravity = config.gravity;
  const Vec3<double> given = solver.box(gravity).side;
  if (given.x > 0 && (given.x != side || given.y != side || given.z != side))
    refuse_key(config, find, "gravity.mesh.box",
               fmt::format("{}, for {}, or none, found {} x {} x {}", to_text(side), which, to_text(given.x),
                           to_text(given.y), to_text(given.z)));
  if (const ConfigValue* radii = find("output.radii_every")) {
    const auto more = config.output.more.find("output.radii_every");
    if (more != config.output.more.end() && more->second > 0)
      refuse(*radii, "output.radii_every", "0 or -1, for " + which + " and so no centre");
  }
}

}  // namespace

void check_universe_keys(const RunConfig& config, const Find& find) {
  check_background(config, find);
  if (config.particles.model.empty()) return;
  const auto start = model_cosmology(config.particles.model, config.particles.options);
  if (!start) return;
  const ModelInfo& model = find_model(config.particles.model);
  const std::string& units = config.units.system;
  if (model.own_units && units != "auto" && units != "custom" && units != model.units)
    refuse_key(
        config, find, "units.system",
        fmt::format("auto or {}, in which the model {} is made, found {}", model.units, config.particles.model, units));
  check_times(config, find, start->scale_factor);
  check_box(config, find, model_box_side(config.particles.model, config.particles.options));
}

}  // namespace pergola

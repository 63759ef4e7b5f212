#include <fmt/core.h>

#include <array>
#include <cmath>

#include "analysis/analysis.hpp"
#include "analysis/profile.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

constexpr std::int64_t usual_bins = 24;

void add_shells(const AnalysisSnapshot& snapshot, const std::string& species, const std::vector<ProfileShell>& shells,
                Table& table) {
  const AnalysisUnits& units = snapshot.units;
  for (const ProfileShell& shell : shells) {
    table.add("time", units.time, snapshot.time);
    table.add_word("species", species);
    table.add("r_inner", units.length, shell.inner);
    table.add("r_outer", units.length, shell.outer);
    table.add("particles", "", static_cast<double>(shell.particles));
    table.add("mass_within", units.mass, shell.mass_within);
    table.add("density", units.density(), shell.density);
    table.add("density_error", units.density(), shell.density_error);
    table.add("radial_velocity", units.velocity, shell.radial_velocity);
    table.add("sigma_radial", units.velocity, shell.sigma_radial);
    table.add("sigma_tangential", units.velocity, shell.sigma_tangential);
    table.add("anisotropy", "", shell.anisotropy);
  }
}

struct Panels {
  Figure density, dispersion, anisotropy;
};

void draw(const std::string& name, const std::vector<ProfileShell>& shells, Panels& panels) {
  std::vector<double> r, density, radial, tangential, beta;
  for (std::size_t k = 1; k < shells.size(); ++k) {  // a sphere has no place on a logarithmic axis
    r.push_back(std::sqrt(shells[k].inner * shells[k].outer));
    density.push_back(shells[k].density);
    radial.push_back(shells[k].sigma_radial), tangential.push_back(shells[k].sigma_tangential);
    beta.push_back(shells[k].anisotropy);
  }
  panels.density.lines.push_back({name, r, density});
  panels.dispersion.lines.push_back({fmt::format("{} radial", name), r, radial});
  panels.dispersion.lines.push_back({fmt::format("{} tangential", name), r, tangential, false, true});
  panels.anisotropy.lines.push_back({name, r, beta});
}

/// The particles of one species, in the order of `all`.
SeenFromCenter only(const Particles& p, const SeenFromCenter& all, std::uint8_t species) {
  SeenFromCenter some;
  for (std::size_t k = 0; k < all.order.size(); ++k)
    if (p.species[all.order[k]] == species) some.order.push_back(all.order[k]), some.radius.push_back(all.radius[k]);
  return some;
}

void add_moment(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device,
                AnalysisResult& result, Panels& panels, bool name_times) {
  const SystemCenter center = find_center(snapshot, options, device);
  const SeenFromCenter all = seen_from(snapshot, center.place);
  const auto edges = profile_edges(all, options.bins > 0 ? options.bins : usual_bins, options.low, options.high);
  std::vector<std::pair<std::string, SeenFromCenter>> parts;
  for (std::size_t s = 0; s < species_names.size(); ++s)
    if (auto part = only(snapshot.particles, all, static_cast<std::uint8_t>(s)); !part.order.empty())
      parts.emplace_back(std::string(species_names[s]), std::move(part));
  if (parts.size() > 1) parts.emplace_back("all", all);
  for (const auto& [name, part] : parts) {
    const auto shells = profile_of(snapshot, center, part, edges);
    add_shells(snapshot, name, shells, result.table);
    draw(name_times ? fmt::format("{}, {}", name, snapshot.moment) : name, shells, panels);
  }
  const auto& c = center.place;
  result.findings.push_back({fmt::format("center ({}) of {}", center.how, snapshot.name), snapshot.units.length,
                             fmt::format("{}, {}, {}", to_text(c.x), to_text(c.y), to_text(c.z))});
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  Panels panels;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisSnapshot snapshot = chosen_species(files.snapshot(k), options);
    add_moment(snapshot, options, device, result, panels, files.names.size() > 1);
    units = snapshot.units;
  }
  const auto label = [&units](Figure& figure, const char* title, const char* y, const std::string& unit, bool log) {
    figure.title = title;
    figure.x_label = "radius", figure.x_unit = units.length, figure.x_log = true;
    figure.y_label = y, figure.y_unit = unit, figure.y_log = log;
  };
  label(panels.density, "Density", "density", units.density(), true);
  label(panels.dispersion, "Velocity dispersion", "σ", units.velocity, false);
  label(panels.anisotropy, "Anisotropy", "β", "", false);
  result.figures = {panels.density, panels.dispersion, panels.anisotropy};
  return result;
}

}  // namespace

AnalysisEntry profile_entry() {
  return {.name = "profile",
          .help = "Density, velocity dispersions, anisotropy and enclosed mass by radius and species",
          .details =
              "One line per shell, the first a sphere. Columns: time, species, r_inner, r_outer, particles, "
              "mass_within (r_outer), density with its counting error, radial_velocity (mean), sigma_radial, "
              "sigma_tangential (of one component), anisotropy (beta: 0 isotropic, 1 radial orbits). Velocities "
              "are relative to the mean one within the half-mass radius.",
          .example = "cluster/snap_004.hdf5 -o profile.csv --plot profile.png --bins 30",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::last_moment,
          .keys = {bins_key(usual_bins), low_key("inner radius of the shells; 0: found from the particles"),
                   high_key("outer radius of the shells; 0: found from the particles"), center_key(), species_key(),
                   softening_key()},
          .analyze = analyze};
}

}  // namespace pergola

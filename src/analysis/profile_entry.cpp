#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <utility>

#include "analysis/nfw_fit.hpp"
#include "analysis/profiled_places.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

constexpr std::int64_t usual_bins = 24;

/// The shells of one species about one place, and the halo that was fitted to them.
struct ShownProfile {
  std::int64_t group = 0;
  std::string species, name;  // `name` for legends
  std::vector<ProfileShell> shells;
  NfwFit fit;
};

void add_shells(const AnalysisSnapshot& snapshot, const ShownProfile& profile, Table& table) {
  const AnalysisUnits& units = snapshot.units;
  for (const ProfileShell& shell : profile.shells) {
    table.add("time", units.time, snapshot.time);
    table.add("group", "", static_cast<double>(profile.group));
    table.add_word("species", profile.species);
    table.add("r_inner", units.length, shell.inner);
    table.add("r_outer", units.length, shell.outer);
    table.add("particles", "", static_cast<double>(shell.particles));
    table.add("mass_within", units.mass, shell.mass_within);
    table.add("density", units.density(), shell.density);
    table.add("density_error", units.density(), shell.density_error);
    table.add("radial_velocity", units.velocity, shell.radial_velocity);
    table.add("tangential_velocity", units.velocity, shell.tangential_velocity);
    table.add("hubble_flow", units.velocity, shell.hubble_flow);
    table.add("sigma_radial", units.velocity, shell.sigma_radial);
    table.add("sigma_tangential", units.velocity, shell.sigma_tangential);
    table.add("anisotropy", "", shell.anisotropy);
    table.add("nfw_density", units.density(), profile.fit.density(shell.inner, shell.outer));
    table.add("nfw_rho_s", units.density(), profile.fit.scale_density);
    table.add("nfw_r_s", units.length, profile.fit.scale_radius);
    table.add("nfw_chi2", "", profile.fit.chi2);
  }
}

struct Panels {
  Figure density, velocity, dispersion, anisotropy;
};

void draw(const ShownProfile& profile, Panels& panels) {
  const auto& shells = profile.shells;
  std::vector<double> r, density, nfw, inward, turning, radial, tangential, beta;
  for (std::size_t k = 1; k < shells.size(); ++k) {  // a sphere has no place on a logarithmic axis
    r.push_back(std::sqrt(shells[k].inner * shells[k].outer));
    density.push_back(shells[k].density);
    nfw.push_back(profile.fit.density(shells[k].inner, shells[k].outer));
    inward.push_back(shells[k].radial_velocity), turning.push_back(shells[k].tangential_velocity);
    radial.push_back(shells[k].sigma_radial), tangential.push_back(shells[k].sigma_tangential);
    beta.push_back(shells[k].anisotropy);
  }
  const std::string& name = profile.name;
  panels.density.lines.push_back({name, r, density});
  if (std::isfinite(profile.fit.scale_radius)) panels.density.lines.push_back({"", r, nfw, false, true});
  panels.velocity.lines.push_back({fmt::format("{} radial", name), r, inward});
  panels.velocity.lines.push_back({fmt::format("{} tangential", name), r, turning, false, true});
  panels.dispersion.lines.push_back({fmt::format("{} radial", name), r, radial});
  panels.dispersion.lines.push_back({fmt::format("{} tangential", name), r, tangential, false, true});
  panels.anisotropy.lines.push_back({name, r, beta});
}

void say_place(const AnalysisSnapshot& snapshot, const ProfiledPlace& place, AnalysisResult& result) {
  const auto& c = place.center.place;
  const std::string group = place.group > 0 ? fmt::format("group {}", place.group) : "";
  const std::string whose = group.empty() ? snapshot.name : fmt::format("{}, {}", snapshot.name, group);
  result.findings.push_back({fmt::format("center ({}) of {}", place.center.how, whose), snapshot.units.length,
                             fmt::format("{}, {}, {}", to_text(c.x), to_text(c.y), to_text(c.z))});
  if (!(place.r200c > 0)) return;
  const auto of_group = [&group](const char* what) {
    return group.empty() ? what : fmt::format("{} of {}", what, group);
  };
  result.findings.push_back({of_group("r200c"), snapshot.units.length, place.r200c});
  result.findings.push_back({of_group("m200c"), snapshot.units.mass, place.m200c});
}

void say_fit(const AnalysisSnapshot& snapshot, const ShownProfile& profile, double r200c, AnalysisResult& result) {
  const NfwFit& fit = profile.fit;
  if (!std::isfinite(fit.scale_radius)) return;
  const auto name = [&profile](const char* what) { return fmt::format("{} of {} (NFW)", what, profile.name); };
  result.findings.push_back({name("r_s"), snapshot.units.length, fit.scale_radius});
  result.findings.push_back({name("rho_s"), snapshot.units.density(), fit.scale_density});
  result.findings.push_back({name(fmt::format("chi2 of {} shells", fit.shells).c_str()), "", fit.chi2});
  if (r200c > 0) result.findings.push_back({name("r200c/r_s"), "", r200c / fit.scale_radius});
}

void add_place(const AnalysisSnapshot& snapshot, const PlaceProfile& profile, const AnalysisOptions& options,
               AnalysisResult& result, Panels& panels, bool name_times) {
  const ProfiledPlace& place = profile.place;
  say_place(snapshot, place, result);
  for (const auto& [number, shells] : profile.parts) {
    const std::string species(number < species_count ? species_names[static_cast<std::size_t>(number)] : "all");
    ShownProfile shown{place.group, species, species, shells, {}};
    if (place.group > 0) shown.name += fmt::format(", group {}", place.group);
    if (name_times) shown.name += fmt::format(", {}", snapshot.moment);
    const bool fitted = options.nfw == "yes" || (options.nfw == "auto" && place.group > 0);
    const double edge = place.r200c > 0 ? place.r200c : std::numeric_limits<double>::infinity();
    shown.fit = fit_nfw(fitted ? shown.shells : std::vector<ProfileShell>(), edge);
    add_shells(snapshot, shown, result.table);
    say_fit(snapshot, shown, place.r200c, result);
    draw(shown, panels);
  }
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  Panels panels;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    AnalysisSnapshot snapshot = files.snapshot(k);
    const AnalysisSnapshot frame = frame_of(snapshot);
    const std::int64_t bins = options.bins > 0 ? options.bins : usual_bins;
    for (const PlaceProfile& profile : profiles_in(std::move(snapshot), options, bins, device, files.ranks))
      add_place(frame, profile, options, result, panels, files.names.size() > 1);
    units = frame.units;
  }
  const auto label = [&units](Figure& figure, const char* title, const char* y, const std::string& unit, bool log) {
    figure.title = title;
    figure.x_label = "radius", figure.x_unit = units.length, figure.x_log = true;
    figure.y_label = y, figure.y_unit = unit, figure.y_log = log;
  };
  label(panels.density, "Density", "density", units.density(), true);
  label(panels.velocity, "Mean velocity", "v", units.velocity, false);
  label(panels.dispersion, "Velocity dispersion", "σ", units.velocity, false);
  label(panels.anisotropy, "Anisotropy", "β", "", false);
  result.figures = {panels.density, panels.velocity, panels.dispersion, panels.anisotropy};
  return result;
}

}  // namespace

AnalysisEntry profile_entry() {
  std::vector<Key<AnalysisOptions>> keys{
      bins_key(usual_bins),
      low_key("inner radius of the shells; 0: found from the particles"),
      high_key("outer radius of the shells; 0: found from the particles, of a group 2 r200m or the farthest member"),
      center_key(),
      species_key(),
      softening_key(),
      word_option<AnalysisOptions>(
          "nfw", "fit of the halo of Navarro, Frenk & White: auto (to groups), yes or no", {"auto", "yes", "no"},
          [](auto& options) -> auto& { return options.nfw; })};
  for (auto& key : profiled_group_keys()) keys.push_back(std::move(key));
  return {.name = "profile",
          .also = "profiles",
          .help = "Density, velocities, dispersions, anisotropy and enclosed mass by radius; of systems and of halos",
          .details =
              "One line per shell, the first a sphere. Columns: time, group (0: none), species, r_inner, r_outer, "
              "particles, mass_within (r_outer), density with its counting error, radial_velocity (mean), "
              "tangential_velocity (the length of the mean of r x v/r: rotation), hubble_flow (a H r, to be added to "
              "radial_velocity for the proper one; 0 without an expanding universe), sigma_radial, sigma_tangential "
              "(of one component), anisotropy (beta: 0 isotropic, 1 radial orbits), nfw_density, nfw_rho_s, nfw_r_s "
              "and nfw_chi2 (the most likely halo of Navarro, Frenk & White, rho = rho_s/((r/r_s) (1 + r/r_s)^2), "
              "from the shells within r200c where that is known; nan where none was fitted). Velocities are "
              "relative to the mean one of the group, or within the half-mass radius, in a periodic box within r200m. "
              "In a cosmological file lengths and densities are comoving and velocities peculiar: means and "
              "dispersions are without the Hubble flow.",
          .example = "box.hdf5 --groups 3 -o profiles.csv --plot profiles.png",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::last_moment,
          .by_ranks = true,
          .keys = keys,
          .analyze = analyze};
}

}  // namespace pergola

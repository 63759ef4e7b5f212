#include "analysis/profile.hpp"
#include "analysis/profiled_places.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "physics/halos.hpp"
#include "physics/measures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

// Edges of shells need only the sorted distances, given as functions, because with distributed particles each look at
// them is collective. Sums of shells can be continued from rank to rank.
namespace pergola {

namespace {

/// a H in the file's velocity over its length; 0 without expansion.
double expansion_of(const AnalysisSnapshot& snapshot) {
  if (!snapshot.universe) return 0;
  const double a = snapshot.universe->scale_factor;
  const physics::Background background = snapshot.universe->cosmology.background(snapshot.universe->hubble);
  return physics::hubble_speed(background.rate(a), a, 1);
}

/// Densities, means and dispersions from the sums of a shell.
ProfileShell shell_of(const ShellSums& sums, double inner, double outer, double mass_before, double flow_per_radius) {
  ProfileShell shell{inner, outer, sums.count, sums.mass, mass_before + sums.mass};
  const double volume = physics::shell_volume(inner, outer);
  shell.density = sums.mass / volume;
  shell.density_error = std::sqrt(sums.mass2) / volume;
  const bool several = sums.count > 1;
  shell.radial_velocity = sums.count > 0 ? sums.mean(0) : not_known;
  shell.tangential_velocity = sums.count > 0 ? std::sqrt(dot(sums.turning, sums.turning)) / sums.weight : not_known;
  shell.hubble_flow = sums.count > 0 ? flow_per_radius * sums.distance / sums.weight : not_known;
  shell.sigma_radial = several ? std::sqrt(sums.variance(0)) : not_known;
  shell.sigma_tangential = several ? std::sqrt((sums.variance(1) + sums.variance(2)) / 2) : not_known;
  shell.anisotropy = several && sums.variance(0) > 0
                         ? physics::anisotropy(sums.variance(0), sums.variance(1), sums.variance(2))
                         : not_known;
  return shell;
}

}  // namespace

// m: the mass; w: the weight of the particle in means, its mass or 1. Position and velocity are relative to the centre.
void ShellSums::add(double m, double w, const Vec3<double>& place, const Vec3<double>& velocity) {
  ++count;
  mass += m, mass2 += m * m, weight += w;
  const double r = std::sqrt(dot(place, place));
  distance += w * r;
  if (r > 0) turning = turning + (w / r) * cross(place, velocity);
  const auto v = physics::spherical_velocity(place, velocity);
  const double component[3] = {v.radial, v.polar, v.azimuthal};
  for (int k = 0; k < 3; ++k) first[k] += w * component[k], second[k] += w * component[k] * component[k];
}

// The first shell is a sphere of radius `low`; the others have equal widths in the logarithm up to `high`. Radii that
// are not given leave out the innermost thousandth (at least ten particles) and the outermost 0.5 % of the particles.
std::vector<double> profile_edges(const SortedRadii& radii, std::int64_t bins, double low, double high) {
  const std::size_t n = radii.count;
  if (n == 0) throw Error(ErrorKind::input, "profile: there are no particles, expected at least 1");
  const bool chosen = low == 0 && high == 0;
  if (low == 0) {
    low = radii.at(std::min((n - 1) / 2, std::max<std::size_t>(10, n / 1000)));
    if (low == 0) low = radii.not_below(std::numeric_limits<double>::min());
  }
  if (high == 0) high = radii.at(std::min(n - 1, n - 1 - n / 200));
  if (chosen && !(high > low))
    throw Error(ErrorKind::input,
                fmt::format("profile: expected particles at several distances from the centre, found {}",
                            n == 1 ? "one particle" : fmt::format("{}, all at {}", n, to_text(high))));
  if (!(low > 0) || !(high > low))
    throw Error(ErrorKind::input,
                fmt::format("--from, --to: expected 0 < from < to, found {} and {}", to_text(low), to_text(high)));
  if (radii.not_below(low) > high)
    throw Error(ErrorKind::input,
                fmt::format("--from, --to: expected particles at distances from {} to {} from the centre, found none",
                            to_text(low), to_text(high)));
  std::vector<double> edges{0};
  for (std::int64_t k = 0; k < bins; ++k)
    edges.push_back(low * std::pow(high / low, static_cast<double>(k) / static_cast<double>(bins)));
  edges.push_back(high);
  return edges;
}

std::vector<double> profile_edges(const SeenFromCenter& seen, std::int64_t bins, double low, double high) {
  const auto& radius = seen.radius;
  const SortedRadii radii{radius.size(), [&](std::size_t k) { return radius[k]; },
                          [&](double length) {
                            const auto found = std::lower_bound(radius.begin(), radius.end(), length);
                            return found == radius.end() ? std::numeric_limits<double>::infinity() : *found;
                          }};
  return profile_edges(radii, bins, low, high);
}

bool has_mass(const Particles& particles) {
  return std::any_of(particles.mass.begin(), particles.mass.end(), [](double m) { return m != 0; });
}

// In the order of distances, so that sums can continue on the next rank.
void add_to_shells(const AnalysisSnapshot& snapshot, const SystemCenter& center, const SeenFromCenter& seen,
                   const std::vector<double>& edges, bool by_mass, std::vector<ShellSums>& sums) {
  const Particles& p = snapshot.particles;
  std::size_t next = 0;
  for (std::size_t k = 0; k < sums.size(); ++k)
    for (; next < seen.order.size() && seen.radius[next] <= edges[k + 1]; ++next) {
      const std::size_t i = seen.order[next];
      const double weight = by_mass ? p.mass[i] : 1;
      if (weight > 0)
        sums[k].add(p.mass[i], weight, place_from(snapshot, i, center.place),
                    velocity_from(snapshot, i, center.velocity));
    }
}

// In an expanding universe with the Hubble flow of each shell beside its velocities.
std::vector<ProfileShell> shells_from(const AnalysisSnapshot& frame, const std::vector<ShellSums>& sums,
                                      const std::vector<double>& edges) {
  const double flow = expansion_of(frame);
  std::vector<ProfileShell> shells;
  double mass_before = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    shells.push_back(shell_of(sums[k], edges[k], edges[k + 1], mass_before, flow));
    mass_before = shells.back().mass_within;
  }
  return shells;
}

std::vector<ProfileShell> profile_of(const AnalysisSnapshot& snapshot, const SystemCenter& center,
                                     const SeenFromCenter& seen, const std::vector<double>& edges, bool by_mass) {
  std::vector<ShellSums> sums(edges.size() - 1);
  add_to_shells(snapshot, center, seen, edges, by_mass, sums);
  return shells_from(snapshot, sums, edges);
}

namespace {

/// `count`: particles of equal effective mass.
struct CountedShell {
  double inner, outer, count;
};

/// For one scale radius: the density at which the expected number equals the found one, and the value to minimise.
struct Likelihood {
  double density = 0;  // particles per volume
  double cash = 0;
};

/// Poisson counts (Cash's statistic) against a halo of this scale radius; the density is that of the best fit.
Likelihood likelihood_of(const std::vector<CountedShell>& shells, double scale) {
  double unit = 0, count = 0, logs = 0;
  for (const CountedShell& shell : shells) {
    const double part = physics::nfw_shell_mass(scale, shell.inner, shell.outer);
    unit += part, count += shell.count;
    if (shell.count > 0) logs += shell.count * std::log(part);
  }
  const double density = count / unit;
  return {density, count - count * std::log(density) - logs};
}

/// The maximum of the likelihood between two logarithms, on a grid, then by golden sections. not_known at an end.
double best_scale(const std::vector<CountedShell>& shells, double low, double high) {
  constexpr int steps = 200, sections = 60;
  const auto cash = [&](double log_scale) { return likelihood_of(shells, std::exp(log_scale)).cash; };
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k <= steps; ++k)
    if (const double found = cash(low + (high - low) * k / steps); found < least) least = found, best = k;
  if (best == 0 || best == steps) return not_known;
  constexpr double golden = 0.6180339887498949;
  double a = low + (high - low) * (best - 1) / steps, b = low + (high - low) * (best + 1) / steps;
  for (int k = 0; k < sections; ++k) {
    const double inner = b - golden * (b - a), outer = a + golden * (b - a);
    (cash(inner) < cash(outer) ? b : a) = cash(inner) < cash(outer) ? outer : inner;
  }
  return std::exp((a + b) / 2);
}

}  // namespace

double NfwFit::density(double inner, double outer) const {
  return scale_density * physics::nfw_shell_mass(scale_radius, inner, outer) / physics::shell_volume(inner, outer);
}

// Shells from the second one on, up to the radius `to`. With fewer than three filled shells nothing is fitted.
NfwFit fit_nfw(const std::vector<ProfileShell>& shells, double to) {
  double mass = 0, mass2 = 0;
  std::vector<CountedShell> counted;
  std::int64_t filled = 0;
  for (std::size_t k = 1; k < shells.size() && shells[k].outer <= to * (1 + 1e-9); ++k) {
    const ProfileShell& shell = shells[k];
    mass += shell.mass;
    mass2 += std::pow(shell.density_error * physics::shell_volume(shell.inner, shell.outer), 2);
    counted.push_back({shell.inner, shell.outer, shell.mass});
    if (shell.mass > 0) ++filled;
  }
  NfwFit fit{not_known, not_known, not_known, static_cast<std::int64_t>(counted.size())};
  if (filled < 3) return fit;
  const double one = mass2 / mass;  // the effective mass of a particle
  for (CountedShell& shell : counted) shell.count /= one;
  fit.scale_radius = best_scale(counted, std::log(counted.front().inner / 10), std::log(counted.back().outer * 10));
  if (std::isnan(fit.scale_radius)) return fit;
  const double per_volume = likelihood_of(counted, fit.scale_radius).density;
  fit.scale_density = one * per_volume;
  fit.chi2 = 0;
  for (const CountedShell& shell : counted) {
    const double expected = per_volume * physics::nfw_shell_mass(fit.scale_radius, shell.inner, shell.outer);
    fit.chi2 += (shell.count - expected) * (shell.count - expected) / expected;
  }
  return fit;
}

namespace {

constexpr std::int64_t usual_shells = 24;

/// The shells of one species about one centre, and the fit to them.
struct ShownProfile {
  std::int64_t group = 0;
  std::string species, name;  // `name` for legends
  std::vector<ProfileShell> shells;
  NfwFit fit;
};

/// One row per shell.
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

struct ProfileFigures {
  Figure density, velocity, dispersion, anisotropy;
};

/// The lines of one profile in all figures.
void draw_profile(const ShownProfile& profile, ProfileFigures& figures) {
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
  figures.density.lines.push_back({name, r, density});
  if (std::isfinite(profile.fit.scale_radius)) figures.density.lines.push_back({"", r, nfw, false, true});
  figures.velocity.lines.push_back({fmt::format("{} radial", name), r, inward});
  figures.velocity.lines.push_back({fmt::format("{} tangential", name), r, turning, false, true});
  figures.dispersion.lines.push_back({fmt::format("{} radial", name), r, radial});
  figures.dispersion.lines.push_back({fmt::format("{} tangential", name), r, tangential, false, true});
  figures.anisotropy.lines.push_back({name, r, beta});
}

/// Findings: the centre, and the sphere of 200 critical densities.
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

/// Findings: the fitted halo.
void say_fit(const AnalysisSnapshot& snapshot, const ShownProfile& profile, double r200c, AnalysisResult& result) {
  const NfwFit& fit = profile.fit;
  if (!std::isfinite(fit.scale_radius)) return;
  const auto name = [&profile](const char* what) { return fmt::format("{} of {} (NFW)", what, profile.name); };
  result.findings.push_back({name("r_s"), snapshot.units.length, fit.scale_radius});
  result.findings.push_back({name("rho_s"), snapshot.units.density(), fit.scale_density});
  result.findings.push_back({name(fmt::format("chi2 of {} shells", fit.shells).c_str()), "", fit.chi2});
  if (r200c > 0) result.findings.push_back({name("r200c/r_s"), "", r200c / fit.scale_radius});
}

/// Table rows, findings and figure lines of all species about one centre.
void add_place(const AnalysisSnapshot& snapshot, const PlaceProfile& profile, const AnalysisOptions& options,
               AnalysisResult& result, ProfileFigures& figures, bool name_times) {
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
    draw_profile(shown, figures);
  }
}

AnalysisResult analyze_profile(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  ProfileFigures figures;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    AnalysisSnapshot snapshot = files.snapshot(k);
    const AnalysisSnapshot frame = frame_of(snapshot);
    const std::int64_t bins = options.bins > 0 ? options.bins : usual_shells;
    for (const PlaceProfile& profile : profiles_in(std::move(snapshot), options, bins, device, files.ranks))
      add_place(frame, profile, options, result, figures, files.names.size() > 1);
    units = frame.units;
  }
  const auto label = [&units](Figure& figure, const char* title, const char* y, const std::string& unit, bool log) {
    figure.title = title;
    figure.x_label = "radius", figure.x_unit = units.length, figure.x_log = true;
    figure.y_label = y, figure.y_unit = unit, figure.y_log = log;
  };
  label(figures.density, "Density", "density", units.density(), true);
  label(figures.velocity, "Mean velocity", "v", units.velocity, false);
  label(figures.dispersion, "Velocity dispersion", "σ", units.velocity, false);
  label(figures.anisotropy, "Anisotropy", "β", "", false);
  result.figures = {figures.density, figures.velocity, figures.dispersion, figures.anisotropy};
  return result;
}

}  // namespace

AnalysisEntry profile_entry() {
  std::vector<Key<AnalysisOptions>> keys{
      bins_key(usual_shells),
      with_dimension(low_key("inner radius of the shells; 0: found from the particles"), dimension::length),
      with_dimension(
          high_key(
              "outer radius of the shells; 0: found from the particles, of a group 2 r200m or the farthest member"),
          dimension::length),
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
          .analyze = analyze_profile};
}

}  // namespace pergola

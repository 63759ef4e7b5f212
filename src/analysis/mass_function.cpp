#include "analysis/mass_function.hpp"
#include "analysis/centers.hpp"
#include "analysis/groups.hpp"
#include "analysis/spread_groups.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "physics/cosmology.hpp"
#include "physics/halos.hpp"
#include "physics/numerics.hpp"
#include "physics/power_spectrum.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

// Masses of groups are counted in bins of equal width in the logarithm. The upper edge of the last bin is slightly
// above the largest mass, so that this group is counted. Errors are Poisson errors.
namespace pergola {

ExpectedHalos::ExpectedHalos(const AnalysisUniverse& universe, double mean_density, const physics::LinearPower& power)
    : universe_(universe),
      mean_density_(mean_density),
      power_(power),
      growth_(physics::growth_at(universe.cosmology.background(1), universe.scale_factor).d1) {}

/// Number per volume and logarithm of mass, in the units of the file; power and radius are in Mpc/h.
template <class Multiplicity>
double ExpectedHalos::of(double mass, const Multiplicity& multiplicity) const {
  const double unit = universe_.length_mpc_h, radius = unit * physics::lagrangian_radius(mass, mean_density_);
  return physics::halos_per_log_mass(power_, radius, growth_, multiplicity) * unit * unit * unit;
}

double ExpectedHalos::sheth_tormen(double mass) const { return of(mass, physics::sheth_tormen_multiplicity); }

double ExpectedHalos::tinker(double mass) const {
  return of(mass, [z = 1 / universe_.scale_factor - 1](double sigma) {
    return physics::tinker_multiplicity(sigma, std::max(z, 0.0));
  });
}

// The integral over ln mass, in pieces of at most one e-fold.
double ExpectedHalos::tinker_between(double low, double high) const {
  const double length = std::log(high / low);
  const int pieces = std::max(1, static_cast<int>(std::ceil(length)));
  double sum = 0;
  for (int piece = 0; piece < pieces; ++piece)
    sum += physics::gauss_legendre([&](double log_mass) { return tinker(low * std::exp(log_mass)); },
                                   length * piece / pieces, length * (piece + 1) / pieces);
  return sum;
}

namespace {

constexpr std::int64_t usual_mass_bins = 16;

/// Masses in ascending order.
std::vector<double> masses_of_groups(const AnalysisFiles& files, AnalysisSnapshot snapshot,
                                     const AnalysisOptions& options, const Device& device) {
  std::vector<double> masses;
  if (files.ranks->size() > 1) {
    masses = DistributedGroups(files.ranks, std::move(snapshot), options, device).masses();
  } else {
    const AnalysisSnapshot chosen = chosen_species(std::move(snapshot), options);
    masses = FoundGroups(chosen, options, device).masses();
  }
  std::sort(masses.begin(), masses.end());
  return masses;
}

/// The theory for this box; none if the universe of the box or its waves are not known (from the run beside the file,
/// or from options). `mass`: of all particles.
std::optional<ExpectedHalos> expected_halos(const AnalysisSnapshot& snapshot, const AnalysisOptions& options,
                                            double mass) {
  if (!snapshot.universe || !snapshot.box.periodic()) {
    if (options.sigma8 > 0)
      throw Error(ErrorKind::input,
                  fmt::format("{}: --sigma8: expected a cosmological box (Omega0, Time and units in the header), "
                              "found none",
                              snapshot.name));
    return std::nullopt;
  }
  AnalysisUniverse universe = *snapshot.universe;
  const double mean = mass / snapshot.box.volume();
  const bool stated = options.sigma8 > 0 || options.n_s || options.omega_baryon;
  if (!(options.sigma8 > 0) && !universe.waves) return std::nullopt;
  if (!stated) return ExpectedHalos(universe, mean, *universe.waves);
  if (options.sigma8 > 0) universe.cosmology.sigma8 = options.sigma8;
  universe.cosmology.n_s = options.n_s.value_or(universe.cosmology.n_s);
  universe.cosmology.omega_baryon = options.omega_baryon.value_or(universe.cosmology.omega_baryon);
  return ExpectedHalos(universe, mean, physics::eisenstein_hu_power(universe.cosmology));
}

/// Where the power behind it comes from.
std::string theory_text(const AnalysisSnapshot& snapshot, const AnalysisOptions& options) {
  const bool stated = options.sigma8 > 0 || options.n_s || options.omega_baryon;
  return stated ? "Eisenstein & Hu 1998 with the options given" : snapshot.universe->waves_from;
}

/// One row per bin. `masses` ascend.
void add_mass_bins(const AnalysisSnapshot& snapshot, const std::vector<double>& masses, std::int64_t bins,
                   const std::optional<ExpectedHalos>& expected, bool with_theory, Table& table) {
  const AnalysisUnits& units = snapshot.units;
  const double volume = snapshot.box.periodic() ? snapshot.box.volume() : not_known;
  const std::string per_volume = units.length.empty() ? "" : fmt::format("1/({})^3", units.length);
  const double low = masses.front(), high = masses.back() * (1 + 1e-9), ratio = std::max(high / low, 1 + 1e-6);
  for (std::int64_t b = 0; b < bins; ++b) {
    const auto edge = [&](std::int64_t k) {
      return low * std::pow(ratio, static_cast<double>(k) / static_cast<double>(bins));
    };
    const double from = edge(b), to = b + 1 == bins ? low * ratio : edge(b + 1);
    const auto at = [&](double mass) { return std::lower_bound(masses.begin(), masses.end(), mass); };
    const auto count = static_cast<double>(at(to) - at(from)), above = static_cast<double>(masses.end() - at(from));
    const double width = std::log(to / from);
    table.add("time", units.time, snapshot.time);
    table.add("mass_low", units.mass, from);
    table.add("mass_high", units.mass, to);
    table.add("groups", "", count);
    table.add("groups_error", "", std::sqrt(count));
    table.add("dn_dlnM", per_volume, count / (volume * width));
    table.add("dn_dlnM_error", per_volume, std::sqrt(count) / (volume * width));
    table.add("n_above", per_volume, above / volume);
    if (!with_theory) continue;
    const double mass = std::sqrt(from * to);
    table.add("sheth_tormen", per_volume, expected ? expected->sheth_tormen(mass) : not_known);
    table.add("tinker", per_volume, expected ? expected->tinker(mass) : not_known);
  }
}

/// One file after the other; the first one decides whether there are columns of theory.
AnalysisResult analyze_mass_function(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  AnalysisUnits units;
  Figure figure{"Mass function of groups", "mass", "", "groups in the bin", "", true, true, {}};
  bool with_theory = false;  // the first file decides whether the table has these columns
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    AnalysisSnapshot whole = files.snapshot(k);
    const AnalysisSnapshot snapshot = frame_of(whole);
    const auto expected = expected_halos(snapshot, options, total_mass(whole, device.threads(), *files.ranks));
    if (k == 0) with_theory = expected.has_value();
    const auto masses = masses_of_groups(files, std::move(whole), options, device);
    if (masses.empty() || !(masses.front() > 0))
      throw Error(ErrorKind::input, fmt::format("{}: expected groups of at least {} particles with mass, found none",
                                                snapshot.name, options.least));
    const std::size_t before = result.table.rows();
    add_mass_bins(snapshot, masses, options.bins > 0 ? options.bins : usual_mass_bins, expected, with_theory,
                  result.table);
    FigureLine line{files.names.size() > 1 ? snapshot.moment : "", {}, {}, true};
    for (std::size_t row = before; row < result.table.rows(); ++row) {
      line.x.push_back(std::sqrt(result.table.numbers("mass_low")[row] * result.table.numbers("mass_high")[row]));
      line.y.push_back(result.table.numbers("groups")[row]);
    }
    figure.lines.push_back(line);
    for (const char* theory : {"sheth_tormen", "tinker"}) {
      if (!expected || !with_theory) continue;
      const bool is_tinker = theory == std::string("tinker");
      FigureLine beside{is_tinker ? "Tinker 2008" : "Sheth-Tormen", line.x, {}, false, is_tinker};
      for (std::size_t row = before; row < result.table.rows(); ++row)
        beside.y.push_back(result.table.numbers(theory)[row] * snapshot.box.volume() *
                           std::log(result.table.numbers("mass_high")[row] / result.table.numbers("mass_low")[row]));
      figure.lines.push_back(beside);
    }
    figure.x_unit = snapshot.units.mass;
    result.findings.push_back({"groups", "", static_cast<double>(masses.size())});
    if (expected) result.findings.push_back({"linear theory", "", theory_text(snapshot, options)});
  }
  result.figures.push_back(figure);
  return result;
}

/// A key for a parameter of the waves. If it is not given, the run or the file decides.
Key<AnalysisOptions> wave_key(const std::string& name, const std::string& help, const Range& range,
                              std::optional<double> AnalysisOptions::*place, double otherwise) {
  return {name, help,
          [=](AnalysisOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto number = number_of(value);
            if (!number || !range.contains(*number)) return KeyProblem{range.text(), {}};
            options.*place = *number;
            return std::nullopt;
          },
          [=](const AnalysisOptions& options) -> KeyValue {
            if (const auto& given = options.*place) return *given;
            return fmt::format("as the run or the file says, else {}", to_text(otherwise));
          }};
}

}  // namespace

AnalysisEntry mass_function_entry() {
  auto keys = group_keys();
  keys.push_back(bins_key(usual_mass_bins));
  keys.push_back(species_key());
  keys.push_back(real_option<AnalysisOptions>(
      "sigma8", "of linear theory, for files without their run beside them; 0: as the run says", Range::at_least(0),
      [](auto& options) -> auto& { return options.sigma8; }));
  const physics::Cosmology usual;
  keys.push_back(wave_key("n-s", "slope of the primordial power spectrum", Range::between(-3, 10),
                          &AnalysisOptions::n_s, usual.n_s));
  keys.push_back(wave_key("omega-baryon", "the baryons in Omega0", Range::between(0, 10),
                          &AnalysisOptions::omega_baryon, usual.omega_baryon));
  return {
      .name = "mass-function",
      .help = "How many friends-of-friends groups there are of which mass",
      .details =
          "One line per bin, equal in the logarithm of the mass. Columns: time, mass_low, mass_high, groups "
          "with their counting error, dn_dlnM (number per volume and logarithm of mass) with its error, "
          "n_above (number per volume of at least mass_low); per volume only in a periodic box, else nan. Where the "
          "universe of the box is known (its run beside it, with the linear theory that it began with, or --sigma8): "
          "what Sheth & Tormen 1999 and, for spheres of 200 mean densities, Tinker et al. 2008 expect for dn_dlnM in "
          "the middle of the bin.",
      .example = "box.hdf5 --linking 0.2 --least 32 -o mass-function.csv --plot mass-function.png",
      .needs = AnalysisNeeds::particles,
      .span = AnalysisSpan::last_moment,
      .periodic_only = true,
      .by_ranks = true,
      .keys = keys,
      .analyze = analyze_mass_function};
}

}  // namespace pergola

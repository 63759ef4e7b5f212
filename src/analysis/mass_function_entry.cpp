#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/centers.hpp"
#include "analysis/found_groups.hpp"
#include "base/error.hpp"

namespace pergola {

namespace {

constexpr std::int64_t usual_bins = 16;

std::vector<double> masses_of(const AnalysisSnapshot& snapshot, const FriendGroups& friends) {
  std::vector<double> masses;
  for (const auto& group : friends.groups) {
    double mass = 0;
    for (const std::size_t i : group) mass += snapshot.particles.mass[i];
    masses.push_back(mass);
  }
  std::sort(masses.begin(), masses.end());
  return masses;
}

void add_bins(const AnalysisSnapshot& snapshot, const std::vector<double>& masses, std::int64_t bins, Table& table) {
  const AnalysisUnits& units = snapshot.units;
  const double volume = snapshot.box.periodic() ? snapshot.box.volume() : std::numeric_limits<double>::quiet_NaN();
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
  }
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  AnalysisUnits units;
  Figure figure{"Mass function of groups", "mass", "", "groups in the bin", "", true, true, {}};
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisSnapshot snapshot = chosen_species(files.snapshot(k), options);
    const FoundGroups found = find_groups(snapshot, options, device);
    const auto masses = masses_of(snapshot, found.friends);
    if (masses.empty() || !(masses.front() > 0))
      throw Error(ErrorKind::input, fmt::format("{}: expected groups of at least {} particles with mass, found none",
                                                snapshot.name, options.least));
    const std::size_t before = result.table.rows();
    add_bins(snapshot, masses, options.bins > 0 ? options.bins : usual_bins, result.table);
    FigureLine line{files.names.size() > 1 ? snapshot.moment : "", {}, {}, true};
    for (std::size_t row = before; row < result.table.rows(); ++row) {
      line.x.push_back(std::sqrt(result.table.numbers("mass_low")[row] * result.table.numbers("mass_high")[row]));
      line.y.push_back(result.table.numbers("groups")[row]);
    }
    figure.lines.push_back(line);
    figure.x_unit = snapshot.units.mass;
    result.findings.push_back({"groups", "", static_cast<double>(masses.size())});
  }
  result.figures.push_back(figure);
  return result;
}

}  // namespace

AnalysisEntry mass_function_entry() {
  auto keys = group_keys();
  keys.push_back(bins_key(usual_bins));
  keys.push_back(species_key());
  return {.name = "mass-function",
          .help = "How many friends-of-friends groups there are of which mass",
          .details =
              "One line per bin, equal in the logarithm of the mass. Columns: time, mass_low, mass_high, groups "
              "with their counting error, dn_dlnM (number per volume and logarithm of mass) with its error, "
              "n_above (number per volume of at least mass_low); per volume only in a periodic box, else nan.",
          .example = "box.hdf5 --linking 0.2 --least 32 -o mass-function.csv --plot mass-function.png",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::last_moment,
          .keys = keys,
          .analyze = analyze};
}

}  // namespace pergola

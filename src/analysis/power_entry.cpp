#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "analysis/power_spectrum.hpp"
#include "base/error.hpp"
#include "physics/cosmology.hpp"
#include "physics/power_spectrum.hpp"

namespace pergola {

namespace {

int cells_for(const AnalysisOptions& options, std::int64_t particles) {
  return options.cells > 0 ? static_cast<int>(options.cells) : usual_power_cells(particles);
}

Key<AnalysisOptions> cells_key() {
  constexpr int most = 2048;
  Key<AnalysisOptions> key = integer_option<AnalysisOptions>(
      "cells", "cells of the mesh per side, a multiple of 8; 0: two per particle and axis, 32 to 256",
      Range::between(0, most), [](auto& options) -> auto& { return options.cells; });
  const std::string expected = fmt::format("a multiple of 8 from 0 to {}", most);
  key.take = [expected, take = key.take](AnalysisOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
    if (take(options, value) || options.cells % 8 != 0) return KeyProblem{expected, {}};
    return std::nullopt;
  };
  return key;
}

/// The linear power of a box whose waves are known from its run, at its time and in its lengths.
std::optional<std::function<double(double)>> linear_power_of(const AnalysisSnapshot& snapshot) {
  const auto& universe = snapshot.universe;
  if (!universe || !universe->knows_waves) return std::nullopt;
  const double unit = universe->length_mpc_h;
  const double growth = physics::growth_at(universe->cosmology.background(1), universe->scale_factor).d1;
  return [=, power = physics::eisenstein_hu_power(universe->cosmology)](double k) {
    return growth * growth * power(k / unit) / (unit * unit * unit);
  };
}

/// `taken_off`: of every power.
void add_bins(const AnalysisSnapshot& snapshot, const PowerSpectrum& spectrum, double taken_off, Table& table) {
  const AnalysisUnits& units = snapshot.units;
  const std::string k_unit = units.length.empty() ? "" : fmt::format("1/({})", units.length);
  const std::string p_unit = units.length.empty() ? "" : fmt::format("({})^3", units.length);
  for (const PowerBin& bin : spectrum.bins) {
    table.add("time", units.time, snapshot.time);
    table.add("k", k_unit, bin.k);
    table.add("modes", "", static_cast<double>(bin.modes));
    table.add("power", p_unit, bin.power - taken_off);
    table.add("error", p_unit, bin.error);
    table.add("shot_noise", p_unit, spectrum.shot_noise);
    table.add("taken_off", p_unit, taken_off);
    table.add("power_per_log", "", physics::power_per_log(bin.k, bin.power - taken_off));
    table.add("fold", "", bin.fold);
  }
}

/// A snapshot, perhaps without its particles, and what was measured of them: where they live, if they do.
struct MeasuredBox {
  AnalysisSnapshot snapshot;
  PowerSpectrum spectrum;
  int cells = 0;
};

void require_periodic(const AnalysisSnapshot& snapshot) {
  if (!snapshot.box.periodic())
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a periodic box (BoxSize above 0), found an isolated system", snapshot.name));
}

MeasuredBox measure(const AnalysisFiles& files, std::size_t number, const AnalysisOptions& options,
                    const Device& device) {
  const int folds = static_cast<int>(options.folds);
  const auto cells_of = [&](std::int64_t own) {
    files.ranks->all_reduce(&own, 1, Reduction::sum);
    return cells_for(options, own);
  };
  MeasuredBox found;
  if (files.shown && options.species == "all") {
    found.snapshot = files.frame(number);
    require_periodic(found.snapshot);
    const auto shown = files.shown(number);
    found.cells = cells_of(shown->count());
    found.spectrum = power_spectrum(*shown, found.snapshot.box, found.cells, folds, files.ranks);
  } else {
    found.snapshot = chosen_species(files.snapshot(number), options, files.ranks);
    require_periodic(found.snapshot);
    const Particles& particles = found.snapshot.particles;
    found.cells = cells_of(particles.size());
    found.spectrum = power_spectrum(particles, found.snapshot.box, found.cells, folds, device, files.ranks);
  }
  if (!std::isfinite(found.spectrum.shot_noise))
    throw Error(ErrorKind::input, fmt::format("{}: expected particles with mass, found none", found.snapshot.name));
  return found;
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  Figure figure{"Power spectrum", "k", "", "P(k)", "", true, true, {}};
  for (std::size_t f = 0; f < files.names.size(); ++f) {
    const auto [snapshot, spectrum, cells] = measure(files, f, options, device);
    const double taken_off = options.shot_noise == "subtract" ? spectrum.shot_noise : 0;
    add_bins(snapshot, spectrum, taken_off, result.table);
    FigureLine line{files.names.size() > 1 ? snapshot.moment : "P(k)", {}, {}};
    for (const PowerBin& bin : spectrum.bins) line.x.push_back(bin.k), line.y.push_back(bin.power - taken_off);
    figure.lines.push_back(line);
    if (const auto linear = linear_power_of(snapshot)) {
      FigureLine theory{files.names.size() > 1 ? "" : "linear theory", line.x, {}, false, true};
      for (const double k : line.x) theory.y.push_back((*linear)(k));
      figure.lines.push_back(theory);
    }
    if (f + 1 == files.names.size())
      figure.lines.push_back(
          {"shot noise", {line.x.front(), line.x.back()}, {spectrum.shot_noise, spectrum.shot_noise}, false, true});
    const std::string& length = snapshot.units.length;
    figure.x_unit = length.empty() ? "" : fmt::format("1/({})", length);
    figure.y_unit = length.empty() ? "" : fmt::format("({})^3", length);
    result.findings.push_back({"cells per side", "", static_cast<double>(cells)});
    result.findings.push_back({"shot noise", "", std::string(taken_off > 0 ? "taken off" : "not taken off")});
  }
  result.figures.push_back(figure);
  return result;
}

}  // namespace

AnalysisEntry power_entry() {
  return {.name = "power",
          .help = "Power spectrum of a periodic box",
          .details =
              "Mass is put on two interlaced meshes by triangular clouds, and the clouds' window is divided out. A "
              "mesh is used up to half its Nyquist wave number; beyond, the box is folded onto half its side "
              "(--folds times). Columns: time, k, modes (k and -k are two), power, error (of a Gaussian field, from "
              "the modes), shot_noise (that of points at random, V sum m^2 / (sum m)^2), taken_off (what power lacks "
              "of it: 0, or with --shot-noise subtract all), power_per_log (k^3 P / 2 pi^2), fold. Particles that "
              "began on a lattice or a glass have no such noise until they have moved a few spacings: taken off "
              "before, it leaves less than nothing. The plot has linear theory (Eisenstein & Hu 1998) beside it where "
              "the run beside the file says which waves it began with.",
          .example = "box.hdf5 --cells 256 -o power.csv --plot power.png",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::last_moment,
          .periodic_only = true,
          .by_ranks = true,
          .keys = {cells_key(),
                   integer_option<AnalysisOptions>(
                       "folds", "how often the box is folded for higher wave numbers", Range::between(0, 16),
                       [](auto& options) -> auto& { return options.folds; }),
                   word_option<AnalysisOptions>(
                       "shot-noise", "keep | subtract: what is done with that of points at random",
                       {"keep", "subtract"}, [](auto& options) -> auto& { return options.shot_noise; }),
                   species_key()},
          .analyze = analyze};
}

}  // namespace pergola

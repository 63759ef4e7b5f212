// Pictures of openPMD files for `picture` and `movie`: see plasma_pictures.hpp.
//
// Phase space: two coordinates of the chosen species are read, weighted and binned (picture/plasma_plots.hpp). Fields:
// one mesh is read; of three dimensions the slice in the middle of --axis is drawn.
#include "app/plasma_pictures.hpp"
#include "app/run_files.hpp"
#include "base/error.hpp"
#include "io/openpmd.hpp"
#include "picture/colormap.hpp"
#include "picture/plot.hpp"
#include "sim/unit_text.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

namespace pergola::app {

namespace {

const std::vector<std::string> coordinates{"x", "y", "z", "vx", "vy", "vz"};

/// The unit of a coordinate as pictures write it.
std::string unit_of(const std::string& coordinate, const OpenPmdSummary& summary) {
  return drawn_unit(coordinate.starts_with("v") ? summary.velocity_unit() : summary.length_unit);
}

/// The two coordinates of --phase. Throws Error(input) for equal or unknown ones.
std::pair<std::string, std::string> parse_phase(const std::string& text) {
  const auto comma = text.find(',');
  const auto known = [](const std::string& name) {
    return std::count(coordinates.begin(), coordinates.end(), name) > 0;
  };
  if (comma == std::string::npos || !known(text.substr(0, comma)) || !known(text.substr(comma + 1)) ||
      text.substr(0, comma) == text.substr(comma + 1))
    throw Error(ErrorKind::input, fmt::format("--phase: expected two of {} such as x,vx, found \"{}\"",
                                              fmt::join(coordinates, ", "), text));
  return {text.substr(0, comma), text.substr(comma + 1)};
}

/// The species of --species by their names in the file, in the order of the option; all without it.
std::vector<OpenPmdSummary::Species> chosen_species(const PictureOptions& options, const std::string& file,
                                                    const OpenPmdSummary& summary) {
  if (options.species.empty()) return summary.species;
  std::vector<OpenPmdSummary::Species> chosen;
  std::vector<std::string> names;
  for (const auto& species : summary.species) names.push_back(species.name);
  for (const auto& name : options.species) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw Error(
          ErrorKind::input,
          fmt::format("{}: --species: expected {}, found {}", file,
                      names.empty() ? "a file with particles" : fmt::format("{}", fmt::join(names, ", ")), name));
    chosen.push_back(summary.species[static_cast<std::size_t>(found - names.begin())]);
  }
  return chosen;
}

std::string title_of(const PictureOptions& options, const std::string& file, const std::string& what,
                     const OpenPmdSummary& summary) {
  if (options.no_legend) return "";
  if (options.title_given) return options.title;
  return fmt::format("{} · {} · {}", std::filesystem::path(file).filename().string(), what, time_text(summary));
}

/// Particles of all chosen species as one cloud. A periodic coordinate has its period, so that the plot ends at the
/// sides.
PhaseSpace phase_space(const PictureOptions& options, const std::string& file, const OpenPmdSummary& summary,
                       int threads) {
  const auto [across, up] = parse_phase(options.phase.empty() ? "x,vx" : options.phase);
  const auto species = chosen_species(options, file, summary);
  for (const auto& name : {across, up})
    if (!species.empty() && std::all_of(species.begin(), species.end(), [&](const OpenPmdSummary::Species& one) {
          return is_constant_openpmd_coordinate(file, one.name, name);
        }))
      throw Error(ErrorKind::input,
                  fmt::format("{}: --phase: expected coordinates that each particle has, found {}, one value for all "
                              "(a plasma in a plane does not move across it)",
                              file, name));
  PhaseSpace particles;
  std::vector<std::string> names;
  for (const auto& one : species) {
    const auto first = read_openpmd_coordinate(file, one.name, across);
    const auto second = read_openpmd_coordinate(file, one.name, up);
    particles.across.insert(particles.across.end(), first.begin(), first.end());
    particles.up.insert(particles.up.end(), second.begin(), second.end());
    // Weights relative to the first species.
    const double weight = one.weighting / species[0].weighting;
    particles.weights.insert(particles.weights.end(), first.size(), std::isfinite(weight) && weight > 0 ? weight : 1.0);
    names.push_back(one.name);
    if (options.by_species()) particles.species.push_back({one.name, first.size()});
  }
  particles.equal_scales = across.starts_with("v") && up.starts_with("v");
  const auto axis =
      static_cast<std::size_t>(std::find(coordinates.begin(), coordinates.end(), across) - coordinates.begin());
  if (axis < summary.cells.size()) particles.period = static_cast<double>(summary.cells[axis]) * summary.spacing[axis];
  const auto label = [](const std::string& name) {
    return name.size() == 2 ? fmt::format("v_{{{}}}", name.substr(1)) : name;
  };
  const std::string across_unit = unit_of(across, summary), up_unit = unit_of(up, summary);
  particles.across_label = label_with_unit(label(across), across_unit);
  particles.up_label = label_with_unit(label(up), up_unit);
  if (!across_unit.empty()) particles.density_label = fmt::format("particles per {} × {}", across_unit, up_unit);
  particles.title = title_of(options, file, fmt::format("{}", fmt::join(names, ", ")), summary);
  if (!options.colormap.empty()) particles.colormap = options.colormap;
  particles.threads = threads;
  particles.color_limits = options.range_given();
  if (particles.color_limits && !(particles.color_limits->first > 0))
    throw Error(
        ErrorKind::input,
        fmt::format("--range: expected densities above 0, whose logarithm is shown, found \"{}\"", options.range));
  return particles;
}

/// The axis of the colours that pictures share.
Axis shared_bar(const std::string& label, bool log, const PlasmaRanges& ranges) {
  Axis axis{label, log, {}, {}};
  if (ranges.colors) axis.low = ranges.colors->first, axis.high = ranges.colors->second;
  return axis;
}

/// Ranges of a series replace those of the file.
PlasmaPicture phase_picture(const PictureOptions& options, const std::string& file, const OpenPmdSummary& summary,
                            const PlasmaRanges& ranges, int threads, bool bar) {
  PhaseSpace particles = phase_space(options, file, summary, threads);
  particles.bar = bar;
  particles.across_limits = ranges.across, particles.up_limits = ranges.up;
  if (ranges.colors) particles.color_limits = ranges.colors;
  auto names = nlohmann::json::array();
  for (const auto& one : chosen_species(options, file, summary)) names.push_back(one.name);
  const auto [across, up] = parse_phase(options.phase.empty() ? "x,vx" : options.phase);
  return {plot_phase_space(particles, options.pixels),
          {{"phase", {across, up}}, {"species", names}, {"particles", particles.across.size()}, {"time", summary.time}},
          shared_bar(particles.density_label, true, ranges),
          particles.colormap};
}

/// "Ex" → "E/x"; the record and its mesh.
std::pair<std::string, const OpenPmdMesh*> find_field(const std::string& name, const std::string& file,
                                                      const OpenPmdSummary& summary) {
  std::vector<std::string> names;
  for (const OpenPmdMesh& mesh : summary.meshes) {
    if (mesh.components.empty()) names.push_back(mesh.name);
    for (const auto& component : mesh.components) names.push_back(mesh.name + component);
    if (mesh.components.empty() && mesh.name == name) return {name, &mesh};
    for (const auto& component : mesh.components)
      if (mesh.name + component == name) return {mesh.name + "/" + component, &mesh};
  }
  throw Error(ErrorKind::input, fmt::format("{}: --field: expected {}, found {}", file, fmt::join(names, ", "), name));
}

/// The plane of cells to draw, row by row. Files store x fastest, then y, then z.
FieldSlice field_slice(const PictureOptions& options, const std::string& name, const std::string& file,
                       const OpenPmdSummary& summary) {
  const auto [record, mesh] = find_field(name, file, summary);
  const std::vector<double> values = read_openpmd_mesh(file, record);
  const bool flat = summary.dimensions == 2;
  const std::size_t normal = flat || options.axis == "z" ? 2 : options.axis == "y" ? 1 : 0;
  const std::size_t across = normal == 0 ? 1 : 0, up = normal == 2 ? 1 : 2;
  const auto cells = [&](std::size_t axis) {
    return axis < summary.cells.size() ? static_cast<std::size_t>(summary.cells[axis]) : 1;
  };
  // The cells are those of the file's first field.
  if (values.empty() || values.size() != cells(0) * cells(1) * cells(2))
    throw Error(ErrorKind::input, fmt::format("{}: --field: expected {} of {} cells, at least one, found {} values",
                                              file, name, fmt::join(summary.cells, " x "), values.size()));
  const std::size_t middle = cells(normal) / 2;
  const std::array<std::size_t, 3> stride{1, cells(0), cells(0) * cells(1)};
  FieldSlice slice;
  slice.columns = static_cast<int>(cells(across));
  slice.rows = static_cast<int>(cells(up));
  for (std::size_t j = 0; j < cells(up); ++j)
    for (std::size_t i = 0; i < cells(across); ++i)
      slice.values.push_back(values[middle * stride[normal] + i * stride[across] + j * stride[up]]);
  slice.width = static_cast<double>(cells(across)) * summary.spacing[across];
  slice.height = static_cast<double>(cells(up)) * summary.spacing[up];
  slice.across_label = label_with_unit(coordinates[across], drawn_unit(summary.length_unit));
  slice.up_label = label_with_unit(coordinates[up], drawn_unit(summary.length_unit));
  const std::string symbol = name == "phi"   ? "φ"
                             : name == "rho" ? "ρ"
                                             : fmt::format("{}_{{{}}}", name[0], name.substr(1));
  slice.value_label = label_with_unit(name.size() == 2 || symbol.size() == 2 ? symbol : name, drawn_unit(mesh->unit));
  slice.title = title_of(options, file, name, summary);
  slice.colormap = options.colormap;
  slice.color_limits = options.range_given();
  return slice;
}

/// One slice, with its extremes for --json.
PlasmaPicture field_picture(const PictureOptions& options, const std::string& name, const std::string& file,
                            const OpenPmdSummary& summary, const PlasmaRanges& ranges, bool bar) {
  FieldSlice slice = field_slice(options, name, file, summary);
  slice.bar = bar;
  if (ranges.colors) {
    slice.color_limits = ranges.colors;
    const bool both_signs = ranges.colors->first < 0 && ranges.colors->second > 0;
    if (slice.colormap.empty()) slice.colormap = both_signs ? diverging_colormap : "magma";
  }
  const std::string unit = find_field(name, file, summary).second->unit;
  const auto [low, high] = std::minmax_element(slice.values.begin(), slice.values.end());
  return {plot_field(slice, options.pixels),
          {{"field", name}, {"unit", unit}, {"min", *low}, {"max", *high}, {"time", summary.time}},
          shared_bar(slice.value_label, false, ranges),
          slice.colormap};
}

/// The field to show; empty: the particles.
std::string field_shown(const PictureOptions& options, const OpenPmdSummary& summary) {
  if (!options.field.empty() && !options.phase.empty())
    throw Error(ErrorKind::input, "--field: expected one of --field and --phase, found both");
  if (!options.field.empty() && options.by_species())
    throw Error(ErrorKind::input,
                "--field: expected a picture of particles with a colour for each species, found both");
  if (!options.field.empty()) return options.field;
  return summary.species.empty() && options.phase.empty() && options.species.empty() ? "phi" : "";
}

/// Makes the limits contain others.
void widen(std::optional<Limits>& limits, const Limits& by) {
  if (!limits) limits = by;
  limits = {std::min(limits->first, by.first), std::max(limits->second, by.second)};
}

}  // namespace

/// A field with both signs gets a range that is symmetric about 0, for a diverging colour map.
PlasmaRanges common_ranges(const PictureOptions& options, const std::vector<std::string>& files, int threads) {
  PlasmaRanges ranges;
  for (const auto& file : spread_over(files)) {
    const OpenPmdSummary summary = inspect_openpmd(file);
    if (const std::string field = field_shown(options, summary); !field.empty()) {
      const auto slice = field_slice(options, field, file, summary);
      const auto [low, high] = std::minmax_element(slice.values.begin(), slice.values.end());
      const bool both = *low < 0 && *high > 0;
      widen(ranges.colors, slice.color_limits.value_or(both ? Limits{-std::max(-*low, *high), std::max(-*low, *high)}
                                                            : Limits{*low, *high}));
      continue;
    }
    const auto limits = phase_space_limits(phase_space(options, file, summary, threads));
    widen(ranges.across, limits.across);
    widen(ranges.up, limits.up);
    widen(ranges.colors, limits.colors);
  }
  if (ranges.colors && ranges.colors->first == ranges.colors->second) ranges.colors.reset();
  return ranges;
}

PlasmaPicture plasma_picture(const PictureOptions& options, const std::string& file, const PlasmaRanges& ranges,
                             int threads, bool bar) {
  const OpenPmdSummary summary = inspect_openpmd(file);
  const std::string field = field_shown(options, summary);
  return field.empty() ? phase_picture(options, file, summary, ranges, threads, bar)
                       : field_picture(options, field, file, summary, ranges, bar);
}

}  // namespace pergola::app

#include <fmt/core.h>

#include "analysis/analysis.hpp"
#include "analysis/rotation.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

constexpr std::int64_t usual_bins = 20;

struct Panels {
  Figure speeds, dispersions, q;
};

void add_rings(const AnalysisSnapshot& snapshot, const std::vector<DiscRing>& rings, Table& table) {
  const AnalysisUnits& units = snapshot.units;
  for (const DiscRing& ring : rings) {
    table.add("time", units.time, snapshot.time);
    table.add("R_inner", units.length, ring.inner);
    table.add("R_outer", units.length, ring.outer);
    table.add("particles", "", static_cast<double>(ring.particles));
    table.add("surface_density", units.surface_density(), ring.surface_density);
    table.add("rotation", units.velocity, ring.rotation);
    table.add("circular_speed", units.velocity, ring.circular_speed);
    table.add("sigma_R", units.velocity, ring.sigma_radial);
    table.add("sigma_phi", units.velocity, ring.sigma_azimuthal);
    table.add("sigma_z", units.velocity, ring.sigma_vertical);
    table.add("kappa", units.time.empty() ? "" : "1/(" + units.time + ")", ring.kappa);
    table.add("toomre_q", "", ring.toomre_q);
  }
}

void draw(const std::string& name, const std::vector<DiscRing>& rings, Panels& panels) {
  std::vector<double> r, rotation, circular, radial, azimuthal, vertical, q;
  for (const DiscRing& ring : rings) {
    r.push_back((ring.inner + ring.outer) / 2);
    rotation.push_back(ring.rotation), circular.push_back(ring.circular_speed);
    radial.push_back(ring.sigma_radial), azimuthal.push_back(ring.sigma_azimuthal);
    vertical.push_back(ring.sigma_vertical), q.push_back(ring.toomre_q);
  }
  panels.speeds.lines.push_back({name + "circular speed", r, circular});
  panels.speeds.lines.push_back({name + "rotation", r, rotation, false, true});
  panels.dispersions.lines.push_back({name + "σ_{R}", r, radial});
  panels.dispersions.lines.push_back({name + "σ_{φ}", r, azimuthal});
  panels.dispersions.lines.push_back({name + "σ_{z}", r, vertical});
  panels.q.lines.push_back({name + "Q", r, q});
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  Panels panels;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisSnapshot all = files.snapshot(k);
    const AnalysisSnapshot disc = chosen_species(all, options);
    const DiscFrame frame = disc_frame(disc, options, device);
    const double high = options.high > 0 ? options.high : frame.radius[frame.radius.size() * 19 / 20];
    if (!(options.low >= 0) || !(high > options.low))
      throw Error(ErrorKind::input, fmt::format("--from, --to: expected 0 <= from < to, found {} and {}",
                                                to_text(options.low), to_text(high)));
    const auto rings = disc_rings(disc, frame, pull_in(all, disc, options.softening, device), options.low, high,
                                  options.bins > 0 ? options.bins : usual_bins);
    add_rings(disc, rings, result.table);
    draw(files.names.size() > 1 ? disc.moment + ": " : "", rings, panels);
    units = disc.units;
    result.findings.push_back(
        {fmt::format("axis of {}", disc.name), "",
         fmt::format("{}, {}, {}", to_text(frame.axis.x), to_text(frame.axis.y), to_text(frame.axis.z))});
  }
  const auto label = [&units](Figure& figure, const char* title, const char* y, const std::string& unit) {
    figure.title = title;
    figure.x_label = "R", figure.x_unit = units.length, figure.y_label = y, figure.y_unit = unit;
  };
  label(panels.speeds, "Rotation", "speed", units.velocity);
  label(panels.dispersions, "Velocity dispersions", "σ", units.velocity);
  label(panels.q, "Toomre's Q", "Q", "");
  result.figures = {panels.speeds, panels.dispersions, panels.q};
  return result;
}

}  // namespace

AnalysisEntry rotation_entry() {
  return {.name = "rotation",
          .help = "Rotation curve, circular speed, dispersions and Toomre's Q of a disc",
          .details =
              "One line per ring about the axis of the angular momentum. Columns: time, R_inner, R_outer, "
              "particles, surface_density, rotation (mean azimuthal velocity), circular_speed (from the pull of "
              "all particles of the file, with --softening; external potentials are not in a file), sigma_R, "
              "sigma_phi, sigma_z, kappa (epicyclic frequency), toomre_q.",
          .example = "disc/snap_010.hdf5 --species disc --softening 0.05 -o rotation.csv --plot rotation.png",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::last_moment,
          .keys = {bins_key(usual_bins), low_key("inner radius of the rings"),
                   high_key("outer radius of the rings; 0: that of 95 % of the particles"), center_key(), species_key(),
                   softening_key()},
          .analyze = analyze};
}

}  // namespace pergola

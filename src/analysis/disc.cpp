#include "analysis/disc.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "analysis/analysis.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "physics/exponential_disc.hpp"
#include "physics/measures.hpp"

// Rings and bars use particles sorted by distance from the axis. Circular speeds come from the radial part of the
// acceleration, v² = −R·a, averaged over a ring; kappa from the slope of v² between neighbouring rings.
namespace pergola {

namespace {

/// Angular momentum about the centre, summed from the nearest particle on.
Vec3<double> spin_of(const AnalysisSnapshot& snapshot, const SystemCenter& center) {
  Vec3<double> spin{0, 0, 0};
  for (const std::size_t i : seen_from(snapshot, center.place).order)
    spin = spin + snapshot.particles.mass[i] *
                      cross(place_from(snapshot, i, center.place), velocity_from(snapshot, i, center.velocity));
  return spin;
}

/// Two directions across the axis; x and y if the axis is z.
void set_directions(DiscFrame& frame) {
  const Vec3<double> x{1, 0, 0}, y{0, 1, 0};
  const Vec3<double> start = std::abs(frame.axis.x) < 0.9 ? x : y;
  const Vec3<double> across = start - dot(start, frame.axis) * frame.axis;
  frame.first = (1 / std::sqrt(dot(across, across))) * across;
  frame.second = cross(frame.axis, frame.first);
}

}  // namespace

double DiscFrame::radial_part(std::size_t k, const Vec3<double>& vector) const {
  return radius[k] > 0 ? (x[k] * dot(vector, first) + y[k] * dot(vector, second)) / radius[k] : 0;
}

// Steps: (1) the centre, (2) the axis of the angular momentum, (3) positions in the plane across it, (4) particles by
// distance from the axis, equal ones by id, (5) velocities along the radius, around the axis and along it.
DiscFrame disc_frame(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device) {
  const Particles& p = snapshot.particles;
  DiscFrame frame;
  frame.center = find_center(snapshot, options, device);
  const Vec3<double> spin = spin_of(snapshot, frame.center);
  const double size = std::sqrt(dot(spin, spin));
  if (!(size > 0))
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a disc that turns, found particles without angular momentum", snapshot.name));
  frame.axis = (1 / size) * spin;
  set_directions(frame);
  const std::size_t n = p.id.size();
  std::vector<double> x(n), y(n), radius(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3<double> d = place_from(snapshot, i, frame.center.place);
    x[i] = dot(d, frame.first), y[i] = dot(d, frame.second), radius[i] = std::hypot(x[i], y[i]);
  }
  frame.order.resize(n);
  std::iota(frame.order.begin(), frame.order.end(), std::size_t{0});
  std::sort(frame.order.begin(), frame.order.end(), [&](std::size_t a, std::size_t b) {
    return radius[a] != radius[b] ? radius[a] < radius[b] : p.id[a] < p.id[b];
  });
  for (const std::size_t i : frame.order) {
    const Vec3<double> v = velocity_from(snapshot, i, frame.center.velocity);
    const double vx = dot(v, frame.first), vy = dot(v, frame.second), r = radius[i];
    frame.radius.push_back(r), frame.x.push_back(x[i]), frame.y.push_back(y[i]);
    frame.v_radial.push_back(r > 0 ? (x[i] * vx + y[i] * vy) / r : 0);
    frame.v_azimuthal.push_back(r > 0 ? (x[i] * vy - y[i] * vx) / r : 0);
    frame.v_vertical.push_back(dot(v, frame.axis));
  }
  return frame;
}

namespace {

/// Index 0: radial, 1: azimuthal, 2: vertical. Sums are weighted by mass.
struct RingSums {
  std::int64_t count = 0;
  double mass = 0, speed2 = 0;
  double first[3] = {}, second[3] = {};

  double mean(int k) const { return first[k] / mass; }
  double sigma(int k) const {
    return count > 1 ? std::sqrt(std::max(0.0, second[k] / mass - mean(k) * mean(k))) : not_known;
  }
};

/// The slope of v² between the neighbours of a ring that have particles.
double slope_at(const std::vector<DiscRing>& rings, std::size_t k) {
  const auto middle = [&](std::size_t i) { return (rings[i].inner + rings[i].outer) / 2; };
  const auto speed2 = [&](std::size_t i) { return rings[i].circular_speed * rings[i].circular_speed; };
  const std::size_t before = k > 0 ? k - 1 : k, after = k + 1 < rings.size() ? k + 1 : k;
  return after > before ? (speed2(after) - speed2(before)) / (middle(after) - middle(before)) : not_known;
}

}  // namespace

// Rings have equal widths between `low` and `high`. First sums of all rings, then kappa and Q, which need neighbours.
std::vector<DiscRing> disc_rings(const AnalysisSnapshot& snapshot, const DiscFrame& frame,
                                 const std::vector<Vec3<double>>& pull, double low, double high, std::int64_t bins) {
  std::vector<DiscRing> rings;
  std::size_t next = 0;
  while (next < frame.radius.size() && frame.radius[next] < low) ++next;
  for (std::int64_t b = 0; b < bins; ++b) {
    const double width = (high - low) / static_cast<double>(bins);
    DiscRing ring;
    ring.inner = low + width * static_cast<double>(b);
    ring.outer = b + 1 == bins ? high : low + width * static_cast<double>(b + 1);
    RingSums sums;
    for (; next < frame.radius.size() && frame.radius[next] <= ring.outer; ++next) {
      const std::size_t i = frame.order[next];
      const double m = snapshot.particles.mass[i];
      const double v[3] = {frame.v_radial[next], frame.v_azimuthal[next], frame.v_vertical[next]};
      ++sums.count;
      sums.mass += m;
      sums.speed2 += m * -frame.radial_part(next, pull[i]) * frame.radius[next];
      for (int k = 0; k < 3; ++k) sums.first[k] += m * v[k], sums.second[k] += m * v[k] * v[k];
    }
    const bool some = sums.mass > 0;
    ring.particles = sums.count;
    ring.surface_density = sums.mass / physics::ring_area(ring.inner, ring.outer);
    ring.rotation = some ? sums.mean(1) : not_known;
    ring.circular_speed = some && sums.speed2 >= 0 ? std::sqrt(sums.speed2 / sums.mass) : not_known;
    ring.sigma_radial = some ? sums.sigma(0) : not_known;
    ring.sigma_azimuthal = some ? sums.sigma(1) : not_known;
    ring.sigma_vertical = some ? sums.sigma(2) : not_known;
    rings.push_back(ring);
  }
  for (std::size_t k = 0; k < rings.size(); ++k) {
    DiscRing& ring = rings[k];
    const double speed2 = ring.circular_speed * ring.circular_speed;
    ring.kappa = std::sqrt(physics::epicyclic_frequency2((ring.inner + ring.outer) / 2, speed2, slope_at(rings, k)));
    ring.toomre_q =
        physics::toomre_q(ring.sigma_radial, ring.kappa, snapshot.gravitational_constant * ring.surface_density);
  }
  return rings;
}

namespace {

/// The outer radius from the options, else `usual`. Throws Error(input) unless 0 <= from < to.
double outer_radius(const AnalysisOptions& options, double usual) {
  const double high = options.high > 0 ? options.high : usual;
  if (!(options.low >= 0) || !(high > options.low))
    throw Error(ErrorKind::input, fmt::format("--from, --to: expected 0 <= from < to, found {} and {}",
                                              to_text(options.low), to_text(high)));
  return high;
}

constexpr std::int64_t usual_rings = 20;

struct RotationFigures {
  Figure speeds, dispersions, q;
};

/// One row per ring.
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

/// One line per ring property in the figures of the analysis `rotation`.
void draw_rings(const std::string& name, const std::vector<DiscRing>& rings, RotationFigures& figures) {
  std::vector<double> r, rotation, circular, radial, azimuthal, vertical, q;
  for (const DiscRing& ring : rings) {
    r.push_back((ring.inner + ring.outer) / 2);
    rotation.push_back(ring.rotation), circular.push_back(ring.circular_speed);
    radial.push_back(ring.sigma_radial), azimuthal.push_back(ring.sigma_azimuthal);
    vertical.push_back(ring.sigma_vertical), q.push_back(ring.toomre_q);
  }
  figures.speeds.lines.push_back({name + "circular speed", r, circular});
  figures.speeds.lines.push_back({name + "rotation", r, rotation, false, true});
  figures.dispersions.lines.push_back({name + "σ_{R}", r, radial});
  figures.dispersions.lines.push_back({name + "σ_{φ}", r, azimuthal});
  figures.dispersions.lines.push_back({name + "σ_{z}", r, vertical});
  figures.q.lines.push_back({name + "Q", r, q});
}

/// Each file: the frame of the chosen disc, the accelerations by all particles of the file, and rings.
AnalysisResult analyze_rotation(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  RotationFigures figures;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisSnapshot all = files.snapshot(k);
    const AnalysisSnapshot disc = chosen_species(all, options);
    const DiscFrame frame = disc_frame(disc, options, device);
    const double high = outer_radius(options, frame.radius[frame.radius.size() * 19 / 20]);
    const auto rings = disc_rings(disc, frame, pull_in(all, disc, options.softening, device), options.low, high,
                                  options.bins > 0 ? options.bins : usual_rings);
    add_rings(disc, rings, result.table);
    draw_rings(files.names.size() > 1 ? disc.moment + ": " : "", rings, figures);
    units = disc.units;
    result.findings.push_back(
        {fmt::format("axis of {}", disc.name), "",
         fmt::format("{}, {}, {}", to_text(frame.axis.x), to_text(frame.axis.y), to_text(frame.axis.z))});
  }
  const auto label = [&units](Figure& figure, const char* title, const char* y, const std::string& unit) {
    figure.title = title;
    figure.x_label = "R", figure.x_unit = units.length, figure.y_label = y, figure.y_unit = unit;
  };
  label(figures.speeds, "Rotation", "speed", units.velocity);
  label(figures.dispersions, "Velocity dispersions", "σ", units.velocity);
  label(figures.q, "Toomre's Q", "Q", "");
  result.figures = {figures.speeds, figures.dispersions, figures.q};
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
          .keys = {bins_key(usual_rings), with_dimension(low_key("inner radius of the rings"), dimension::length),
                   with_dimension(high_key("outer radius of the rings; 0: that of 95 % of the particles"),
                                  dimension::length),
                   center_key(), species_key(), softening_key()},
          .analyze = analyze_rotation};
}

namespace {

constexpr int bar_rings = 12;

/// The phase plus a multiple of π, so that it is nearest to the phase before.
double continued(double phase, double before) {
  return phase + std::numbers::pi * std::round((before - phase) / std::numbers::pi);
}

/// One row: the m = 2 sums over the whole range of radii and over rings, and the turn since the row before.
void add_bar(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device, Table& table) {
  const DiscFrame frame = disc_frame(snapshot, options, device);
  const double high = outer_radius(options, frame.radius[(frame.radius.size() - 1) / 2]);
  physics::BarSums all, ring[bar_rings];
  for (std::size_t k = 0; k < frame.radius.size(); ++k) {
    if (frame.radius[k] < options.low || frame.radius[k] > high) continue;
    const double m = snapshot.particles.mass[frame.order[k]];
    const int place = static_cast<int>(bar_rings * (frame.radius[k] - options.low) / (high - options.low));
    all.add(m, frame.x[k], frame.y[k]);
    ring[std::min(place, bar_rings - 1)].add(m, frame.x[k], frame.y[k]);
  }
  if (!(all.mass > 0))
    throw Error(ErrorKind::input, fmt::format("{}: expected mass between the radii {} and {}, found none",
                                              snapshot.name, to_text(options.low), to_text(high)));
  int best = 0;
  for (int k = 1; k < bar_rings; ++k)
    if (ring[k].strength() > ring[best].strength()) best = k;
  double phase = all.phase();
  double speed = not_known;
  if (table.rows() > 0) {
    const double before = table.numbers("phase").back(), elapsed = snapshot.time - table.numbers("time").back();
    phase = continued(phase, before);
    if (elapsed > 0) speed = (phase - before) / elapsed;
  }
  const AnalysisUnits& units = snapshot.units;
  table.add("time", units.time, snapshot.time);
  table.add("A2", "", all.strength());
  table.add("phase", "rad", phase);
  table.add("pattern_speed", units.time.empty() ? "" : "rad/(" + units.time + ")", speed);
  table.add("A2_max", "", ring[best].strength());
  table.add("R_of_max", units.length, options.low + (best + 0.5) * (high - options.low) / bar_rings);
  table.add("R_outer", units.length, high);
}

/// Through time, one file after the other: the phase continues that of the file before.
AnalysisResult analyze_bar(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisSnapshot snapshot = chosen_species(files.snapshot(k), options);
    add_bar(snapshot, options, device, result.table);
    units = snapshot.units;
  }
  const Table& table = result.table;
  const bool points = table.rows() == 1;
  const auto& time = table.numbers("time");
  result.findings.push_back({"A2 at the end", "", table.numbers("A2").back()});
  Figure strength{"Strength of the bar", "time", units.time, "A_{2}/A_{0}", "", false, false, {}};
  strength.lines = {{"whole", time, table.numbers("A2"), points},
                    {"strongest ring", time, table.numbers("A2_max"), points, true}};
  Figure phase{"Phase of the bar", "time", units.time, "phase", "rad", false, false, {}};
  phase.lines = {{"", time, table.numbers("phase"), points}};
  result.figures = {strength, phase};
  return result;
}

}  // namespace

AnalysisEntry bar_entry() {
  return {.name = "bar",
          .help = "Strength A2/A0 and phase of a disc's bar through time",
          .details =
              "Columns: time; A2, |sum of m exp(2 i phi)| over the mass between --from and --to; phase of the "
              "bar, which goes on from file to file (it is known up to half a turn: the files must be nearer than "
              "a quarter of a turn); pattern_speed since the file before; A2_max, the largest of 12 rings, and "
              "its radius; R_outer.",
          .example = "disc --species disc --to 2 -o bar.csv --plot bar.png",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::through_time,
          .keys = {with_dimension(low_key("inner radius"), dimension::length),
                   with_dimension(high_key("outer radius; 0: that of half of the particles"), dimension::length),
                   center_key(), species_key(), softening_key()},
          .analyze = analyze_bar};
}

}  // namespace pergola

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "analysis/analysis.hpp"
#include "analysis/disc_frame.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "physics/measures.hpp"

namespace pergola {

namespace {

constexpr int rings = 12;

/// The phase turned by half circles so that it is nearest to the one before.
double continued(double phase, double before) {
  return phase + std::numbers::pi * std::round((before - phase) / std::numbers::pi);
}

void add_moment(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device, Table& table) {
  const DiscFrame frame = disc_frame(snapshot, options, device);
  const double high = options.high > 0 ? options.high : frame.radius[(frame.radius.size() - 1) / 2];
  if (!(options.low >= 0) || !(high > options.low))
    throw Error(ErrorKind::input, fmt::format("--from, --to: expected 0 <= from < to, found {} and {}",
                                              to_text(options.low), to_text(high)));
  physics::BarSums all, ring[rings];
  for (std::size_t k = 0; k < frame.radius.size(); ++k) {
    if (frame.radius[k] < options.low || frame.radius[k] > high) continue;
    const double m = snapshot.particles.mass[frame.order[k]];
    const int place = static_cast<int>(rings * (frame.radius[k] - options.low) / (high - options.low));
    all.add(m, frame.x[k], frame.y[k]);
    ring[std::min(place, rings - 1)].add(m, frame.x[k], frame.y[k]);
  }
  if (!(all.mass > 0))
    throw Error(ErrorKind::input, fmt::format("{}: expected mass between the radii {} and {}, found none",
                                              snapshot.name, to_text(options.low), to_text(high)));
  int best = 0;
  for (int k = 1; k < rings; ++k)
    if (ring[k].strength() > ring[best].strength()) best = k;
  double phase = all.phase();
  double speed = std::numeric_limits<double>::quiet_NaN();
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
  table.add("R_of_max", units.length, options.low + (best + 0.5) * (high - options.low) / rings);
  table.add("R_outer", units.length, high);
}

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    const AnalysisSnapshot snapshot = chosen_species(files.snapshot(k), options);
    add_moment(snapshot, options, device, result.table);
    units = snapshot.units;
  }
  const Table& table = result.table;
  const bool points = table.rows() == 1;
  const auto& time = table.numbers("time");
  result.findings.push_back({"A2 at the end", "", table.numbers("A2").back()});
  result.figures = {
      {"Strength of the bar",
       "time",
       units.time,
       "A_{2}/A_{0}",
       "",
       false,
       false,
       {{"whole", time, table.numbers("A2"), points}, {"strongest ring", time, table.numbers("A2_max"), points, true}}},
      {"Phase of the bar",
       "time",
       units.time,
       "phase",
       "rad",
       false,
       false,
       {{"", time, table.numbers("phase"), points}}}};
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
          .keys = {low_key("inner radius"), high_key("outer radius; 0: that of half of the particles"), center_key(),
                   species_key(), softening_key()},
          .analyze = analyze};
}

}  // namespace pergola

#include "app/paper/session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/paper/six_body.hpp"
#include "base/text.hpp"
#include "picture/plot.hpp"

namespace pergola::app {

namespace {

constexpr int plot_width = 1000, plot_height = 700;

/// "GFLOP/s" of "kirin (GFLOP/s)".
std::string unit_of(const std::string& column) {
  const auto open = column.rfind('(');
  return open == std::string::npos ? std::string() : column.substr(open + 1, column.size() - open - 2);
}

std::string without_unit(const std::string& column) { return column.substr(0, column.rfind(" (")); }

/// Rates where the table has them, else what its first column holds.
std::string plotted_unit(const PaperTable& table) {
  for (const auto& column : table.ours)
    if (unit_of(column) == "GFLOP/s") return "GFLOP/s";
  return table.ours.empty() ? std::string() : unit_of(table.ours[0]);
}

void add_columns(Plot& plot, const std::vector<std::string>& columns, const PaperTable::Rows& rows,
                 const std::string& unit, bool published) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (unit_of(columns[c]) != unit) continue;
    std::vector<double> xs, ys;
    for (const auto& [n, row] : rows) {
      if (!std::isfinite(row[c])) continue;
      xs.push_back(static_cast<double>(n));
      ys.push_back(std::abs(row[c]));
    }
    SeriesStyle style;
    style.stroke = published ? Stroke::dashed : Stroke::solid;
    style.marker = published ? Marker::circle : Marker::square;
    if (!xs.empty()) plot.add_series(without_unit(columns[c]), xs, ys, style);
  }
}

Plot energy_plot(const std::string& title, const std::vector<EnergyCurve>& curves, double floor) {
  Plot plot;
  plot.title = title;
  plot.x.label = "time";
  plot.y.label = "|ΔE/E|";
  plot.y.log = true;
  plot.y.low = floor;
  for (const auto& curve : curves) {
    auto sizes = curve.error;
    for (auto& value : sizes) value = std::max(std::abs(value), floor);
    plot.add_series(curve.name, curve.time, sizes);
  }
  return plot;
}

/// How far a body goes from where it starts along one axis.
double extent(const std::vector<double>& places) {
  double most = 0;
  for (const double place : places) most = std::max(most, std::abs(place - places.front()));
  return most;
}

/// Limits that show the bodies that stay together: one that escapes leaves the frame instead of shrinking the others.
void frame_axis(Axis& axis, const Tracks& tracks, std::size_t component) {
  std::vector<double> extents;
  for (const auto& track : tracks) extents.push_back(extent(track[component]));
  auto sorted = extents;
  std::sort(sorted.begin(), sorted.end());
  double low = INFINITY, high = -INFINITY;
  for (std::size_t body = 0; body < tracks.size(); ++body) {
    if (extents[body] > 3 * sorted[sorted.size() / 2]) continue;
    const auto [least, most] = std::minmax_element(tracks[body][component].begin(), tracks[body][component].end());
    low = std::min(low, *least);
    high = std::max(high, *most);
  }
  axis.low = low - 0.05 * (high - low);
  axis.high = high + 0.05 * (high - low);
}

Plot track_plot(const Tracks& tracks, std::size_t right, std::size_t up) {
  static const char* const names[] = {"x", "y", "z"};
  Plot plot;
  plot.title = fmt::format("Six bodies, {}-{} plane; dots: the start", names[right], names[up]);
  plot.x.label = names[right];
  plot.y.label = names[up];
  plot.legend = false;
  frame_axis(plot.x, tracks, right);
  frame_axis(plot.y, tracks, up);
  for (std::size_t body = 0; body < tracks.size(); ++body) {
    const auto &xs = tracks[body][right], &ys = tracks[body][up];
    SeriesStyle line, dot;
    line.color = dot.color = static_cast<int>(body);
    line.line_width = 1.2;
    dot.marker = Marker::circle;
    dot.marker_size = 6;
    plot.add_series("", xs, ys, line);
    plot.add_series("", {xs.front()}, {ys.front()}, dot);
  }
  return plot;
}

std::string energy_csv(const std::vector<EnergyCurve>& curves) {
  std::string text = "time";
  for (const auto& curve : curves) {
    std::string name = curve.name;
    std::erase(name, ',');
    text += "," + name;
  }
  for (std::size_t k = 0; k < curves[0].time.size(); ++k) {
    text += "\n" + to_text(curves[0].time[k]);
    for (const auto& curve : curves) text += "," + (k < curve.error.size() ? to_text(curve.error[k]) : std::string());
  }
  return text + "\n";
}

std::string track_csv(const Tracks& tracks, const std::vector<double>& times) {
  std::string text = "time";
  for (std::size_t body = 1; body <= tracks.size(); ++body) text += fmt::format(",x{0},y{0},z{0}", body);
  for (std::size_t k = 0; k < times.size(); ++k) {
    text += "\n" + to_text(times[k]);
    for (const auto& body : tracks)
      for (const auto& axis : body) text += "," + to_text(axis[k]);
  }
  return text + "\n";
}

}  // namespace

void plot_table(const PaperSession& session, const PaperTable& table) {
  const auto path = session.file(table.file_name(".png"));
  if (!path || table.our_rows.empty() || table.by_column) return;
  const std::string unit = plotted_unit(table);
  Plot plot;
  plot.title = fmt::format("{} ({})", table.id(), device_label(session.device()));
  plot.x.label = "N";
  plot.y.label = unit.starts_with("1e-") ? fmt::format("|ΔE/E| ({})", unit) : unit;
  plot.x.log = plot.y.log = true;
  add_columns(plot, table.published, table.published_rows, unit, true);
  add_columns(plot, table.ours, table.our_rows, unit, false);
  write_drawing(*path, draw_panels({plot}, plot_width, plot_height));
}

void write_six_body(const PaperSession& session, const std::vector<EnergyCurve>& runs,
                    const std::vector<EnergyCurve>& suspects, const Tracks& tracks) {
  if (!session.file("")) return;
  session.write_text("six-body-energy.csv", energy_csv(runs));
  session.write_text("six-body-faults.csv", energy_csv(suspects));
  session.write_text("six-body-tracks.csv", track_csv(tracks, runs[0].time));
  write_drawing(*session.file("six-body-energy.png"),
                draw_panels({energy_plot("Six bodies: relative energy error", runs, 1e-16)}, plot_width, plot_height));
  auto all = suspects;
  all.insert(all.begin(), runs[0]);
  write_drawing(*session.file("six-body-faults.png"),
                draw_panels({energy_plot("Six bodies: the same leapfrog with one fault each", all, 1e-14)}, plot_width,
                            plot_height));
  write_drawing(*session.file("six-body-xy.png"), draw_panels({track_plot(tracks, 0, 1)}, 800, 800));
  write_drawing(*session.file("six-body-planes.png"),
                draw_panels({track_plot(tracks, 0, 1), track_plot(tracks, 0, 2), track_plot(tracks, 1, 2)}, 700, 600));
}

void write_step_scan(const PaperSession& session, const std::vector<double>& steps,
                     const std::vector<double>& in_double, const std::vector<double>& in_float) {
  const auto path = session.file("six-body-steps.png");
  if (!path) return;
  Plot plot;
  plot.title = "Six bodies, leapfrog: where rounding takes over";
  plot.x.label = "step";
  plot.y.label = "largest |ΔE/E|";
  plot.x.log = plot.y.log = true;
  SeriesStyle style;
  style.marker = Marker::circle;
  plot.add_series("double", steps, in_double, style);
  plot.add_series("float", steps, in_float, style);
  write_drawing(*path, draw_panels({plot}, plot_width, plot_height));
  std::string text = "step,double,float\n";
  for (std::size_t k = 0; k < steps.size(); ++k)
    text += fmt::format("{},{},{}\n", to_text(steps[k]), to_text(in_double[k]), to_text(in_float[k]));
  session.write_text("six-body-steps.csv", text);
}

}  // namespace pergola::app

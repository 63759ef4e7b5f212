#include "picture/run_plots.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "picture/plot.hpp"

namespace pergola {

namespace {

/// The whole file. Missing is the user's error, a refusal the operating system's.
std::string read_text(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(ErrorKind::input, fmt::format("{}: is a directory, expected a CSV file", path.string()));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(errno == EACCES ? ErrorKind::system : ErrorKind::input,
                fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Fields between commas, without blanks around them.
std::vector<std::string> split_fields(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> fields;
  for (;;) {
    const auto comma = line.find(',');
    auto field = line.substr(0, comma);
    while (field.starts_with(' ')) field.remove_prefix(1);
    while (field.ends_with(' ')) field.remove_suffix(1);
    fields.emplace_back(field);
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

/// Every line must have as many fields as the first.
RunLog RunLog::read(const std::filesystem::path& path) {
  RunLog log;
  log.path_ = path;
  const std::string content = read_text(path);
  std::string_view rest = content;
  std::size_t line_number = 0;
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    auto fields = split_fields(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    ++line_number;
    if (log.names_.empty()) {
      for (std::string& name : fields) name.resize(std::min(name.find('['), name.size()));
      log.names_ = std::move(fields);
      log.columns_.resize(log.names_.size());
      continue;
    }
    if (fields.size() != log.names_.size())
      throw Error(ErrorKind::input, fmt::format("{}: line {} has {} fields, expected {} (as in line 1)", path.string(),
                                                line_number, fields.size(), log.names_.size()));
    for (std::size_t c = 0; c < fields.size(); ++c) log.columns_[c].push_back(std::move(fields[c]));
    ++log.rows_;
  }
  if (log.rows_ == 0)
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a line of column names and at least one line of values", path.string()));
  return log;
}

/// The message lists the columns that the file has.
const std::vector<std::string>& RunLog::text(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end())
    throw Error(ErrorKind::input,
                fmt::format("{}: has no column \"{}\", found {}", path_.string(), name, fmt::join(names_, ",")));
  return columns_[static_cast<std::size_t>(found - names_.begin())];
}

std::vector<double> RunLog::numbers(std::string_view name) const {
  const auto& column = text(name);
  std::vector<double> values;
  for (std::size_t i = 0; i < column.size(); ++i) {
    const auto value = parse_real(column[i]);
    if (!value)
      throw Error(ErrorKind::input, fmt::format("{}: line {}, column {}: expected a number, found \"{}\"",
                                                path_.string(), i + 2, name, column[i]));
    values.push_back(*value);
  }
  return values;
}

namespace {

constexpr int plot_width = 900, plot_height = 420;
constexpr std::size_t markers_most = 80;  // more points than this are drawn as a line only

std::vector<double> absolute(std::vector<double> values) {
  for (auto& value : values) value = std::abs(value);
  return values;
}

/// The times of a log, in the unit in which plots show them.
std::vector<double> times_of(const RunLog& log, const LogUnits& units) {
  std::vector<double> times = log.numbers("time");
  for (double& time : times) time *= units.time_factor;
  return times;
}

/// Markers for few points only: many would hide the line.
SeriesStyle style_for(std::size_t points) {
  SeriesStyle style;
  if (points <= markers_most) style.marker = Marker::circle;
  style.marker_size = 3;
  return style;
}

/// |v(t) − v(0)| of a vector in three columns.
std::vector<double> drift_of(const RunLog& log, const std::array<const char*, 3>& columns) {
  std::vector<double> drift(log.rows(), 0.0);
  for (const char* column : columns) {
    const auto values = log.numbers(column);
    for (std::size_t i = 0; i < drift.size(); ++i) drift[i] = std::hypot(drift[i], values[i] - values[0]);
  }
  return drift;
}

/// A plot against time with a logarithmic axis.
Plot against_time(const char* title, const LogUnits& units, const std::string& label) {
  Plot plot;
  plot.title = title;
  plot.x.label = label_with_unit(units.clock, units.time);
  plot.y.label = label;
  plot.y.log = true;
  return plot;
}

/// The log of a plasma has columns kinetic_NAME.
bool has_energies_by_species(const RunLog& energy) {
  const auto& names = energy.names();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with("kinetic_"); });
}

}  // namespace

/// Two panels, and for plasmas also the energy of the field and that of each species by direction.
Drawing plot_energy(const RunLog& energy, const LogUnits& units) {
  const auto time = times_of(energy, units);
  Plot error;
  error.title = "Energy error";
  error.x.label = label_with_unit(units.clock, units.time);
  error.y.label = units.energy_error;
  error.y.log = true;
  error.add_series("", time, absolute(energy.numbers("relative_error")), style_for(time.size()));
  Plot parts;
  parts.title = "Energies";
  parts.x.label = error.x.label;
  parts.y.label = label_with_unit("energy", units.energy);
  const bool plasma = has_energies_by_species(energy);
  for (const char* part : {"kinetic", "potential", "total"})
    parts.add_series(plasma && part == std::string("potential") ? "field" : part, time, energy.numbers(part));
  if (!plasma) return draw_panels({error, parts}, plot_width, plot_height);
  Plot directions;
  directions.title = "Kinetic energy by direction";
  directions.x.label = error.x.label;
  directions.y.label = parts.y.label;
  // Species may have the same energies: strokes differ, so that a line on another one leaves it visible.
  std::size_t species = 0;
  for (const std::string& name : energy.names()) {
    if (!name.starts_with("kinetic_")) continue;
    const std::string label = name.substr(8);
    const auto dot = label.rfind('.');  // kinetic_NAME.x
    if (dot == std::string::npos) {
      parts.add_series(label, time, energy.numbers(name), {species % 2 == 0 ? Stroke::dashed : Stroke::dotted});
      ++species;
    } else {
      constexpr std::array<Stroke, 3> strokes{Stroke::dotted, Stroke::solid, Stroke::dashed};
      directions.add_series(label.substr(0, dot) + " " + label.substr(dot + 1), time, energy.numbers(name),
                            {strokes[species % strokes.size()]});
    }
  }
  Plot field;
  field.title = "Energy of the field";
  field.x.label = error.x.label;
  field.y.label = parts.y.label;
  field.y.log = true;
  field.add_series("", time, energy.numbers("potential"), style_for(time.size()));
  std::vector<Plot> panels{error, parts, field};
  if (!directions.empty()) panels.push_back(directions);
  return draw_panels(panels, plot_width, plot_height);
}

Drawing plot_momentum(const RunLog& energy, const LogUnits& units) {
  const auto time = times_of(energy, units);
  const bool plasma = has_energies_by_species(energy);  // a magnetic field turns its momentum; l is 0
  Plot plot = against_time(plasma ? "Change of momentum" : "Drift of momentum and angular momentum", units,
                           label_with_unit("distance from the first value", units.momentum));
  plot.add_series("momentum", time, drift_of(energy, {"px", "py", "pz"}), style_for(time.size()));
  if (!plasma) plot.add_series("angular momentum", time, drift_of(energy, {"lx", "ly", "lz"}), style_for(time.size()));
  return draw_panels({plot}, plot_width, plot_height);
}

Drawing plot_audit(const RunLog& audit, const LogUnits& units) {
  const auto time = times_of(audit, units);
  Plot plot = against_time("Force error", units, "relative error");
  for (const char* measure : {"median", "rms", "p99", "max"})
    plot.add_series(measure, time, audit.numbers(measure), style_for(time.size()));
  return draw_panels({plot}, plot_width, plot_height);
}

Drawing plot_radii(const RunLog& radii, const LogUnits& units) {
  const auto time = times_of(radii, units);
  Plot plot = against_time("Lagrangian radii", units, label_with_unit("radius", units.length));
  for (const int percent : {1, 5, 10, 25, 50, 75, 90})
    plot.add_series(fmt::format("{} %", percent), time, radii.numbers(fmt::format("r{}", percent)),
                    style_for(time.size()));
  return draw_panels({plot}, plot_width, plot_height);
}

/// A bar per stage with its seconds, its part of the sum and the number of its calls.
Drawing plot_profile(const RunLog& profile) {
  const auto& stages = profile.text("stage");
  const auto calls = profile.numbers("calls"), seconds = profile.numbers("seconds");
  std::vector<std::size_t> order(stages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return seconds[a] > seconds[b]; });
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  BarChart chart;
  chart.title = fmt::format("Where the time went: {:.3g} s", total);
  for (const std::size_t i : order)
    chart.add_bar(stages[i], seconds[i],
                  fmt::format("{:.3g} s · {:.1f} % · {:.0f} calls", seconds[i],
                              total > 0 ? 100 * seconds[i] / total : 0.0, calls[i]));
  return chart.draw(plot_width);
}

}  // namespace pergola

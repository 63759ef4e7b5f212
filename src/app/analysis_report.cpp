#include "app/analysis_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/table_file.hpp"
#include "picture/plot.hpp"
#include "sim/unit_text.hpp"

namespace pergola::app {

namespace {

using nlohmann::json;

constexpr int figure_width = 900, figure_height = 420;
constexpr std::size_t most_in_legend = 14;

json number(double value) { return std::isfinite(value) ? json(value) : json(); }

json values_of(const TableColumn& column) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&column.values)) return *words;
  json list = json::array();
  for (const double value : std::get<std::vector<double>>(column.values)) list.push_back(number(value));
  return list;
}

std::string finding_line(const Finding& finding) {
  const auto* real = std::get_if<double>(&finding.value);
  return fmt::format("{}: {}{}", finding.name,
                     real ? fmt::format("{:.6g}", *real) : std::get<std::string>(finding.value),
                     finding.unit.empty() ? "" : fmt::format(" {}", finding.unit));
}

/// A line each: an attribute has room for 64 KiB, and a run may have thousands of files.
std::string text_of_lines(const std::vector<std::string>& lines) {
  constexpr std::size_t most = 32768;
  std::string text;
  for (const std::string& line : lines) {
    if (text.size() + line.size() > most) return text + "...\n";
    text += fmt::format("{}\n", line);
  }
  return text;
}

Plot plot_of(const Figure& figure) {
  Plot plot;
  plot.title = figure.title;
  plot.x.label = label_with_unit(figure.x_label, drawn_unit(figure.x_unit)), plot.x.log = figure.x_log;
  plot.y.label = label_with_unit(figure.y_label, drawn_unit(figure.y_unit)), plot.y.log = figure.y_log;
  plot.legend = figure.lines.size() > 1 && figure.lines.size() <= most_in_legend;
  int color = -1;
  for (const FigureLine& line : figure.lines) {
    SeriesStyle style;
    if (color < 0 || !line.dashed || !line.name.empty()) ++color;
    style.color = color;
    if (line.points) style.stroke = Stroke::none, style.marker = Marker::circle;
    if (line.dashed) style.stroke = Stroke::dashed;
    plot.add_series(line.name, line.x, line.y, style);
  }
  return plot;
}

}  // namespace

void write_hdf5_table(const std::string& path, const std::string& analysis, const std::vector<std::string>& files,
                      const AnalysisResult& result) {
  std::vector<std::string> lines;
  for (const Finding& finding : result.findings) lines.push_back(finding_line(finding));
  std::vector<FileColumn> columns;
  for (const TableColumn& column : result.table.columns)
    columns.push_back({column.name, column.unit, std::get_if<std::vector<double>>(&column.values),
                       std::get_if<std::vector<std::string>>(&column.values)});
  write_table_file(path, {{"analysis", analysis}, {"files", text_of_lines(files)}, {"findings", text_of_lines(lines)}},
                   columns);
}

json to_json(const AnalysisResult& result) {
  json columns = json::array(), findings = json::array();
  for (const auto& column : result.table.columns)
    columns.push_back({{"name", column.name}, {"unit", column.unit}, {"values", values_of(column)}});
  for (const auto& finding : result.findings) {
    const auto* real = std::get_if<double>(&finding.value);
    findings.push_back({{"name", finding.name},
                        {"unit", finding.unit},
                        {"value", real ? number(*real) : json(std::get<std::string>(finding.value))}});
  }
  return {{"rows", result.table.rows()}, {"columns", columns}, {"findings", findings}};
}

Drawing draw_figures(const std::vector<Figure>& figures) {
  std::vector<Plot> plots;
  for (const auto& figure : figures) plots.push_back(plot_of(figure));
  return draw_panels(plots, figure_width, figure_height);
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& finding : findings) text += fmt::format("{}\n", finding_line(finding));
  return text;
}

}  // namespace pergola::app

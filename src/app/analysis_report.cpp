#include "app/analysis_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/unit_text.hpp"
#include "base/text.hpp"
#include "picture/axis.hpp"
#include "picture/plot.hpp"

namespace pergola::app {

namespace {

using nlohmann::json;

constexpr int figure_width = 900, figure_height = 420;
constexpr std::size_t most_in_legend = 14;

json number(double value) { return std::isfinite(value) ? json(value) : json(); }

std::string cell(const TableColumn& column, std::size_t row) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&column.values)) return (*words)[row];
  return to_text(std::get<std::vector<double>>(column.values)[row]);
}

json values_of(const TableColumn& column) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&column.values)) return *words;
  json list = json::array();
  for (const double value : std::get<std::vector<double>>(column.values)) list.push_back(number(value));
  return list;
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

std::string to_csv(const Table& table) {
  std::string text;
  for (const auto& column : table.columns)
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", column.name,
                        column.unit.empty() ? "" : fmt::format("[{}]", column.unit));
  text += "\n";
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t k = 0; k < table.columns.size(); ++k)
      text += fmt::format("{}{}", k > 0 ? "," : "", cell(table.columns[k], row));
    text += "\n";
  }
  return text;
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
  for (const auto& finding : findings) {
    const auto* real = std::get_if<double>(&finding.value);
    text += fmt::format("{}: {}{}\n", finding.name,
                        real ? fmt::format("{:.6g}", *real) : std::get<std::string>(finding.value),
                        finding.unit.empty() ? "" : fmt::format(" {}", finding.unit));
  }
  return text;
}

}  // namespace pergola::app

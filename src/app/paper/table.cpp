#include "app/paper/table.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"

namespace pergola::app {

namespace {

toml::table parse_paper(const std::string& paper) {
  for (const auto& [name, text] : paper_data)
    if (name == paper) return toml::parse(text);
  const std::string near = nearest_name(paper, paper_names());
  throw Error(ErrorKind::input, fmt::format("paper: expected one of {}, found \"{}\"{}", fmt::join(paper_names(), ", "),
                                            paper, near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

std::vector<std::string> strings(const toml::array* array) {
  std::vector<std::string> values;
  if (array)
    for (const auto& item : *array) values.push_back(item.value_or(std::string()));
  return values;
}

std::vector<std::string> split_fields(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream stream(line + ",");
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

std::string program_version() { return fmt::format("{} {}", version(), build_commit()); }

std::string csv_value(double value) { return std::isfinite(value) ? to_text(value) : std::string(); }

/// The name of a column, in quotation marks where it has a comma of its own.
std::string csv_name(const std::string& name) {
  return name.find(',') == std::string::npos ? name : "\"" + name + "\"";
}

/// The whole header line; adopt_rows takes only files that have exactly this one.
std::string csv_header(const PaperTable& table) {
  std::string header = "n";
  for (const auto& name : table.published) header += "," + csv_name(name);
  for (const auto& name : table.ours) header += "," + csv_name(name);
  return header + ",row_seconds,device,version";
}

std::set<std::int64_t> all_sizes(const PaperTable& table) {
  std::set<std::int64_t> sizes;
  for (const auto& [n, row] : table.published_rows) sizes.insert(n);
  for (const auto& [n, row] : table.our_rows) sizes.insert(n);
  return sizes;
}

std::vector<double> row_or_unknown(const PaperTable::Rows& rows, std::int64_t n, std::size_t columns) {
  const auto found = rows.find(n);
  return found != rows.end() ? found->second : std::vector<double>(columns, unknown);
}

std::string cell(double value) {
  if (!std::isfinite(value)) return "–";
  return std::abs(value) >= 1e4 && std::abs(value) < 1e7 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

/// Characters, not bytes: the column names and the dash are UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string pad_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, width_of(text)), ' ') + text;
}

}  // namespace

std::vector<std::string> paper_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : paper_data) names.emplace_back(name);
  return names;
}

std::vector<std::string> table_names(const std::string& paper) {
  const auto data = parse_paper(paper);
  std::vector<std::pair<std::uint32_t, std::string>> found;
  for (const auto& [key, value] : *data["tables"].as_table())
    found.emplace_back(value.source().begin.line, std::string(key.str()));
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto& [line, name] : found) names.push_back(std::move(name));
  return names;
}

std::string paper_help() {
  std::string help;
  for (const auto& paper : paper_names())
    help += fmt::format("{}{} ({})", help.empty() ? "" : ", ", paper, fmt::join(table_names(paper), " "));
  return help;
}

PaperTable load_table(const std::string& paper, const std::string& name) {
  const auto data = parse_paper(paper);
  const auto names = table_names(paper);
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw Error(ErrorKind::input, fmt::format("paper {}: expected one of the tables {}, found \"{}\"", paper,
                                              fmt::join(names, ", "), name));
  const auto& node = *data["tables"][name].as_table();
  PaperTable table;
  table.paper = paper;
  table.name = name;
  table.title = node["title"].value_or(std::string());
  table.source = data["source"].value_or(std::string());
  table.published = strings(node["published"].as_array());
  table.notes = strings(node["notes"].as_array());
  table.by_column = node["by_column"].value_or(false);
  for (const auto& row : *node["rows"].as_array()) {
    const auto& values = *row.as_array();
    std::vector<double> published;
    for (std::size_t c = 1; c < values.size(); ++c) published.push_back(values[c].value_or(unknown));
    table.published_rows[values[0].value_or(std::int64_t{0})] = published;
  }
  return table;
}

std::string device_label(const Device& device) {
  std::string label = device.is_cuda()
                          ? device.name()
                          : fmt::format("{} {} × {}", device.name(), cpu_instruction_set(), device.threads());
  std::replace(label.begin(), label.end(), ',', ' ');
  return label;
}

namespace {

/// Lines of cells; `bar` is the first column of ours.
struct TextGrid {
  std::vector<std::vector<std::string>> lines;
  std::size_t bar = 0;
};

TextGrid grid_by_row(const PaperTable& table) {
  TextGrid grid{{{"N"}}, 1 + table.published.size()};
  auto& head = grid.lines[0];
  head.insert(head.end(), table.published.begin(), table.published.end());
  head.insert(head.end(), table.ours.begin(), table.ours.end());
  for (const auto n : all_sizes(table)) {
    std::vector<std::string> line{fmt::format("{}", n)};
    for (const double value : row_or_unknown(table.published_rows, n, table.published.size()))
      line.push_back(cell(value));
    for (const double value : row_or_unknown(table.our_rows, n, table.ours.size())) line.push_back(cell(value));
    grid.lines.push_back(std::move(line));
  }
  return grid;
}

bool any_known(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

TextGrid grid_by_column(const PaperTable& table) {
  TextGrid grid;
  grid.lines.emplace_back(1);
  for (const auto& name : table.published) grid.lines.push_back({name});
  for (const auto& [n, row] : table.published_rows) {
    if (!any_known(row)) continue;
    grid.lines[0].push_back(fmt::format("published, N = {}", n));
    for (std::size_t c = 0; c < row.size(); ++c) grid.lines[c + 1].push_back(cell(row[c]));
  }
  grid.bar = grid.lines[0].size();
  for (const auto& [n, row] : table.our_rows)
    for (std::size_t c = 0; c < table.published.size(); ++c) {
      const std::string begin = table.published[c] + " ";
      for (std::size_t k = 0; k < table.ours.size(); ++k) {
        if (!table.ours[k].starts_with(begin)) continue;
        if (c == 0) grid.lines[0].push_back(fmt::format("N = {} {}", n, table.ours[k].substr(begin.size())));
        grid.lines[c + 1].push_back(cell(row[k]));
      }
    }
  return grid;
}

}  // namespace

std::string table_text(const PaperTable& table) {
  TextGrid grid = table.by_column ? grid_by_column(table) : grid_by_row(table);
  auto& lines = grid.lines;
  std::vector<std::size_t> widths(lines[0].size());
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], width_of(line[c]));

  std::string text = fmt::format("{}: {}\n{}\n", table.id(), table.title, table.source);
  if (lines.size() == 1) lines.clear();
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      if (c == grid.bar) text += "  |";
      text += (c > 0 ? "  " : "") + pad_left(line[c], widths[c]);
    }
    text += "\n";
  }
  for (const auto& note : table.notes) text += note + "\n";
  return text;
}

nlohmann::json table_json(const PaperTable& table, const Device& device) {
  const auto value_of = [](double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); };
  auto rows = nlohmann::json::array();
  for (const auto n : all_sizes(table)) {
    nlohmann::json row{{"n", n}, {"published", nlohmann::json::object()}, {"ours", nlohmann::json::object()}};
    const auto published = row_or_unknown(table.published_rows, n, table.published.size());
    for (std::size_t c = 0; c < published.size(); ++c) row["published"][table.published[c]] = value_of(published[c]);
    const auto ours = row_or_unknown(table.our_rows, n, table.ours.size());
    for (std::size_t c = 0; c < ours.size(); ++c) row["ours"][table.ours[c]] = value_of(ours[c]);
    rows.push_back(row);
  }
  return {{"table", table.id()},          {"title", table.title},
          {"source", table.source},       {"device", device_label(device)},
          {"version", program_version()}, {"rows", rows},
          {"notes", table.notes},         {"details", table.details}};
}

std::string table_csv(const PaperTable& table, const Device& device) {
  std::string text = csv_header(table) + "\n";
  for (const auto n : all_sizes(table)) {
    const bool measured = table.our_rows.count(n) > 0;
    text += fmt::format("{}", n);
    for (const double value : row_or_unknown(table.published_rows, n, table.published.size()))
      text += "," + csv_value(value);
    for (const double value : row_or_unknown(table.our_rows, n, table.ours.size())) text += "," + csv_value(value);
    const auto seconds = table.row_seconds.find(n);
    text += "," + csv_value(seconds != table.row_seconds.end() ? seconds->second : unknown);
    text += measured ? fmt::format(",{},{}\n", device_label(device), program_version()) : std::string(",,\n");
  }
  return text;
}

std::int64_t adopt_rows(PaperTable& table, const std::string& csv, const Device& device) {
  std::stringstream stream(csv);
  std::string line;
  if (!std::getline(stream, line) || line != csv_header(table)) return 0;
  const std::size_t first = 1 + table.published.size(), last = first + table.ours.size();
  std::int64_t adopted = 0;
  while (std::getline(stream, line)) {
    const auto fields = split_fields(line);
    if (fields.size() != last + 3 || fields[last + 1] != device_label(device) || fields[last + 2] != program_version())
      continue;
    const auto n = parse_integer(fields[0]);
    if (!n) continue;
    std::vector<double> row;
    for (std::size_t c = first; c < last; ++c) row.push_back(parse_real(fields[c]).value_or(unknown));
    table.our_rows[*n] = row;
    table.row_seconds[*n] = parse_real(fields[last]).value_or(0);
    ++adopted;
  }
  return adopted;
}

}  // namespace pergola::app

#include "analysis/analysis.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/centers.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

// The list of analyses, tables as CSV, and the keys that several analyses share. A table holds columns by name: adding
// a value to an unknown name makes the column, so an analysis writes one row after the other without declaring columns
// first.
namespace pergola {

namespace {

std::vector<AnalysisEntry>& entries() {
  static std::vector<AnalysisEntry> all{radii_entry(),        profile_entry(),      rotation_entry(),
                                        bar_entry(),          orbits_entry(),       escapers_entry(),
                                        power_entry(),        groups_entry(),       mass_function_entry(),
                                        temperatures_entry(), distribution_entry(), modes_entry()};
  return all;
}

}  // namespace

const std::vector<AnalysisEntry>& analysis_entries() { return entries(); }

void register_analysis(AnalysisEntry entry) { entries().push_back(std::move(entry)); }

namespace {

/// The column of this name, made if it does not exist yet. A column has either numbers or words.
TableColumn& column(Table& table, const std::string& name, const std::string& unit, bool words) {
  for (auto& one : table.columns)
    if (one.name == name) return one;
  table.columns.push_back({name, unit, {}});
  if (words) table.columns.back().values = std::vector<std::string>();
  return table.columns.back();
}

std::string cell(const TableColumn& column, std::size_t row) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&column.values)) return (*words)[row];
  return to_text(std::get<std::vector<double>>(column.values)[row]);
}

}  // namespace

void Table::add(const std::string& name, const std::string& unit, double value) {
  std::get<std::vector<double>>(column(*this, name, unit, false).values).push_back(value);
}

void Table::add_word(const std::string& name, const std::string& word) {
  std::get<std::vector<std::string>>(column(*this, name, "", true).values).push_back(word);
}

const std::vector<double>& Table::numbers(const std::string& name) const {
  for (const auto& one : columns)
    if (one.name == name) return std::get<std::vector<double>>(one.values);
  throw Error(ErrorKind::input, "table: has no column " + name);
}

// The first line has the names, with units in brackets; then one line per row. NaN is written as to_text() does.
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

// A key checks its value when it is read, so that analyses need no checks of their own.
Key<AnalysisOptions> center_key() {
  Key<AnalysisOptions> key;
  key.name = "center";
  key.help = "density (the densest place), potential (the particle with the lowest), mass, or X,Y,Z";
  key.take = [](AnalysisOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
    const std::vector<std::string> words{"density", "potential", "mass"};
    const auto* text = std::get_if<std::string>(&value);
    if (!text || (std::count(words.begin(), words.end(), *text) == 0 && !parse_place(*text)))
      return KeyProblem{"density, potential, mass or three numbers such as 0,0,0.5", words};
    options.center = *text;
    return std::nullopt;
  };
  key.value = [](const AnalysisOptions& options) -> KeyValue { return options.center; };
  return key;
}

Key<AnalysisOptions> species_key() {
  Key<AnalysisOptions> key;
  key.name = "species";
  key.help = "of these particles only: gas, halo, disc, bulge, stars, boundary, with commas between; or all";
  key.take = [](AnalysisOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
    const std::vector<std::string> known(species_names.begin(), species_names.end());
    const KeyProblem problem{fmt::format("all or some of {}", fmt::join(known, ", ")), known};
    const auto* text = std::get_if<std::string>(&value);
    if (!text) return problem;
    const auto names = split_names(*text);
    const auto is_known = [&](const std::string& name) { return std::count(known.begin(), known.end(), name) > 0; };
    if (*text != "all" && !std::all_of(names.begin(), names.end(), is_known)) return problem;
    options.species = *text;
    return std::nullopt;
  };
  key.value = [](const AnalysisOptions& options) -> KeyValue { return options.species; };
  return key;
}

Key<AnalysisOptions> bins_key(std::int64_t otherwise) {
  return integer_option<AnalysisOptions>(
      "bins", "number of bins; 0: " + std::to_string(otherwise), Range::between(0, 1e6),
      [](auto& options) -> auto& { return options.bins; });
}

Key<AnalysisOptions> low_key(const std::string& help) {
  return real_option<AnalysisOptions>(
      "from", help, Range{}, [](auto& options) -> auto& { return options.low; });
}

Key<AnalysisOptions> high_key(const std::string& help) {
  return real_option<AnalysisOptions>(
      "to", help, Range{}, [](auto& options) -> auto& { return options.high; });
}

Key<AnalysisOptions> softening_key() {
  return with_dimension(real_option<AnalysisOptions>(
                            "softening", "length of potentials that the file does not hold, in its unit",
                            Range::at_least(0), [](auto& options) -> auto& { return options.softening; }),
                        dimension::length);
}

}  // namespace pergola

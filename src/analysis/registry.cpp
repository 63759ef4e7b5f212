#include <utility>

#include "analysis/analysis.hpp"
#include "base/error.hpp"

namespace pergola {

namespace {

std::vector<AnalysisEntry>& entries() {
  static std::vector<AnalysisEntry> all{radii_entry(), profile_entry(), rotation_entry(),
                                        bar_entry(),   orbits_entry(),  escapers_entry()};
  return all;
}

TableColumn& column(Table& table, const std::string& name, const std::string& unit, bool words) {
  for (auto& one : table.columns)
    if (one.name == name) return one;
  table.columns.push_back({name, unit, {}});
  if (words) table.columns.back().values = std::vector<std::string>();
  return table.columns.back();
}

}  // namespace

const std::vector<AnalysisEntry>& analysis_entries() { return entries(); }

void register_analysis(AnalysisEntry entry) { entries().push_back(std::move(entry)); }

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

Key<AnalysisOptions> center_key() {
  Key<AnalysisOptions> key;
  key.name = "center";
  key.help = "density (the densest place), potential (the particle with the lowest), mass, or X,Y,Z";
  key.take = [](AnalysisOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
    const auto* text = std::get_if<std::string>(&value);
    if (!text) return KeyProblem{"density, potential, mass or three numbers such as 0,0,0.5", {}};
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
    const auto* text = std::get_if<std::string>(&value);
    if (!text) return KeyProblem{"names such as disc,bulge", {}};
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
  return real_option<AnalysisOptions>(
      "softening", "length of potentials that the file does not hold, in its unit", Range::at_least(0),
      [](auto& options) -> auto& { return options.softening; });
}

}  // namespace pergola

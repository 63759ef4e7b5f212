#include "analysis/analysis.hpp"
#include "base/error.hpp"

namespace pergola {

namespace {

TableColumn& column(Table& table, const std::string& name, const std::string& unit, bool words) {
  for (auto& one : table.columns)
    if (one.name == name) return one;
  table.columns.push_back({name, unit, {}});
  if (words) table.columns.back().values = std::vector<std::string>();
  return table.columns.back();
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

}  // namespace pergola

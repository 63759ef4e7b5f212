#include <fmt/core.h>

#include "analysis/analysis.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

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

}  // namespace pergola

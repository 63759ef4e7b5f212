#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/device.hpp"

namespace pergola::app {

/// A value that was not published or not measured.
inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// A table of a paper: the published columns as data, ours as measured. A row belongs to a number of particles; a value
/// that was not published or not measured is a NaN inside, an empty field in CSV, a null in JSON and a dash in text.
struct PaperTable {
  using Rows = std::map<std::int64_t, std::vector<double>>;

  std::string paper, name;  // "kirin", "1"
  std::string title, source;
  std::vector<std::string> published, ours;  // column names, unit in parentheses
  /// Text has a line per published column, with ours whose names begin with its name: for tables with many columns.
  bool by_column = false;
  Rows published_rows, our_rows;
  std::map<std::int64_t, double> row_seconds;  // wall time that measuring a row took
  std::vector<std::string> notes;
  nlohmann::json details;  // what an experiment has to say beyond rows

  std::string id() const { return paper + "/" + name; }
  std::string file_name(std::string_view extension) const { return paper + "-" + name + std::string(extension); }
};

/// The papers whose numbers are built in (papers/*.toml), and the tables of one of them in the file's order.
std::vector<std::string> paper_names();
std::vector<std::string> table_names(const std::string& paper);

/// "kirin (1 2 3 4), …" for the help text.
std::string paper_help();

/// The published half of a table. Throws Error(input) with the nearest valid name.
PaperTable load_table(const std::string& paper, const std::string& name);

/// One word per machine, for the device column: rows of another device or version are never taken for ours.
std::string device_label(const Device& device);

std::string table_text(const PaperTable& table);
nlohmann::json table_json(const PaperTable& table, const Device& device);
std::string table_csv(const PaperTable& table, const Device& device);

/// Takes over our rows from what table_csv wrote on the same device with the same version and columns; says how many.
std::int64_t adopt_rows(PaperTable& table, const std::string& csv, const Device& device);

/// Name and text of every papers/*.toml; CMake writes the definition.
extern const std::vector<std::pair<std::string_view, std::string_view>> paper_data;

}  // namespace pergola::app

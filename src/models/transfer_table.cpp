#include "models/transfer_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"

// A table is text: columns of numbers, wave numbers first and rising, comments after #. They are in h/Mpc, unless the
// last comment before the numbers that names a unit of wave numbers says 1/Mpc. Names of columns come from the last
// comment before the numbers. Matter is a column `total`, or dark matter and baryons by their parts.
// What the numbers are is found from their slope at the smallest k: 0 for CAMB, 2 for CLASS, n_s for a power spectrum.
namespace pergola {

namespace {

struct Columns {
  std::vector<std::string> names;  // of the last line of comment before the numbers; may be empty
  std::vector<std::vector<double>> rows;
  bool per_mpc = false;  // wave numbers are in 1/Mpc, else in h/Mpc
};

/// Whether a line of comment names 1/Mpc as the first unit of a wave number, or h/Mpc; none of both: nothing. CLASS
/// writes "1:k (h/Mpc)"; others "Mpc^-1", "h Mpc^{-1}".
std::optional<bool> names_per_mpc(const std::string& line) {
  std::size_t first = std::string::npos;
  bool with_h = false;
  for (const char* unit : {"/Mpc", "Mpc^-1", "Mpc^{-1}", "Mpc-1"}) {
    const std::size_t at = line.find(unit);
    if (at >= first) continue;
    first = at;
    const std::size_t before = at > 0 ? line.find_last_not_of(" *.", at - 1) : std::string::npos;
    with_h = before != std::string::npos && line[before] == 'h';
  }
  if (first == std::string::npos) return std::nullopt;
  return !with_h;
}

/// "2:d_g" and "k (h/Mpc)" as d_g and k: names without the numbers and units that CLASS writes.
std::vector<std::string> names_of(const std::string& line) {
  std::vector<std::string> names;
  std::istringstream words(line.substr(line.find_first_not_of("# \t")));
  for (std::string word; words >> word;) {
    if (word.front() == '(') continue;
    const auto colon = word.find(':');
    names.push_back(colon == std::string::npos ? word : word.substr(colon + 1));
  }
  return names;
}

Columns read_columns(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file)
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a table of wave numbers, found no file that can be read", path.string()));
  Columns columns;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (line.find_first_not_of("# \t\r") == std::string::npos) continue;
    if (line[line.find_first_not_of(" \t")] == '#') {
      if (columns.rows.empty()) {
        columns.names = names_of(line);
        columns.per_mpc = names_per_mpc(line).value_or(columns.per_mpc);
      }
      continue;
    }
    std::istringstream words(line);
    std::vector<double> row;
    for (std::string word; words >> word;) {
      const auto value = parse_real(word);
      if (!value || !std::isfinite(*value))
        throw Error(ErrorKind::input, fmt::format("{}:{}: expected numbers, found {}", path.string(), number, word));
      row.push_back(*value);
    }
    if (row.size() < 2 || (!columns.rows.empty() && row.size() != columns.rows[0].size()))
      throw Error(ErrorKind::input,
                  fmt::format("{}:{}: expected {} columns, found {}", path.string(), number,
                              columns.rows.empty() ? "two or more" : "as many as before", row.size()));
    if (!(row[0] > 0) || (!columns.rows.empty() && !(row[0] > columns.rows.back()[0])))
      throw Error(ErrorKind::input, fmt::format("{}:{}: expected rising wave numbers > 0, found {}", path.string(),
                                                number, to_text(row[0])));
    columns.rows.push_back(row);
  }
  if (columns.rows.size() < 8)
    throw Error(ErrorKind::input,
                fmt::format("{}: expected eight wave numbers or more, found {}", path.string(), columns.rows.size()));
  return columns;
}

/// The column of the first candidate that is there; −1: none.
int find_name(const std::vector<std::string>& names, const std::vector<std::string>& candidates) {
  for (const auto& candidate : candidates)
    for (std::size_t k = 0; k < names.size(); ++k)
      if (names[k] == candidate) return static_cast<int>(k);
  return -1;
}

/// A column of the table as a list, or that of matter from those of dark matter and baryons.
struct Matter {
  std::vector<double> values;
  std::string from;
};

Matter matter_of(const Columns& columns, double baryon_part) {
  const std::size_t width = columns.rows[0].size();
  const auto& names = columns.names;
  const bool named = names.size() == width;
  const int dark = named ? find_name(names, {"d_cdm", "CDM", "cdm"}) : -1;
  const int baryons = named ? find_name(names, {"d_b", "baryon", "baryons"}) : -1;
  int total = named ? find_name(names, {"total", "d_m"}) : -1;
  if (!named && width >= 7) total = 6;  // CAMB without names: k/h, CDM, baryons, photons, neutrinos, massive, total
  if (width == 2) total = 1;
  Matter matter;
  const bool mixed = dark > 0 && baryons > 0;
  if (!mixed && total < 1)
    matter.from = "";
  else
    matter.from = mixed ? fmt::format("columns {} and {}", dark + 1, baryons + 1) : fmt::format("column {}", total + 1);
  if (matter.from.empty()) return matter;
  for (const auto& row : columns.rows)
    matter.values.push_back(mixed ? (1 - baryon_part) * row[static_cast<std::size_t>(dark)] +
                                        baryon_part * row[static_cast<std::size_t>(baryons)]
                                  : row[static_cast<std::size_t>(total)]);
  return matter;
}

const char* kind_text(TransferTable::Kind kind) {
  if (kind == TransferTable::Kind::camb) return "transfer functions of CAMB (contrast over k^2)";
  return kind == TransferTable::Kind::class_code ? "transfer functions of CLASS (contrast)" : "a power spectrum";
}

}  // namespace

TransferTable::TransferTable(const std::filesystem::path& path, const physics::Cosmology& universe)
    : name_(path.string()) {
  const double n_s = universe.n_s;
  const Columns columns = read_columns(path);
  const Matter matter = matter_of(columns, universe.omega_baryon / universe.omega_matter);
  if (matter.from.empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: expected columns named CDM and baryon, d_cdm and d_b or total, seven "
                            "columns of CAMB, or two, found {}",
                            name_, columns.rows[0].size()));
  for (const auto& row : columns.rows) k_.push_back(columns.per_mpc ? row[0] / universe.h : row[0]);
  for (std::size_t i = 0; i < k_.size(); ++i)
    if (!(std::abs(matter.values[i]) > 0) || (matter.values[i] > 0) != (matter.values[0] > 0))
      throw Error(ErrorKind::input, fmt::format("{}: expected values of one sign in {}, found {} at k = {}", name_,
                                                matter.from, to_text(matter.values[i]), to_text(k_[i])));
  const std::size_t end = std::min<std::size_t>(k_.size() - 1, 3);
  const double slope = std::log(matter.values[end] / matter.values[0]) / std::log(k_[end] / k_[0]);
  // The largest waves of a table may bend already, downwards.
  kind_ = slope < n_s / 2 ? Kind::camb : slope < (n_s + 2) / 2 ? Kind::power : Kind::class_code;
  if (slope < -0.5 || slope > 3)
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a slope of 0 (CAMB), {} (power) or 2 (CLASS) for the largest waves in {}, "
                            "found {:.2f}",
                            name_, to_text(n_s), matter.from, slope));
  for (std::size_t i = 0; i < k_.size(); ++i) {
    const double log_k = std::log(k_[i]), log_value = std::log(std::abs(matter.values[i]));
    log_transfer_.push_back(kind_ == Kind::camb         ? log_value
                            : kind_ == Kind::class_code ? log_value - 2 * log_k
                                                        : (log_value - n_s * log_k) / 2);
  }
  description_ = fmt::format("{}: {} wave numbers from {:.6g} to {:.6g} h/Mpc{}, {}, {}", name_, k_.size(), k_.front(),
                             k_.back(), columns.per_mpc ? " (1/Mpc in the file)" : "", kind_text(kind_), matter.from);
}

/// Linear in ln T over ln k between two lines of the table.
double TransferTable::operator()(double k) const {
  constexpr double beyond = 1e-3;  // a table may end at the last wave of a box
  if (k < k_.front() * (1 - beyond) || k > k_.back() * (1 + beyond))
    throw Error(ErrorKind::input, fmt::format("{}: expected wave numbers that reach {:.4g} h/Mpc, found {} to {}",
                                              name_, k, to_text(k_.front()), to_text(k_.back())));
  const auto after = std::upper_bound(k_.begin() + 1, k_.end() - 1, k);
  const auto i = static_cast<std::size_t>(after - k_.begin());
  const double t = std::log(k / k_[i - 1]) / std::log(k_[i] / k_[i - 1]);
  return std::exp((1 - t) * log_transfer_[i - 1] + t * log_transfer_[i]);
}

/// The first two columns; others are ignored.
PowerTable::PowerTable(const std::filesystem::path& path) {
  const Columns columns = read_columns(path);
  if (columns.per_mpc)
    throw Error(
        ErrorKind::input,
        fmt::format("{}: expected wave numbers in h/Mpc and powers in (Mpc/h)^3, found a header that says 1/Mpc",
                    path.string()));
  for (const auto& row : columns.rows) {
    if (!(row[1] > 0))
      throw Error(ErrorKind::input, fmt::format("{}: expected powers > 0 in the second column, found {} at k = {}",
                                                path.string(), to_text(row[1]), to_text(row[0])));
    log_k_.push_back(std::log(row[0]));
    log_power_.push_back(std::log(row[1]));
  }
}

double PowerTable::first() const { return std::exp(log_k_.front()); }
double PowerTable::last() const { return std::exp(log_k_.back()); }

double PowerTable::operator()(double k) const {
  const double x = std::log(k);
  const auto above = std::upper_bound(log_k_.begin() + 1, log_k_.end() - 1, x) - log_k_.begin();
  const auto i = static_cast<std::size_t>(above);
  const double part = (x - log_k_[i - 1]) / (log_k_[i] - log_k_[i - 1]);
  return std::exp(log_power_[i - 1] + part * (log_power_[i] - log_power_[i - 1]));
}

}  // namespace pergola

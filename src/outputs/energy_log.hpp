#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/energy.hpp"
#include "outputs/csv_log.hpp"

namespace pergola {

/// energy.csv: one line per time.
class EnergyLog {
 public:
  EnergyLog() = default;
  /// Rows as in CsvLog. `more`: names of the columns after the contract's.
  EnergyLog(const std::filesystem::path& path, std::int64_t rows, const std::vector<std::string>& more = {});
  void add(double time, const Energies& now, double relative_error, double wall_seconds,
           const std::vector<double>& more = {});
  void sync() const { log_.sync(); }
  std::int64_t rows() const { return log_.rows(); }

 private:
  CsvLog log_;
};

}  // namespace pergola

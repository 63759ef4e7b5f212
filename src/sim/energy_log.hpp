#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/energy.hpp"

namespace pergola {

/// (E − E₀) / |E₀|; 0 when both are the same.
double relative_energy_error(const Energies& now, const Energies& start);

/// energy.csv: one line per time, each written whole. A line that the operating system refuses is taken back.
class EnergyLog {
 public:
  EnergyLog() = default;
  /// Keeps the first `rows` lines of the file (those before a checkpoint), or as many as there are, and appends to
  /// them; 0 starts anew. `more`: names of the columns after the contract's.
  EnergyLog(const std::filesystem::path& path, std::int64_t rows, const std::vector<std::string>& more = {});
  EnergyLog(EnergyLog&& other) noexcept;
  EnergyLog& operator=(EnergyLog&& other) noexcept;
  ~EnergyLog();

  void add(double time, const Energies& now, const Energies& start, double wall_seconds,
           const std::vector<double>& more = {});
  std::int64_t rows() const { return rows_; }

 private:
  std::filesystem::path path_;
  std::int64_t rows_ = 0;
  int descriptor_ = -1;
};

}  // namespace pergola

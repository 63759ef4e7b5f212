#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_device.hpp"
#include "picture/drawing.hpp"

// Plots of a run's logs: energies, momentum, force errors, Lagrangian radii, and the time of each stage. `RunLog` reads
// a CSV log, also while the run writes it.
// Each function takes a log and its units and returns a drawing of one or several panels. Markers are drawn only for
// short logs.
namespace pergola {

/// A CSV log: named columns of text.
class PERGOLA_API RunLog {
 public:
  /// Reads a line of names and lines with as many fields. Ignores a last line without its end, because a run may be
  /// writing it. Throws Error(input) with the number of a wrong line.
  static RunLog read(const std::filesystem::path& path);

  std::size_t rows() const { return rows_; }
  /// Without their units: "r50" of a column "r50[kpc]".
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& text(std::string_view name) const;
  /// A column as numbers. Throws Error(input) if one is not a number.
  std::vector<double> numbers(std::string_view name) const;

 private:
  std::filesystem::path path_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> columns_;
  std::size_t rows_ = 0;
};

/// Units of a log in words; empty if not known.
struct LogUnits {
  std::string time, energy, momentum;  // momentum: of angular momentum a length more
  std::string potential = {};          // of a plasma's field
  std::string length = {};
  std::string clock = "time";                          // what the time is called
  std::string energy_error = "|E − E_{0}| / |E_{0}|";  // what the relative error of energy.csv is
  double time_factor = 1;                              // from the log's times to those that are shown
};

/// From energy.csv: |ΔE/E| on a logarithmic axis, and the energies. For a plasma also those of each species, and the
/// energy of the field on a logarithmic axis, where waves grow along lines.
PERGOLA_API Drawing plot_energy(const RunLog& energy, const LogUnits& units = {});

/// From energy.csv: the change of total momentum since the first line, and of angular momentum but for plasmas.
PERGOLA_API Drawing plot_momentum(const RunLog& energy, const LogUnits& units = {});

/// From audit.csv: relative force errors on a logarithmic axis.
PERGOLA_API Drawing plot_audit(const RunLog& audit, const LogUnits& units = {});

/// From lagrangian.csv: Lagrangian radii on a logarithmic axis.
PERGOLA_API Drawing plot_radii(const RunLog& radii, const LogUnits& units = {});

/// From profile.csv: seconds per stage, the longest first.
PERGOLA_API Drawing plot_profile(const RunLog& profile);

}  // namespace pergola

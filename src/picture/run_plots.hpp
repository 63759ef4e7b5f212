#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_device.hpp"
#include "picture/drawing.hpp"

namespace pergola {

/// A CSV log of a run: named columns of text.
class PERGOLA_API RunLog {
 public:
  /// Reads a file with one line of names and lines of as many fields. A last line that has no end yet is left out: a
  /// run may be writing it. Throws Error(input) with the line where the file is not as expected.
  static RunLog read(const std::filesystem::path& path);

  std::size_t rows() const { return rows_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& text(std::string_view name) const;
  /// The column as numbers; throws Error(input) where one is not a number.
  std::vector<double> numbers(std::string_view name) const;

 private:
  std::filesystem::path path_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> columns_;
  std::size_t rows_ = 0;
};

/// What the numbers of a log are in; empty: not known.
struct LogUnits {
  std::string time, energy, momentum;  // momentum: of angular momentum a length more
  std::string potential = {};          // of a plasma's field
  std::string length = {};
  std::string clock = "time";  // what the time is called
};

/// From energy.csv: |ΔE/E| against time on a logarithmic axis, and the energies themselves; of a plasma, whose log has
/// kinetic energies by species, also the energy of the field on a logarithmic axis, where waves grow along lines.
PERGOLA_API Drawing plot_energy(const RunLog& energy, const LogUnits& units = {});

/// From energy.csv: how far total momentum and angular momentum have moved from their first values.
PERGOLA_API Drawing plot_momentum(const RunLog& energy, const LogUnits& units = {});

/// From audit.csv: relative force errors against time on a logarithmic axis.
PERGOLA_API Drawing plot_audit(const RunLog& audit, const LogUnits& units = {});

/// From lagrangian.csv: the radii that hold parts of the mass against time, on a logarithmic axis.
PERGOLA_API Drawing plot_radii(const RunLog& radii, const LogUnits& units = {});

/// From profile.csv: seconds per stage, the longest first.
PERGOLA_API Drawing plot_profile(const RunLog& profile);

}  // namespace pergola

#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/state_source.hpp"

// Fourier modes of a plasma's potential through time. The analysis `modes` records one moment; a run records many and
// writes spectra in frequency at its end (sim/plasma_diagnostics.hpp). The recorded series are part of a checkpoint.
// Only the longest waves along each axis are kept, so that the memory grows with the number of records and not with
// the mesh. Sums over the mesh can be made in parts, row by row: each rank adds its rows in the order of the mesh, and
// the bits are those of one process.
namespace pergola {

/// Records modes φ_m = (1/N) Σ φ(x) exp(−2πi m·x/L) of a field in a periodic box: along each axis the waves with 1 …
/// modes(axis) wavelengths in the box, and one wave of any direction.
class PERGOLA_API ModeRecorder {
 public:
  static constexpr int modes_most = 128;  // along an axis

  ModeRecorder(int dimensions, const std::array<int, 3>& cells, const std::array<int, 3>& wave);

  /// Records the field at the grid points, x fastest.
  void record(double time, const std::vector<double>& field);
  /// The same in parts: start from no_sums(), add all rows along x in order, then record.
  std::vector<double> no_sums() const;
  void add(std::int64_t first_row, const std::vector<double>& rows, std::vector<double>& sums) const;
  void record_sums(double time, const std::vector<double>& sums);

  int axes() const { return static_cast<int>(modes_.size()); }
  int modes(int axis) const { return modes_[static_cast<std::size_t>(axis)]; }
  const std::vector<double>& times() const { return times_; }
  /// Mode `mode` ≥ 1 along an axis, one value per time.
  std::vector<std::complex<double>> series(int axis, int mode) const;
  const std::vector<std::complex<double>>& wave() const { return wave_; }

  /// Saves under names that begin with `prefix`.
  void save(StateBlocks& blocks, const std::string& prefix) const;
  void restore(const StateBlocks& blocks, const std::string& prefix);

 private:
  using Series = std::vector<std::complex<double>>;
  void record_axis(std::size_t axis, const std::vector<double>& means);
  std::complex<double> wave_phase(std::size_t axis, std::size_t place) const;

  std::array<int, 3> cells_;
  std::array<int, 3> wave_mode_;
  std::vector<int> modes_;        // by axis
  std::array<Series, 3> phases_;  // exp(−2πi j/cells) by axis
  std::vector<double> times_;
  std::vector<Series> axis_modes_;  // by axis: [time][mode − 1]
  Series wave_;
};

}  // namespace pergola

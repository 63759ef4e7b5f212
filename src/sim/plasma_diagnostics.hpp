#pragma once
#include <array>
#include <complex>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/mode_recorder.hpp"
#include "analysis/wave_fit.hpp"
#include "base/state_source.hpp"
#include "base/vec.hpp"
#include "config/plasma_config.hpp"
#include "io/table_file.hpp"
#include "plasma/options.hpp"
#include "plasma/units.hpp"

namespace pergola {

/// The numbers of a species for the theory of waves, in units of computation.
struct PlasmaKind {
  double plasma_frequency_squared = 1;  // q² n/m
  Vec3<double> thermal_speed{0, 0, 0}, drift{0, 0, 0};
};

/// ω + iγ of the wave with `mode` wavelengths in the box, in units of computation: for streams the fastest growing
/// wave, for a plasma at rest the Langmuir wave with its damping. NaN + 0i: no wave of the streams grows. NaN if this
/// theory does not apply: with a magnetic field, for several species at rest, or where some streams are cold.
PERGOLA_API std::complex<double> wave_theory(const PlasmaOptions& options, const std::vector<PlasmaKind>& kinds,
                                             const std::array<int, 3>& mode);

/// What the wave of PlasmaWave does. One fit for the report card, run.json and wave.csv: the straight line of log |φ|
/// if the wave clearly grows along one (is_clear), else one oscillation that may be damped. NaN: not known. The rate is
/// not known where neither is clear; the frequency is then that of the oscillation all the same.
struct WaveFit {
  double rate = 0;       // γ; negative: damped
  double error = 0;      // of the rate
  double frequency = 0;  // ω
  double amplitude = 0;  // of line or envelope at time 0
  double from = 0, until = 0;
  bool line = false;

  /// "line", "oscillation" or "none": no clear wave.
  std::string kind() const;
};

/// What is watched in a run of a plasma beside its energies: the potential's Fourier modes along the axes, the wave of
/// PlasmaWave, and the energy of the field. It takes numbers as they are computed and gives them in the run's units.
class PERGOLA_API PlasmaDiagnostics {
 public:
  PlasmaDiagnostics(const PlasmaOptions& options, const PlasmaUnits& units, const PlasmaWave& wave,
                    std::vector<PlasmaKind> kinds);

  /// The potential at a time, or sums over it that modes() has begun.
  void record(double time, const std::vector<double>& potential);
  void record_sums(double time, const std::vector<double>& sums);
  const ModeRecorder& modes() const { return modes_; }
  /// With every line of energy.csv.
  void record_energy(double time, double field_energy);

  /// For a checkpoint; names begin with "diagnostics/".
  void save(StateBlocks& blocks) const;
  void restore(const StateBlocks& blocks);

  /// At the end of a run: spectrum.hdf5 and spectrum.csv, where anything was recorded, and wave.csv, where a wave is
  /// asked for. Makes the directory.
  void write(const std::filesystem::path& directory) const;
  /// The names of these files.
  static const std::vector<std::string>& file_names();

  /// For the report card: frequency, growth_rate, damping_rate of the wave, field_energy (mean over its window). NaN
  /// for what was not recorded and for any other name.
  double measure(const std::string& name) const;
  /// In the run's units but for the amplitude: in the window of [plasma.wave], or in one that is found.
  WaveFit wave_fit() const;
  /// ω + iγ of wave_theory(), in the run's units.
  std::complex<double> theory_of_wave() const;

 private:
  bool in_window(double time) const;
  WaveSeries wave_series() const;
  WaveFit fit() const;
  AxisSpectrum axis_spectrum(int axis) const;
  std::vector<SpectrumCurve> theory(int axis, double longest, double highest) const;
  std::string spectrum_text(const SpectrumFile& spectrum) const;
  std::string wave_text() const;

  PlasmaOptions options_;
  PlasmaUnits units_;
  PlasmaWave wave_;  // times as computed
  std::vector<PlasmaKind> kinds_;
  ModeRecorder modes_;
  std::vector<double> energy_times_, field_energies_;
};

}  // namespace pergola

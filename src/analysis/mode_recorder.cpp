// Records the Fourier modes of a field along the axes, and of one given wave, at each moment. A mode along an axis is
// taken of the mean over the other axes. Sums are linear: ranks add rows of their planes, and the totals are recorded.
// A mode is Σ value exp(-2πi mode j / cells) / cells; phases are tabulated.
#include "analysis/mode_recorder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/analysis.hpp"
#include "base/error.hpp"
#include "physics/green.hpp"

namespace pergola {

ModeRecorder::ModeRecorder(int dimensions, const std::array<int, 3>& cells, const std::array<int, 3>& wave)
    : cells_(cells), wave_mode_(wave), axis_modes_(static_cast<std::size_t>(dimensions)) {
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dimensions); ++axis)
    modes_.push_back(std::min(modes_most, cells_[axis] / 2));
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (int j = 0; j < cells_[axis]; ++j)
      phases_[axis].push_back(std::polar(1.0, -2 * std::numbers::pi * j / cells_[axis]));
}

void ModeRecorder::record(double time, const std::vector<double>& field) {
  std::vector<double> sums = no_sums();
  add(0, field, sums);
  record_sums(time, sums);
}

// Sums over the other axes for each place on x, y and z; then the real and imaginary part of the wave.
std::vector<double> ModeRecorder::no_sums() const {
  return std::vector<double>(static_cast<std::size_t>(cells_[0]) + static_cast<std::size_t>(cells_[1]) +
                             static_cast<std::size_t>(cells_[2]) + 2);
}

// Rows along x, from number first_row on; row = z × ny + y.
void ModeRecorder::add(std::int64_t first_row, const std::vector<double>& rows, std::vector<double>& sums) const {
  const auto nx = static_cast<std::size_t>(cells_[0]), ny = static_cast<std::size_t>(cells_[1]);
  double* const by_x = sums.data();
  double* const by_y = by_x + nx;
  double* const by_z = by_y + ny;
  double* const wave = by_z + cells_[2];
  Series along_x;
  for (std::size_t x = 0; x < nx; ++x) along_x.push_back(wave_phase(0, x));
  for (std::size_t k = 0; k < rows.size() / nx; ++k) {
    const std::size_t row = static_cast<std::size_t>(first_row) + k;
    double sum = 0;
    std::complex<double> turned = 0;
    for (std::size_t x = 0; x < nx; ++x) {
      const double value = rows[k * nx + x];
      by_x[x] += value;
      sum += value;
      turned += value * along_x[x];
    }
    by_y[row % ny] += sum;
    by_z[row / ny] += sum;
    turned = turned * wave_phase(1, row % ny) * wave_phase(2, row / ny);
    wave[0] += turned.real();
    wave[1] += turned.imag();
  }
}

void ModeRecorder::record_sums(double time, const std::vector<double>& sums) {
  times_.push_back(time);
  const double count = static_cast<double>(cells_[0]) * cells_[1] * cells_[2];
  auto first = sums.begin();
  for (std::size_t axis = 0; axis < cells_.size(); ++axis) {
    std::vector<double> means(first, first + cells_[axis]);
    first += cells_[axis];
    if (axis >= modes_.size()) continue;
    for (double& mean : means) mean /= count;
    record_axis(axis, means);
  }
  wave_.push_back(std::complex<double>(first[0], first[1]) / count);
}

// A plain sum: at most modes_most modes are wanted.
void ModeRecorder::record_axis(std::size_t axis, const std::vector<double>& means) {
  const std::size_t n = means.size();
  for (int mode = 1; mode <= modes_[axis]; ++mode) {
    std::complex<double> sum = 0;
    for (std::size_t j = 0, phase = 0; j < n; ++j, phase = (phase + static_cast<std::size_t>(mode)) % n)
      sum += means[j] * phases_[axis][phase];
    axis_modes_[axis].push_back(sum);
  }
}

// The phase of the given wave at a place along one axis.
std::complex<double> ModeRecorder::wave_phase(std::size_t axis, std::size_t place) const {
  const auto n = static_cast<std::int64_t>(cells_[axis]);
  const std::int64_t turn = (wave_mode_[axis] * static_cast<std::int64_t>(place) % n + n) % n;
  return phases_[axis][static_cast<std::size_t>(turn)];
}

std::vector<std::complex<double>> ModeRecorder::series(int axis, int mode) const {
  Series values;
  const auto stride = static_cast<std::size_t>(modes(axis));
  for (std::size_t i = 0; i < times_.size(); ++i)
    values.push_back(axis_modes_[static_cast<std::size_t>(axis)][i * stride + static_cast<std::size_t>(mode - 1)]);
  return values;
}

void ModeRecorder::save(StateBlocks& blocks, const std::string& prefix) const {
  blocks.put_value(prefix + "count", static_cast<std::uint64_t>(times_.size()));
  blocks.put(prefix + "times", times_);
  blocks.put(prefix + "wave", wave_);
  for (std::size_t axis = 0; axis < modes_.size(); ++axis)
    blocks.put(prefix + "axis" + std::to_string(axis), axis_modes_[axis]);
}

void ModeRecorder::restore(const StateBlocks& blocks, const std::string& prefix) {
  const std::size_t count = blocks.get_value<std::uint64_t>(prefix + "count");
  times_ = blocks.get<double>(prefix + "times", count);
  wave_ = blocks.get<std::complex<double>>(prefix + "wave", count);
  for (std::size_t axis = 0; axis < modes_.size(); ++axis)
    axis_modes_[axis] = blocks.get<std::complex<double>>(prefix + "axis" + std::to_string(axis),
                                                         count * static_cast<std::size_t>(modes_[axis]));
}

namespace {

/// Each file: the modes along each axis, one row per mode.
AnalysisResult analyze_modes(const AnalysisFiles& files, const AnalysisOptions&, const Device&) {
  AnalysisResult result;
  Figure figure{"Fourier modes of the potential", "k", "", "amplitude", "", true, true, {}};
  for (std::size_t f = 0; f < files.names.size(); ++f) {
    const AnalysisField field = files.potential(f);
    ModeRecorder recorder(field.dimensions, field.cells, {0, 0, 0});
    recorder.record(field.time, field.values);
    const std::string k_unit = field.length_unit.empty() ? "" : fmt::format("1/({})", field.length_unit);
    figure.x_unit = k_unit, figure.y_unit = field.unit;
    for (int axis = 0; axis < recorder.axes(); ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const std::string word(1, "xyz"[axis]);
      FigureLine line{files.names.size() > 1 ? fmt::format("{}, {}", word, field.moment) : word, {}, {}};
      for (int mode = 1; mode <= recorder.modes(axis); ++mode) {
        const double k = physics::wave_number(mode, field.cells[a] * field.spacing[a]);
        const bool shortest = 2 * mode == field.cells[a];  // is its own opposite
        const double amplitude = (shortest ? 1 : 2) * std::abs(recorder.series(axis, mode).front());
        result.table.add("time", field.time_unit, field.time);
        result.table.add_word("axis", word);
        result.table.add("mode", "", mode);
        result.table.add("k", k_unit, k);
        result.table.add("amplitude", field.unit, amplitude);
        if (amplitude > 0) line.x.push_back(k), line.y.push_back(amplitude);
      }
      line.points = line.x.size() == 1;
      if (!line.x.empty()) figure.lines.push_back(std::move(line));
    }
  }
  if (figure.lines.empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a potential with waves along an axis, found none", files.names.front()));
  result.figures.push_back(figure);
  return result;
}

}  // namespace

AnalysisEntry modes_entry() {
  return {.name = "modes",
          .help = "Spectrum of a plasma's potential: its Fourier modes along the axes at a moment",
          .details =
              "One line per axis and mode. Columns: time, axis, mode (wavelengths in the box, at most 128), k, "
              "amplitude (A of A cos(k x + phase) in the mean over the other axes). Power by frequency needs more than "
              "snapshots: output.spectrum_every writes it.",
          .example = "two-stream/plasma_000700.h5 -o modes.csv --plot modes.png",
          .needs = AnalysisNeeds::plasma,
          .span = AnalysisSpan::last_moment,
          .keys = {},
          .analyze = analyze_modes};
}

}  // namespace pergola

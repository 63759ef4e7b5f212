#include "analysis/mode_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

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
  times_.push_back(time);
  const auto nx = static_cast<std::size_t>(cells_[0]), ny = static_cast<std::size_t>(cells_[1]);
  std::array<std::vector<double>, 3> means;  // over the other axes
  for (std::size_t axis = 0; axis < 3; ++axis) means[axis].assign(static_cast<std::size_t>(cells_[axis]), 0.0);
  for (std::size_t row = 0; row < field.size() / nx; ++row) {
    double sum = 0;
    for (std::size_t x = 0; x < nx; ++x) {
      const double value = field[row * nx + x];
      means[0][x] += value;
      sum += value;
    }
    means[1][row % ny] += sum;
    means[2][row / ny] += sum;
  }
  for (std::size_t axis = 0; axis < modes_.size(); ++axis) {
    for (double& mean : means[axis]) mean /= static_cast<double>(field.size());
    record_axis(axis, means[axis]);
  }
  record_wave(field);
}

void ModeRecorder::record_axis(std::size_t axis, const std::vector<double>& means) {
  const std::size_t n = means.size();
  for (int mode = 1; mode <= modes_[axis]; ++mode) {
    std::complex<double> sum = 0;
    for (std::size_t j = 0, phase = 0; j < n; ++j, phase = (phase + static_cast<std::size_t>(mode)) % n)
      sum += means[j] * phases_[axis][phase];
    axis_modes_[axis].push_back(sum);
  }
}

void ModeRecorder::record_wave(const std::vector<double>& field) {
  const auto phase = [this](std::size_t axis, std::size_t j) {
    const auto n = static_cast<std::int64_t>(cells_[axis]);
    const std::int64_t turn = (wave_mode_[axis] * static_cast<std::int64_t>(j) % n + n) % n;
    return phases_[axis][static_cast<std::size_t>(turn)];
  };
  const auto nx = static_cast<std::size_t>(cells_[0]), ny = static_cast<std::size_t>(cells_[1]);
  Series along_x;
  for (std::size_t x = 0; x < nx; ++x) along_x.push_back(phase(0, x));
  std::complex<double> total = 0;
  for (std::size_t row = 0; row < field.size() / nx; ++row) {
    std::complex<double> sum = 0;
    for (std::size_t x = 0; x < nx; ++x) sum += field[row * nx + x] * along_x[x];
    total += sum * phase(1, row % ny) * phase(2, row / ny);
  }
  wave_.push_back(total / static_cast<double>(field.size()));
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

}  // namespace pergola

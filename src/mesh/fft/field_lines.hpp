#pragma once
#include <cstdint>

#include "mesh/fft/fftw_lines.hpp"

namespace pergola {

/// The plans for lines of a field along its axes, for fixed numbers of lines at a time.
template <class Real>
struct FieldLines {
  static constexpr int row_batch = 16;  // x lines per FFTW call
  static constexpr int line_batch = 8;  // y and z lines per FFTW call

  BatchedLines<Real> x_forward, x_backward, y_forward, y_backward;
  FftwLines<Real> z_forward, z_backward;

  FieldLines() = default;
  /// Lengths along the axes; `pitch`: real numbers from a row to the next. In two dimensions a plane is a row.
  FieldLines(int x, int y, int z, std::int64_t pitch, bool flat) {
    const std::int64_t half = x / 2, kx_count = x / 2 + 1, rows = flat ? z : y;
    const LineLayout row{1, pitch / 2}, packed{1, half};
    x_forward = {x / 2, rows, row_batch, row, packed, FFTW_FORWARD};
    x_backward = {x / 2, rows, row_batch, packed, row, FFTW_BACKWARD};
    const LineLayout strided{kx_count, 1}, contiguous{1, y};
    if (!flat) {
      y_forward = {y, kx_count, line_batch, strided, contiguous, FFTW_FORWARD};
      y_backward = {y, kx_count, line_batch, contiguous, strided, FFTW_BACKWARD};
    }
    const LineLayout interleaved{line_batch, 1}, lines{1, z};
    z_forward = {z, line_batch, interleaved, lines, FFTW_FORWARD};
    z_backward = {z, line_batch, lines, interleaved, FFTW_BACKWARD};
  }
};

}  // namespace pergola

#include "models/wave_cube.hpp"

#include <algorithm>

#include "mesh/fft/fftw_lines.hpp"

namespace pergola {

namespace {

constexpr int batch = 8;  // lines per call of FFTW

using Raw = FftwLines<double>::Complex;
Raw* raw(std::complex<double>* values) { return reinterpret_cast<Raw*>(values); }

}  // namespace

WaveCube::WaveCube(int side, int threads)
    : side_(side), threads_(threads), values_(static_cast<std::size_t>(side) * side * side) {}

void WaveCube::to_places() { transform(FFTW_BACKWARD); }

void WaveCube::to_waves() {
  transform(FFTW_FORWARD);
  const double scale = 1 / static_cast<double>(size());
  each([&](std::complex<double>& value, std::size_t) { value *= scale; });
}

/// Lines along x, y and z in turn, through a copy. Cuts and batches depend on the side only.
void WaveCube::transform(int sign) {
  const std::int64_t n = side_, plane = n * n;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t value = axis == 0 ? 1 : axis == 1 ? n : plane, line = axis == 0 ? n : 1;
    const std::int64_t outer = axis == 2 ? n : plane;  // from one group of n lines to the next
    const FftwLines<double> full(side_, batch, {value, line}, {1, n}, sign);
    const FftwLines<double> rest(side_, side_ % batch, {value, line}, {1, n}, sign);
    parallel_for(threads_, n, [&](std::int64_t group) {
      std::vector<std::complex<double>> work(static_cast<std::size_t>(batch * n));
      for (std::int64_t first = 0; first < n; first += batch) {
        const std::int64_t lines = std::min<std::int64_t>(batch, n - first);
        std::complex<double>* begin = values_.data() + group * outer + first * line;
        (lines == batch ? full : rest).execute(raw(begin), raw(work.data()));
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t l = 0; l < lines; ++l)
            begin[l * line + i * value] = work[static_cast<std::size_t>(l * n + i)];
      }
    });
  }
}

}  // namespace pergola

#include "analysis/mode_powers.hpp"

#include <complex>

#include "device/parallel.hpp"
#include "mesh/fft/complex_fft.hpp"

namespace pergola {

std::vector<double> mode_powers(const Device& device, const double* first, const double* second,
                                const std::vector<double>& unwindow, int cells, int reach) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return mode_powers_cuda(device, first, second, unwindow, cells, reach);
  }
  constexpr std::int64_t chunk = 65536;
  const std::int64_t n = cells, width = 2 * std::int64_t{reach} + 1;
  std::vector<std::complex<double>> field(static_cast<std::size_t>(n * n * n));
  parallel_chunks(device.threads(), n * n * n, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) field[static_cast<std::size_t>(i)] = {first[i], second[i]};
  });
  ComplexFft(cells, device.threads()).forward(field);
  std::vector<double> powers(static_cast<std::size_t>(width * width * width));
  const ModePower body{reinterpret_cast<const double*>(field.data()), unwindow.data(), powers.data(), cells, reach};
  parallel_chunks(device.threads(), width * width * width, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
  return powers;
}

}  // namespace pergola

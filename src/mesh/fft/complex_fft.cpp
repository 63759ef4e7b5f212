#include "mesh/fft/complex_fft.hpp"

#include <algorithm>
#include <cstdint>

#include "device/parallel.hpp"

namespace pergola {

namespace {

fftw_complex* raw(std::complex<double>* values) { return reinterpret_cast<fftw_complex*>(values); }

}  // namespace

ComplexFft::ComplexFft(int n, int threads)
    : n_(n),
      threads_(threads),
      rows_(n, n, {1, n}, {1, n}, FFTW_FORWARD),
      columns_(n, n, {n, 1}, {n, 1}, FFTW_FORWARD),
      depths_(n, n, {std::int64_t{n} * n, 1}, {n, 1}, FFTW_FORWARD) {}

void ComplexFft::forward(std::vector<std::complex<double>>& field) const {
  const auto plane = static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_);
  parallel_for(threads_, n_, [&](std::int64_t z) {
    std::vector<std::complex<double>> work(plane);
    std::complex<double>* const here = field.data() + static_cast<std::size_t>(z) * plane;
    rows_.execute(raw(here), raw(work.data()));
    columns_.execute(raw(work.data()), raw(here));
  });
  parallel_for(threads_, n_, [&](std::int64_t y) {
    std::vector<std::complex<double>> work(plane);  // [z][x]
    std::complex<double>* const row = field.data() + y * n_;
    depths_.execute(raw(row), raw(work.data()));
    for (int z = 0; z < n_; ++z)
      std::copy_n(work.data() + std::int64_t{z} * n_, n_, row + static_cast<std::size_t>(z) * plane);
  });
}

}  // namespace pergola

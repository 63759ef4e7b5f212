#include "mesh/fft/complex_fft.hpp"

#include <algorithm>
#include <vector>

#include "device/parallel.hpp"
#include "mesh/fft/fftw_lines.hpp"

namespace pergola {

namespace {

constexpr int lines_per_call = 8;  // of FFTW

using Complex = std::complex<double>;
using Raw = FftwLines<double>::Complex;
Raw* raw(Complex* values) { return reinterpret_cast<Raw*>(values); }

}  // namespace

ComplexFft::ComplexFft(int side, int threads, const std::shared_ptr<Communicator>& ranks)
    : side_(side),
      threads_(threads),
      ranks_(ranks),
      transposition_(ranks, side, 1, std::int64_t{side} * side, lines_per_call) {}

void ComplexFft::forward(Complex* values) { transform(values, FFTW_FORWARD); }
void ComplexFft::backward(Complex* values) { transform(values, FFTW_BACKWARD); }

/// Lines along x, y and z in turn. Cuts, batches and the places of numbers in memory that FFTW sees depend on the side
/// only.
void ComplexFft::transform(Complex* values, int sign) {
  transform_in_planes(values, sign);
  const std::int64_t plane = std::int64_t{side_} * side_;
  if (ranks_->size() == 1) return transform_columns(values, plane, sign);
  std::vector<Complex> message(static_cast<std::size_t>(planes().count() * plane)), room;
  Complex* columns = values;  // once the planes are packed, where they leave enough of it
  if (transposition_.columns_size() > std::ssize(message)) {
    room.resize(static_cast<std::size_t>(transposition_.columns_size()));
    columns = room.data();
  }
  parallel_for(threads_, planes().count(),
               [&](std::int64_t p) { transposition_.pack(p, values + p * plane, message.data()); });
  transposition_.to_columns(message.data(), columns);
  transform_columns(columns, transposition_.columns(), sign);
  transposition_.to_planes(columns, message.data());
  parallel_for(threads_, planes().count(),
               [&](std::int64_t p) { transposition_.unpack(p, message.data(), values + p * plane); });
}

void ComplexFft::transform_in_planes(Complex* values, int sign) const {
  const std::int64_t n = side_;
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t value = axis == 0 ? 1 : n, line = axis == 0 ? n : 1;
    const FftwLines<double> full(side_, lines_per_call, {value, line}, {1, n}, sign);
    const FftwLines<double> rest(side_, side_ % lines_per_call, {value, line}, {1, n}, sign);
    parallel_for(threads_, planes().count(), [&](std::int64_t plane) {
      std::vector<Complex> work(static_cast<std::size_t>(lines_per_call * n));
      for (std::int64_t first = 0; first < n; first += lines_per_call) {
        const std::int64_t lines = std::min<std::int64_t>(lines_per_call, n - first);
        Complex* begin = values + plane * n * n + first * line;
        (lines == lines_per_call ? full : rest).execute(raw(begin), raw(work.data()));
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t l = 0; l < lines; ++l)
            begin[l * line + i * value] = work[static_cast<std::size_t>(l * n + i)];
      }
    });
  }
}

void ComplexFft::transform_columns(Complex* columns, std::int64_t count, int sign) const {
  const std::int64_t n = side_;
  const FftwLines<double> full(side_, lines_per_call, {lines_per_call, 1}, {1, n}, sign);
  const FftwLines<double> rest(side_, static_cast<int>(count % lines_per_call), {lines_per_call, 1}, {1, n}, sign);
  parallel_for(threads_, (count + lines_per_call - 1) / lines_per_call, [&](std::int64_t b) {
    std::vector<Complex> in(static_cast<std::size_t>(lines_per_call * n)), out(in.size());
    const std::int64_t lines = std::min<std::int64_t>(lines_per_call, count - b * lines_per_call);
    Complex* const begin = columns + b * lines_per_call;
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(begin + i * count, lines, in.data() + i * lines_per_call);
    (lines == lines_per_call ? full : rest).execute(raw(in.data()), raw(out.data()));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t l = 0; l < lines; ++l) begin[i * count + l] = out[static_cast<std::size_t>(l * n + i)];
  });
}

}  // namespace pergola

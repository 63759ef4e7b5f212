#pragma once
// What the passes of the FFT Poisson solver on the CPU (mesh/fft/poisson_fft_cpu.cpp) are made of.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "device/buffer.hpp"
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

/// Numbers (t, t') of a line of twiddle factors as a SIMD product wants them: real parts twice, and −imaginary part,
/// imaginary part.
template <class Real>
struct TwiddleLine {
  const Real* real;
  const Real* imaginary;
};

/// For k = 1 … half/2: out_k = e + t d and out_{half−k} = (e − t d)* with e = scale (in_k + in*_{half−k}),
/// d = in_k − in*_{half−k} and t the k-th twiddle factor. Places 0 and half are not touched. in ≠ out.
template <class Real>
void mirror_butterfly(int half, Real scale, const TwiddleLine<Real>& twiddle, const std::complex<Real>* in,
                      std::complex<Real>* out);

/// line_k *= scale · green_k for k = 0 … n/2 and line_{n−k} *= scale · green_k for the others; n even.
template <class Real>
void multiply_even(int n, Real scale, const Real* green, std::complex<Real>* line);

/// A real transform of even length n as a complex one of length n/2 of z_j = x_2j + i x_2j+1, which FFTW does several
/// times faster than its own real transforms. With Z the transform of z, w = exp(−2πi/n),
/// E_k = (Z_k + Z*_{n/2−k}) / 2 and O_k = (Z_k − Z*_{n/2−k}) / 2i: X_k = E_k + w^k O_k and X_{n/2−k} = (E_k − w^k
/// O_k)*. Press et al. 2007, Numerical Recipes, section 12.3.
template <class Real>
class HalfComplex {
 public:
  explicit HalfComplex(int n) : half_(n / 2) {
    for (int k = 0; k <= half_ / 2; ++k) {
      const double angle = -2 * M_PI * k / n, c = std::cos(angle), s = std::sin(angle);
      split_.add(s / 2, -c / 2);  // −i w^k / 2
      join_.add(s, c);            // i w^−k
    }
  }
  /// Z (n/2 values) → X (n/2 + 1 values).
  void split(const std::complex<Real>* packed, std::complex<Real>* modes) const {
    modes[0] = {packed[0].real() + packed[0].imag(), 0};
    modes[half_] = {packed[0].real() - packed[0].imag(), 0};
    mirror_butterfly(half_, Real(0.5), split_.line(), packed, modes);
  }
  /// X → Z such that the backward transform of Z is n z: neither direction is normalised.
  void join(const std::complex<Real>* modes, std::complex<Real>* packed) const {
    packed[0] = {modes[0].real() + modes[half_].real(), modes[0].real() - modes[half_].real()};
    mirror_butterfly(half_, Real(1), join_.line(), modes, packed);
  }

 private:
  struct Twiddles {
    std::vector<Real> real, imaginary;
    void add(double re, double im) {
      real.insert(real.end(), 2, static_cast<Real>(re));
      imaginary.insert(imaginary.end(), {static_cast<Real>(-im), static_cast<Real>(im)});
    }
    TwiddleLine<Real> line() const { return {real.data(), imaginary.data()}; }
  };

  int half_;
  Twiddles split_, join_;
};

/// Lines across planes in memory that has them plane by plane: value z of line l at [z * plane + l].
template <class Real>
struct Columns {
  std::complex<Real>* data;
  std::int64_t plane;

  std::complex<Real>* at(std::int64_t z) const { return data + z * plane; }
};

/// Takes some of these lines out together and puts them back. A block has value z of line l at [l / batch][z][l %
/// batch].
template <class Real, int batch>
class LineBlocks {
  using Complex = std::complex<Real>;

 public:
  /// Of lines of some length the first `cells` values are read, the others are 0. Written are these and, with `beyond`,
  /// those next to them: the last one of the line behind them all, or, with `before`, as number −1.
  LineBlocks() = default;
  LineBlocks(int cells, int length, bool beyond, bool before)
      : cells_(cells), length_(length), beyond_(beyond), before_(before) {}

  void read(const Columns<Real>& field, std::int64_t begin, std::int64_t end, Complex* block) const {
    for (int z = 0; z < cells_; ++z)
      each_batch(begin, end, z, [&](std::int64_t line, std::int64_t in_block, auto count) {
        std::memcpy(block + in_block, field.at(z) + line, count * sizeof(Complex));
      });
    for (std::int64_t first = begin; first < end && cells_ < length_; first += batch)
      std::fill_n(block + (first - begin) * length_ + cells_ * batch, (length_ - cells_) * batch, Complex(0));
  }
  void write(const Columns<Real>& field, std::int64_t begin, std::int64_t end, const Complex* block) const {
    for (int z = 0; z < length_; ++z) {
      const bool of_grid = z < cells_, next = z == cells_ || z == length_ - 1;
      if (!of_grid && !(next && beyond_)) continue;
      const int at = before_ && z > cells_ ? -1 : z;
      each_batch(begin, end, z, [&](std::int64_t line, std::int64_t in_block, auto count) {
        std::memcpy(field.at(at) + line, block + in_block, count * sizeof(Complex));
      });
    }
  }

 private:
  /// Copies between a plane of the field and the block for one z, copy(line, in block, count) per batch of lines.
  template <class Copy>
  void each_batch(std::int64_t begin, std::int64_t end, int z, const Copy& copy) const {
    for (std::int64_t first = begin; first < end; first += batch) {
      const std::int64_t in_block = (first - begin) * length_ + z * batch;
      if (first + batch <= end)
        copy(first, in_block, std::integral_constant<int, batch>());
      else
        copy(first, in_block, static_cast<int>(end - first));
    }
  }

  int cells_ = 0, length_ = 0;
  bool beyond_ = false, before_ = false;
};

/// Work memory of the same size for each thread of a device; a thread borrows a piece and gives it back.
class ThreadMemory {
 public:
  ThreadMemory(const Device& device, std::int64_t bytes) : memory_(device, bytes * device.threads()) {
    memory_.zero();
    for (int t = 0; t < device.threads(); ++t) free_.push_back(memory_.data() + t * bytes);
  }
  std::size_t bytes() const { return memory_.bytes(); }
  template <class Body>
  void lend(const Body& body) {
    std::byte* memory;
    {
      const std::lock_guard lock(mutex_);
      memory = free_.back();
      free_.pop_back();
    }
    body(memory);
    const std::lock_guard lock(mutex_);
    free_.push_back(memory);
  }

 private:
  Buffer<std::byte> memory_;
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};

}  // namespace pergola

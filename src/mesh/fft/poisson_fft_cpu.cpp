#include <algorithm>
#include <complex>
#include <cstring>
#include <mutex>

#include "base/error.hpp"
#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "mesh/fft/fftw_lines.hpp"
#include "mesh/fft/half_complex.hpp"
#include "mesh/fft/poisson_fft.hpp"

namespace pergola {

namespace {

constexpr int row_batch = 16;    // x lines per FFTW call
constexpr int line_batch = 8;    // y and z lines per FFTW call
constexpr int block_lines = 32;  // z lines that are taken out of the field together

/// Lines in batches of a fixed size and a last one with the rest.
template <class Real>
class BatchedLines {
 public:
  BatchedLines() = default;
  BatchedLines(int length, std::int64_t lines, int batch, LineLayout from, LineLayout to, int sign)
      : batch_(batch),
        full_(length, batch, from, to, sign),
        rest_(length, static_cast<int>(lines % batch), from, to, sign) {}
  const FftwLines<Real>& plan(std::int64_t lines) const { return lines == batch_ ? full_ : rest_; }

 private:
  int batch_ = 1;
  FftwLines<Real> full_, rest_;
};

/// Three passes over the field. Forward: real lines along x and lines along y, plane by plane. Middle: lines along z,
/// the product with the Green factors, lines back. Backward: the first pass in reverse. Between the passes a plane
/// holds its modes with y fastest, [kx][ky], for FFTW reads strided lines faster than it writes them. In two dimensions
/// the plane is a row, and y stands for z. All cuts are independent of the number of threads, and so are the bits.
template <class Real>
class PoissonFftCpu final : public PoissonSolver<Real> {
  using Complex = std::complex<Real>;
  using Raw = typename Fftw<Real>::Complex;

 public:
  PoissonFftCpu(const Device& device, const Grid& grid, const PoissonFftOptions& options)
      : device_(device),
        flat_(grid.dimensions == 2),
        spectral_(options.spectral_force),
        axes_(make_fft_axes(grid, options)),
        x_(axes_.axis[0]),
        y_(flat_ ? axes_.axis[2] : axes_.axis[1]),
        z_(flat_ ? axes_.axis[1] : axes_.axis[2]),
        kx_count_(x_.length / 2 + 1),
        pitch_((kx_count_ + 1) / 2 * 4),
        plane_(std::int64_t{y_.length} * pitch_ / 2),
        columns_(std::int64_t{kx_count_} * y_.length),
        half_complex_(x_.length) {
    make_plans();
    const auto green = grid.periodic() ? periodic_green_transform(axes_, device.threads())
                                       : open_space_green_transform(axes_, device.threads());
    green_ = Buffer<Real>(device, std::int64_t(green.size()));
    std::transform(green.begin(), green.end(), green_.data(), [](double g) { return static_cast<Real>(g); });
    work_size_ = whole_lines(flat_ ? 0 : columns_) + whole_lines(row_batch * x_.length / 2) +
                 whole_lines(block_lines * z_.length) + whole_lines(line_batch * z_.length);
    work_ = Buffer<Complex>(device, work_size_ * device.threads());
    work_.zero();
    for (int t = 0; t < device.threads(); ++t) free_.push_back(work_.data() + t * work_size_);
  }

  Field<Real> layout() const override {
    return {nullptr, x_.length, flat_ ? z_.length : y_.length, flat_ ? 1 : z_.length, pitch_, true};
  }
  std::int64_t scratch_bytes() const override {
    return spectral_ ? columns_ * z_.length * std::int64_t{sizeof(Complex)} : 0;
  }
  std::int64_t own_bytes() const override { return static_cast<std::int64_t>(green_.bytes() + work_.bytes()); }

  void solve(const Field<Real>& field, double factor, void* scratch) override {
    const Real scale = static_cast<Real>(factor * axes_.unit_length * axes_.unit_length);
    Complex* kept = spectral_ ? static_cast<Complex*>(scratch) : nullptr;
    each_plane(z_.cells, [&](std::int64_t begin, std::int64_t end, const Work& work) {
      flat_ ? rows_forward(field.data, begin, end, work) : plane_forward(field.data, begin, work);
    });
    each_block([&](std::int64_t begin, std::int64_t end, const Work& work) {
      solve_lines(modes(field), begin, end, scale, kept, work);
    });
    to_real(field);
  }

  void spectral_force(int axis, const Field<Real>& force, void* scratch) override {
    if (!spectral_) throw Error(ErrorKind::input, "mesh: the spectral force was not among the options of the solver");
    const Complex* kept = static_cast<const Complex*>(scratch);
    each_block([&](std::int64_t begin, std::int64_t end, const Work& work) {
      differentiate_lines(kept, axis, begin, end, modes(force), work);
    });
    to_real(force);
  }

 private:
  /// The memory of one thread.
  struct Work {
    Complex* plane;   // modes of a plane, [y][kx]
    Complex* packed;  // a batch of rows
    Complex* block;   // z lines as they stand in the field, [line / line_batch][z][line % line_batch]
    Complex* lines;   // a batch of z lines, [line][z]
  };

  static std::int64_t whole_lines(std::int64_t count) { return (count + 7) / 8 * 8; }
  static Raw* raw(Complex* values) { return reinterpret_cast<Raw*>(values); }
  static Complex* modes(const Field<Real>& field) { return reinterpret_cast<Complex*>(field.data); }

  void make_plans() {
    const std::int64_t half = x_.length / 2, rows = flat_ ? z_.length : y_.length;
    const LineLayout row{1, pitch_ / 2}, packed{1, half};
    x_forward_ = {x_.length / 2, rows, row_batch, row, packed, FFTW_FORWARD};
    x_backward_ = {x_.length / 2, rows, row_batch, packed, row, FFTW_BACKWARD};
    const LineLayout strided{kx_count_, 1}, contiguous{1, y_.length};
    if (!flat_) {
      y_forward_ = {y_.length, kx_count_, line_batch, strided, contiguous, FFTW_FORWARD};
      y_backward_ = {y_.length, kx_count_, line_batch, contiguous, strided, FFTW_BACKWARD};
    }
    const LineLayout interleaved{line_batch, 1}, lines{1, z_.length};
    z_forward_ = {z_.length, line_batch, interleaved, lines, FFTW_FORWARD};
    z_backward_ = {z_.length, line_batch, lines, interleaved, FFTW_BACKWARD};
  }

  /// Lends the memory of one thread to body.
  template <class Body>
  void with_work(const Body& body) {
    Complex* memory;
    {
      const std::lock_guard lock(free_mutex_);
      memory = free_.back();
      free_.pop_back();
    }
    Work work;
    work.plane = memory;
    work.packed = work.plane + whole_lines(flat_ ? 0 : columns_);
    work.block = work.packed + whole_lines(row_batch * x_.length / 2);
    work.lines = work.block + whole_lines(block_lines * z_.length);
    body(work);
    const std::lock_guard lock(free_mutex_);
    free_.push_back(memory);
  }

  /// body(first, last, work) for single planes, in two dimensions for batches of rows.
  template <class Body>
  void each_plane(std::int64_t count, const Body& body) {
    parallel_chunks(device_.threads(), count, flat_ ? row_batch : 1, [&](std::int64_t begin, std::int64_t end) {
      with_work([&](const Work& work) { body(begin, end, work); });
    });
  }
  template <class Body>
  void each_block(const Body& body) {
    parallel_chunks(device_.threads(), columns_, block_lines, [&](std::int64_t begin, std::int64_t end) {
      with_work([&](const Work& work) { body(begin, end, work); });
    });
  }

  /// Two dimensions: rows begin … end − 1, at most a batch, in place.
  void rows_forward(Real* field, std::int64_t begin, std::int64_t end, const Work& work) {
    Complex* row = reinterpret_cast<Complex*>(field + begin * pitch_);
    x_forward_.plan(end - begin).execute(raw(row), raw(work.packed));
    for (std::int64_t r = 0; r < end - begin; ++r)
      half_complex_.split(work.packed + r * x_.length / 2, row + r * pitch_ / 2);
  }
  void rows_backward(Real* field, std::int64_t begin, std::int64_t end, const Work& work) {
    Complex* row = reinterpret_cast<Complex*>(field + begin * pitch_);
    for (std::int64_t r = 0; r < end - begin; ++r)
      half_complex_.join(row + r * pitch_ / 2, work.packed + r * x_.length / 2);
    x_backward_.plan(end - begin).execute(raw(work.packed), raw(row));
  }

  void plane_forward(Real* field, std::int64_t z, const Work& work) {
    Complex* plane = reinterpret_cast<Complex*>(field) + z * plane_;
    for (std::int64_t begin = 0; begin < y_.cells; begin += row_batch) {
      const std::int64_t count = std::min<std::int64_t>(row_batch, y_.length - begin);
      x_forward_.plan(count).execute(raw(plane + begin * pitch_ / 2), raw(work.packed));
      for (std::int64_t r = 0; r < count; ++r)
        half_complex_.split(work.packed + r * x_.length / 2, work.plane + (begin + r) * kx_count_);
    }
    // Rows of the padding that the last batch did not reach.
    const std::int64_t done = std::min<std::int64_t>((y_.cells + row_batch - 1) / row_batch * row_batch, y_.length);
    std::fill(work.plane + done * kx_count_, work.plane + columns_, Complex(0));
    for (std::int64_t kx = 0; kx < kx_count_; kx += line_batch)
      y_forward_.plan(std::min<std::int64_t>(line_batch, kx_count_ - kx))
          .execute(raw(work.plane + kx), raw(plane + kx * y_.length));
  }
  void plane_backward(Real* field, std::int64_t z, const Work& work) {
    Complex* plane = reinterpret_cast<Complex*>(field) + z * plane_;
    for (std::int64_t kx = 0; kx < kx_count_; kx += line_batch)
      y_backward_.plan(std::min<std::int64_t>(line_batch, kx_count_ - kx))
          .execute(raw(plane + kx * y_.length), raw(work.plane + kx));
    for (std::int64_t begin = 0; begin < y_.length; begin += row_batch) {
      const std::int64_t count = std::min<std::int64_t>(row_batch, y_.length - begin);
      if (begin > y_.cells && begin + count < y_.length) continue;  // only cells −1 … n are wanted of the padding
      for (std::int64_t r = 0; r < count; ++r)
        half_complex_.join(work.plane + (begin + r) * kx_count_, work.packed + r * x_.length / 2);
      x_backward_.plan(count).execute(raw(work.packed), raw(plane + begin * pitch_ / 2));
    }
  }

  void to_real(const Field<Real>& field) {
    const bool padded = z_.length > z_.cells;  // then planes 0 … n and the last, which is −1
    each_plane(padded ? z_.cells + 2 : z_.length, [&](std::int64_t begin, std::int64_t end, const Work& work) {
      if (flat_)
        rows_backward(field.data, begin, end, work);
      else
        plane_backward(field.data, begin <= z_.cells ? begin : z_.length - 1, work);
    });
  }

  /// The middle pass for lines begin … end − 1 of the [kx][ky] that every plane holds.
  void solve_lines(Complex* field, std::int64_t begin, std::int64_t end, Real scale, Complex* kept, const Work& work) {
    read_block(field, begin, end, work);
    for (std::int64_t first = begin; first < end; first += line_batch) {
      Complex* interleaved = work.block + (first - begin) * z_.length;
      z_forward_.execute(raw(interleaved), raw(work.lines));
      const std::int64_t last = std::min(end, first + line_batch);
      for (std::int64_t line = first; line < last; ++line)
        multiply_even(z_.length, scale, green_line(line), work.lines + (line - first) * z_.length);
      if (kept) std::copy_n(work.lines, (last - first) * z_.length, kept + first * z_.length);
      z_backward_.execute(raw(work.lines), raw(interleaved));
    }
    write_block(field, begin, end, work);
  }

  /// −∂/∂axis of the kept modes is −i k times them.
  void differentiate_lines(const Complex* kept, int axis, std::int64_t begin, std::int64_t end, Complex* field,
                           const Work& work) {
    const auto& k = axes_.axis[axis].wave_number;
    for (std::int64_t first = begin; first < end; first += line_batch) {
      const std::int64_t last = std::min(end, first + line_batch);
      for (std::int64_t line = first; line < last; ++line)
        for (int z = 0; z < z_.length; ++z) {
          const std::int64_t mode = axis == 0 ? line / y_.length : axis == 1 && !flat_ ? line % y_.length : z;
          const Real wave_number = static_cast<Real>(k[mode]);
          const Complex value = kept[line * z_.length + z];
          work.lines[(line - first) * z_.length + z] = {wave_number * value.imag(), -wave_number * value.real()};
        }
      z_backward_.execute(raw(work.lines), raw(work.block + (first - begin) * z_.length));
    }
    write_block(field, begin, end, work);
  }

  /// Copies between the field and the block for one z, to(in field, in block, count) per batch of lines.
  template <class Copy>
  void each_batch(std::int64_t begin, std::int64_t end, int z, const Copy& copy) const {
    for (std::int64_t first = begin; first < end; first += line_batch) {
      const std::int64_t in_field = z * plane_ + first, in_block = (first - begin) * z_.length + z * line_batch;
      if (first + line_batch <= end)
        copy(in_field, in_block, std::integral_constant<int, line_batch>());
      else
        copy(in_field, in_block, static_cast<int>(end - first));
    }
  }
  void read_block(const Complex* field, std::int64_t begin, std::int64_t end, const Work& work) {
    for (int z = 0; z < z_.cells; ++z)
      each_batch(begin, end, z, [&](std::int64_t in_field, std::int64_t in_block, auto count) {
        std::memcpy(work.block + in_block, field + in_field, count * sizeof(Complex));
      });
    for (std::int64_t first = begin; first < end && z_.cells < z_.length; first += line_batch)
      std::fill_n(work.block + (first - begin) * z_.length + z_.cells * line_batch, (z_.length - z_.cells) * line_batch,
                  Complex(0));
  }
  void write_block(Complex* field, std::int64_t begin, std::int64_t end, const Work& work) {
    for (int z = 0; z < z_.length; ++z) {
      if (z > z_.cells && z < z_.length - 1) continue;  // as in to_real()
      each_batch(begin, end, z, [&](std::int64_t in_field, std::int64_t in_block, auto count) {
        std::memcpy(field + in_field, work.block + in_block, count * sizeof(Complex));
      });
    }
  }

  const Real* green_line(std::int64_t line) const {
    const std::int64_t kx = line / y_.length, ky = line % y_.length;
    return green_.data() +
           (kx * (y_.length / 2 + 1) + std::min<std::int64_t>(ky, y_.length - ky)) * (z_.length / 2 + 1);
  }
  Device device_;
  bool flat_, spectral_;
  FftAxes axes_;
  FftAxis &x_, &y_, &z_;  // y_ and z_ change places in two dimensions: y_ has length 1
  int kx_count_;
  std::int64_t pitch_, plane_, columns_;  // plane_: modes from one plane to the next
  HalfComplex<Real> half_complex_;
  BatchedLines<Real> x_forward_, x_backward_, y_forward_, y_backward_;
  FftwLines<Real> z_forward_, z_backward_;
  Buffer<Real> green_;
  std::int64_t work_size_ = 0;
  Buffer<Complex> work_;
  std::mutex free_mutex_;
  std::vector<Complex*> free_;
};

}  // namespace

template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson_fft_cpu(const Device& device, const Grid& grid,
                                                          const PoissonFftOptions& options) {
  return std::make_unique<PoissonFftCpu<Real>>(device, grid, options);
}

template std::unique_ptr<PoissonSolver<float>> make_poisson_fft_cpu(const Device&, const Grid&,
                                                                    const PoissonFftOptions&);
template std::unique_ptr<PoissonSolver<double>> make_poisson_fft_cpu(const Device&, const Grid&,
                                                                     const PoissonFftOptions&);

}  // namespace pergola

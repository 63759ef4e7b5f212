// Poisson's equation by FFT on the CPU, in two or three dimensions, on one process or with planes shared over ranks.
// FFTW transforms lines in batches; real lines along x are complex ones of half the length and a butterfly
// (HalfComplex). Threads take planes, then blocks of lines along z; each works in memory of its own (Work).
#include <fmt/core.h>

#include <algorithm>
#include <complex>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "device/arena.hpp"
#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "mesh/fft/poisson_fft.hpp"
#include "mesh/fft/poisson_lines.hpp"
#include "mesh/fft/transposition.hpp"

namespace pergola {

namespace {

constexpr int row_batch = FieldLines<float>::row_batch, line_batch = FieldLines<float>::line_batch;
constexpr int block_lines = 32;  // z lines that are taken out of the field together

/// Three passes over the field. Forward: real lines along x and lines along y, plane by plane. Middle: lines along z,
/// the product with the Green factors, lines back. Backward: the first pass in reverse. Between the passes a plane
/// holds its modes with y fastest, [kx][ky], for FFTW reads strided lines faster than it writes them. In two dimensions
/// the plane is a row, and y stands for z. All cuts are independent of the number of threads, and so are the bits.
///
/// Where ranks share the field out, each does the first and last pass for its planes and the middle one for its share
/// of the lines along z. A Transposition in between sends them: the same batches of the same lines.
/// Planes of the padding along z exist nowhere then, but for the two beyond the grid where they are wanted.
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
    if (options.ranks && flat_ && options.slab_unit % row_batch != 0)
      throw Error(ErrorKind::input,
                  fmt::format("mesh: expected slabs of a multiple of {} rows in two dimensions, found "
                              "units of {}",
                              row_batch, options.slab_unit));
    if (options.ranks) {
      const int beyond = z_.cells < z_.length && options.planes_beyond ? 1 : 0;
      slabs_.emplace(options.ranks, z_.cells, options.slab_unit, columns_, line_batch, beyond);
      ranks_ = options.ranks;
    }
    plans_ = {x_.length, y_.length, z_.length, pitch_, flat_};
    blocks_ = {z_.cells, z_.length, !slabs_ || slabs_->columns_before() > 0, slabs_.has_value()};
    const std::int64_t own_first = first_column(), own_last = own_first + own_columns() - 1;
    green_first_ = static_cast<int>(own_first / y_.length);
    green_count_ = own_columns() > 0 ? static_cast<int>(own_last / y_.length) - green_first_ + 1 : 0;
    green_ = Buffer<Real>(device, std::int64_t{green_count_} * (y_.length / 2 + 1) * (z_.length / 2 + 1));
    if (grid.periodic()) keep_green(periodic_green_transform(axes_, device.threads(), green_first_, green_count_));
    if (!grid.periodic() && !slabs_) find_open_space_green();
    work_.emplace(device, lay_out(nullptr).second);
  }

  /// Planes of a slab are padded along x and y only.
  Field<Real> layout() const override {
    const int planes = slabs_ ? slabs_->planes().count() : z_.length;
    return {nullptr, x_.length, flat_ ? planes : y_.length, flat_ ? 1 : planes, pitch_, true};
  }
  std::int64_t scratch_bytes() const override {
    return (kept_size() + (slabs_ ? slabs_->size() : 0)) * std::int64_t{sizeof(Complex)};
  }
  std::int64_t own_bytes() const override { return static_cast<std::int64_t>(green_.bytes() + work_->bytes()); }

  /// The field is a density before and the potential after.
  void solve(const Field<Real>& field, double factor, void* scratch) override {
    to_modes(field, factor, scratch, nullptr);
    to_real(columns_of(field, scratch), field, packed_in(scratch));
    has_planes_ = false;
  }
  /// Leaves the potential's modes in planes, from which spectral_force() makes one component after the other.
  void solve_for_forces(const Field<Real>& field, double factor, void* scratch) override {
    check_spectral();
    to_modes(field, factor, scratch, nullptr);
    in_planes_ = modes(field), has_planes_ = true;
    if (!slabs_) return;
    Complex* const packed = packed_in(scratch);
    slabs_->to_planes(columns_of(field, scratch).data, packed);
    each_plane(slabs_->back_count(), [&](std::int64_t begin, std::int64_t end, const Work&) {
      for (std::int64_t plane = begin; plane < end; ++plane) take_plane(plane, packed, field);
    });
  }

  /// The same with the component across the planes in a second field; give_forces() hands out all three by rows.
  void solve_for_forces(const Field<Real>& field, const Field<Real>& across, double factor, void* scratch) override {
    check_spectral();
    const Columns columns = across_of(across, scratch);
    to_modes(field, factor, scratch, &columns);
    in_planes_ = modes(field), has_planes_ = true;
    if (slabs_) slabs_->to_planes(columns_of(field, scratch).data, packed_in(scratch), columns.data, modes(across));
  }
  void give_forces(const Field<Real>& field, const Field<Real>& across, void* scratch,
                   const TakeForces<Real>& take) override {
    const Complex* const packed = packed_in(scratch);
    const Complex* const packed_across = modes(across);
    each_plane(slabs_ ? slabs_->planes().count() : z_.cells, [&](std::int64_t z, std::int64_t, const Work& work) {
      const Complex* of_across = modes(across) + z * plane_;
      if (slabs_) {
        take_plane(z + slabs_->before(), packed, field);
        slabs_->unpack(z + slabs_->before(), packed_across, work.plane[0]);
        of_across = work.plane[0];
      }
      columns_backward(of_across, 3, work.plane[2], work);
      for (const int axis : {0, 1}) columns_backward(modes(field) + z * plane_, axis, work.plane[axis], work);
      ForceRows<Real> rows{.plane = static_cast<int>(z), .pitch = pitch_};
      for (int axis = 0; axis < 3; ++axis) rows.along[axis] = reinterpret_cast<const Real*>(work.rows[axis]);
      for (int begin = 0; begin < y_.cells; begin += row_batch) {
        for (int axis = 0; axis < 3; ++axis) batch_backward(work.plane[axis], begin, work.rows[axis], work);
        rows.first = begin, rows.count = std::min(row_batch, y_.cells - begin);
        take(rows);
      }
    });
  }

  /// Axis 3 is the potential itself.
  void spectral_force(int axis, const Field<Real>& force, void* scratch) override {
    check_spectral();
    if (has_planes_ && (axis == 3 || !is_across(axis)))
      return each_plane_back([&](std::int64_t begin, std::int64_t end, const Work& work) {
        planes_backward(in_planes_, axis, force.data, begin, end, work);
      });
    if (!has_kept_) throw Error(ErrorKind::input, "mesh: the force across planes was found together with the others");
    const Complex* const kept = static_cast<const Complex*>(scratch);
    const Columns columns = columns_of(force, scratch);
    each_block([&](std::int64_t begin, std::int64_t end, const Work& work) {
      differentiate_lines(kept, axis, begin, end, columns, work);
    });
    to_real(columns, force, packed_in(scratch));
  }

 private:
  /// The memory of one thread.
  struct Work {
    Complex* plane[3];  // modes of a plane, [y][kx]; where forces are found for all axes at once for each
    Complex* rows[3];   // then a batch of rows for each
    Complex* packed;    // a batch of rows
    Complex* batch;     // modes of a batch of lines along y, in two dimensions of a row
    Complex* block;     // z lines as they stand in the field (LineBlocks)
    Complex* across;    // the same, of the force across planes
    Complex* lines;     // a batch of z lines, [line][z]
  };
  using Columns = pergola::Columns<Real>;
  /// The lines along z that this rank works on.
  Columns columns_of(const Field<Real>& field, void* scratch) const {
    if (!slabs_) return {modes(field), plane_};
    return {static_cast<Complex*>(scratch) + kept_size() + slabs_->columns_before(), slabs_->columns()};
  }
  /// The same for the force across planes, where modes are not kept.
  Columns across_of(const Field<Real>& across, void* scratch) const {
    if (!slabs_) return {modes(across), plane_};
    return {static_cast<Complex*>(scratch) + slabs_->columns_before(), slabs_->columns()};
  }
  /// Messages to and from the ranks' planes, after the columns.
  Complex* packed_in(void* scratch) const {
    return slabs_ ? static_cast<Complex*>(scratch) + kept_size() + slabs_->columns_size() : nullptr;
  }
  /// Whether an axis is across the planes.
  bool is_across(int axis) const { return axis == (flat_ ? 1 : 2); }
  std::int64_t own_columns() const { return slabs_ ? slabs_->columns() : columns_; }
  std::int64_t first_column() const { return slabs_ ? slabs_->first_column() : 0; }
  std::int64_t kept_size() const { return spectral_ ? whole_lines(own_columns() * z_.length) : 0; }

  void keep_green(const std::vector<double>& green) {
    std::transform(green.begin(), green.end(), green_.data(), [](double g) { return static_cast<Real>(g); });
    has_green_ = true;
  }
  void find_open_space_green() {
    keep_green(open_space_green_transform(axes_, device_.threads(), ranks_.get(), green_first_, green_count_));
  }
  void check_spectral() const {
    if (!spectral_) throw Error(ErrorKind::input, "mesh: the spectral force was not among the options of the solver");
  }
  static std::int64_t whole_lines(std::int64_t count) { return (count + 7) / 8 * 8; }
  static Raw* raw(Complex* values) { return reinterpret_cast<Raw*>(values); }
  static Complex* modes(const Field<Real>& field) { return reinterpret_cast<Complex*>(field.data); }

  /// The parts of a thread's memory, and how many bytes it has.
  std::pair<Work, std::int64_t> lay_out(std::byte* memory) const {
    MemoryParts parts(memory);
    const auto part = [&](std::int64_t count) { return parts.take<Complex>(count); };
    const bool all_axes = spectral_ && !flat_;
    Work work;
    for (int a = 0; a < 3; ++a) {
      work.plane[a] = part(flat_ || (a > 0 && !all_axes) ? 0 : columns_);
      work.rows[a] = part(all_axes ? row_batch * pitch_ / 2 : 0);
    }
    work.packed = part(row_batch * x_.length / 2);
    work.batch = part(flat_ ? kx_count_ : std::int64_t{line_batch} * y_.length);
    work.block = part(block_lines * z_.length);
    work.across = part(all_axes ? block_lines * z_.length : 0);
    work.lines = part(line_batch * z_.length);
    return {work, parts.used()};
  }

  /// body(first, last, work) for single planes, in two dimensions for batches of rows.
  template <class Body>
  void each_plane(std::int64_t count, const Body& body) {
    parallel_chunks(device_.threads(), count, flat_ ? row_batch : 1, [&](std::int64_t begin, std::int64_t end) {
      work_->lend([&](std::byte* memory) { body(begin, end, lay_out(memory).first); });
    });
  }
  template <class Body>
  void each_block(const Body& body) {
    parallel_chunks(device_.threads(), own_columns(), block_lines, [&](std::int64_t begin, std::int64_t end) {
      work_->lend([&](std::byte* memory) { body(begin, end, lay_out(memory).first); });
    });
  }

  /// Two dimensions: rows begin … end − 1, at most a batch, in place.
  void rows_forward(Real* field, std::int64_t begin, std::int64_t end, const Work& work) {
    Complex* row = reinterpret_cast<Complex*>(field + begin * pitch_);
    plans_.x_forward.plan(end - begin).execute(raw(row), raw(work.packed));
    for (std::int64_t r = 0; r < end - begin; ++r)
      half_complex_.split(work.packed + r * x_.length / 2, row + r * pitch_ / 2);
  }
  void rows_backward(const Complex* from, int axis, Complex* to, std::int64_t begin, std::int64_t end,
                     const Work& work) {
    for (std::int64_t r = 0; r < end - begin; ++r)
      half_complex_.join(differentiated(from + (begin + r) * plane_, axis, 0, kx_count_, work),
                         work.packed + r * x_.length / 2);
    plans_.x_backward.plan(end - begin).execute(raw(work.packed), raw(to + begin * plane_));
  }

  /// Real rows along x to modes, then lines along y; the result has y fastest.
  void plane_forward(Real* field, std::int64_t z, const Work& work) {
    Complex* plane = reinterpret_cast<Complex*>(field) + z * plane_;
    for (std::int64_t begin = 0; begin < y_.cells; begin += row_batch) {
      const std::int64_t count = std::min<std::int64_t>(row_batch, y_.length - begin);
      plans_.x_forward.plan(count).execute(raw(plane + begin * pitch_ / 2), raw(work.packed));
      for (std::int64_t r = 0; r < count; ++r)
        half_complex_.split(work.packed + r * x_.length / 2, work.plane[0] + (begin + r) * kx_count_);
    }
    // Rows of the padding that the last batch did not reach.
    const std::int64_t done = std::min<std::int64_t>((y_.cells + row_batch - 1) / row_batch * row_batch, y_.length);
    std::fill(work.plane[0] + done * kx_count_, work.plane[0] + columns_, Complex(0));
    for (std::int64_t kx = 0; kx < kx_count_; kx += line_batch)
      plans_.y_forward.plan(std::min<std::int64_t>(line_batch, kx_count_ - kx))
          .execute(raw(work.plane[0] + kx), raw(plane + kx * y_.length));
  }
  /// The reverse; of the padding only the cells next to the grid are made.
  void plane_backward(const Complex* from, int axis, Complex* to, const Work& work) {
    columns_backward(from, axis, work.plane[0], work);
    for (int begin = 0; begin < y_.length; begin += row_batch) {
      if (begin > y_.cells && begin + row_batch < y_.length) continue;  // only cells −1 … n are wanted of the padding
      batch_backward(work.plane[0], begin, to + begin * pitch_ / 2, work);
    }
  }
  /// Lines along y of a plane, or of −∂/∂axis of it, to [y][kx].
  void columns_backward(const Complex* from, int axis, Complex* to, const Work& work) {
    for (std::int64_t kx = 0; kx < kx_count_; kx += line_batch) {
      const std::int64_t lines = std::min<std::int64_t>(line_batch, kx_count_ - kx), first = kx * y_.length;
      const Complex* const batch = differentiated(from + first, axis, first, lines * y_.length, work);
      plans_.y_backward.plan(lines).execute(reinterpret_cast<const Raw*>(batch), raw(to + kx));
    }
  }
  /// And from there a batch of rows, from one on.
  void batch_backward(const Complex* plane, int begin, Complex* to, const Work& work) {
    const int count = std::min(row_batch, y_.length - begin);
    for (int r = 0; r < count; ++r)
      half_complex_.join(plane + std::int64_t{begin + r} * kx_count_, work.packed + r * x_.length / 2);
    plans_.x_backward.plan(count).execute(raw(work.packed), raw(to));
  }
  /// −i k times modes of a plane from column `first` on, for an axis in the planes; else these themselves.
  const Complex* differentiated(const Complex* modes, int axis, std::int64_t first, std::int64_t count,
                                const Work& work) const {
    if (axis == 3) return modes;
    const auto& k = axes_.axis[axis].wave_number;
    for (std::int64_t at = 0; at < count; at += y_.length) {
      const Real kx = static_cast<Real>(axis == 0 ? k[(first + at) / y_.length] : 0.0);
      for (int y = 0; y < y_.length; ++y)
        work.batch[at + y] = turned(axis == 0 ? kx : static_cast<Real>(k[y]), modes[at + y]);
    }
    return work.batch;
  }
  static Complex turned(Real k, Complex mode) { return {k * mode.imag(), -k * mode.real()}; }

  /// From modes in planes to real numbers, or to −∂/∂axis of these: planes, in two dimensions rows, begin … end − 1.
  void planes_backward(const Complex* from, int axis, Real* to, std::int64_t begin, std::int64_t end,
                       const Work& work) {
    Complex* const out = reinterpret_cast<Complex*>(to);
    if (flat_) return rows_backward(from, axis, out, begin, end, work);
    plane_backward(from + begin * plane_, axis, out + begin * plane_, work);
  }
  /// body(first, last, work) for the planes that are wanted of a real field, in two dimensions for batches of rows.
  template <class Body>
  void each_plane_back(const Body& body) {
    const int before = slabs_ ? slabs_->before() : 0;
    const bool padded = z_.length > z_.cells;  // then planes 0 … n and the last, which is −1
    const std::int64_t count = slabs_ ? slabs_->back_count() : padded ? z_.cells + 2 : z_.length;
    each_plane(count, [&](std::int64_t begin, std::int64_t end, const Work& work) {
      if (!slabs_ && !flat_ && begin > z_.cells) begin = z_.length - 1, end = z_.length;
      body(begin - before, end - before, work);
    });
  }
  /// Out of a message, counted from the first plane that comes back.
  void take_plane(std::int64_t plane, const Complex* packed, const Field<Real>& field) const {
    slabs_->unpack(plane, packed, modes(field) + (plane - slabs_->before()) * plane_);
  }
  void to_real(const Columns& columns, const Field<Real>& field, Complex* packed) {
    if (slabs_) slabs_->to_planes(columns.data, packed);
    each_plane_back([&](std::int64_t begin, std::int64_t end, const Work& work) {
      for (std::int64_t plane = begin; slabs_ && plane < end; ++plane)
        take_plane(plane + slabs_->before(), packed, field);
      planes_backward(modes(field), 3, field.data, begin, end, work);
    });
  }

  /// From a density to the potential's modes, and from these along z back to columns of the field; also to those of
  /// the force across planes, or modes are kept where the options say so.
  void to_modes(const Field<Real>& field, double factor, void* scratch, const Columns* across) {
    if (!has_green_) find_open_space_green();  // all ranks together
    const Real scale = static_cast<Real>(factor * axes_.unit_length * axes_.unit_length);
    has_kept_ = spectral_ && !across;
    Complex* const kept = has_kept_ ? static_cast<Complex*>(scratch) : nullptr;
    const Columns columns = columns_of(field, scratch);
    Complex* const packed = packed_in(scratch);
    each_plane(slabs_ ? slabs_->planes().count() : z_.cells,
               [&](std::int64_t begin, std::int64_t end, const Work& work) {
                 flat_ ? rows_forward(field.data, begin, end, work) : plane_forward(field.data, begin, work);
                 for (std::int64_t plane = begin; slabs_ && plane < end; ++plane)
                   slabs_->pack(plane, modes(field) + plane * plane_, packed);
               });
    if (slabs_) slabs_->to_columns(packed, columns.data);
    each_block([&](std::int64_t begin, std::int64_t end, const Work& work) {
      solve_lines(columns, begin, end, scale, kept, across, work);
    });
  }

  /// The middle pass for lines begin … end − 1 of this rank's among the [kx][ky] that every plane holds.
  void solve_lines(const Columns& field, std::int64_t begin, std::int64_t end, Real scale, Complex* kept,
                   const Columns* across, const Work& work) {
    blocks_.read(field, begin, end, work.block);
    for (std::int64_t first = begin; first < end; first += line_batch) {
      Complex* interleaved = work.block + (first - begin) * z_.length;
      plans_.z_forward.execute(raw(interleaved), raw(work.lines));
      const std::int64_t last = std::min(end, first + line_batch);
      for (std::int64_t line = first; line < last; ++line)
        multiply_even(z_.length, scale, green_line(line), work.lines + (line - first) * z_.length);
      if (kept) std::copy_n(work.lines, (last - first) * z_.length, kept + first * z_.length);
      plans_.z_backward.execute(raw(work.lines), raw(interleaved));
      if (!across) continue;
      for (std::int64_t line = 0; line < last - first; ++line)
        differentiate_line(work.lines + line * z_.length, 2, 0, work.lines + line * z_.length);
      plans_.z_backward.execute(raw(work.lines), raw(work.across + (first - begin) * z_.length));
    }
    blocks_.write(field, begin, end, work.block);
    if (across) blocks_.write(*across, begin, end, work.across);
  }

  /// −∂/∂axis of the kept modes is −i k times them; axis 3: the potential.
  void differentiate_lines(const Complex* kept, int axis, std::int64_t begin, std::int64_t end, const Columns& field,
                           const Work& work) {
    for (std::int64_t first = begin; first < end; first += line_batch) {
      const std::int64_t last = std::min(end, first + line_batch);
      for (std::int64_t line = first; line < last; ++line)
        differentiate_line(kept + line * z_.length, axis, first_column() + line,
                           work.lines + (line - first) * z_.length);
      plans_.z_backward.execute(raw(work.lines), raw(work.block + (first - begin) * z_.length));
    }
    blocks_.write(field, begin, end, work.block);
  }
  /// `line` is one of all [kx][ky].
  void differentiate_line(const Complex* kept, int axis, std::int64_t line, Complex* to) const {
    if (axis == 3) return static_cast<void>(std::copy_n(kept, z_.length, to));
    const auto& k = axes_.axis[axis].wave_number;
    const bool across = is_across(axis);
    const Real same = static_cast<Real>(across ? 0.0 : k[axis == 0 ? line / y_.length : line % y_.length]);
    for (int z = 0; z < z_.length; ++z) to[z] = turned(across ? static_cast<Real>(k[z]) : same, kept[z]);
  }

  /// Green factors of a line along z. They are even in ky, of which half is stored.
  const Real* green_line(std::int64_t line) const {
    const std::int64_t of_all = first_column() + line;
    const std::int64_t kx = of_all / y_.length - green_first_, ky = of_all % y_.length;
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
  FieldLines<Real> plans_;
  LineBlocks<Real, line_batch> blocks_;
  std::shared_ptr<Communicator> ranks_;
  std::optional<Transposition<Complex>> slabs_;  // none: the whole field is here
  int green_first_ = 0, green_count_ = 0;        // the first kx that green_ has, and how many
  bool has_green_ = false;
  Buffer<Real> green_;
  std::optional<ThreadMemory> work_;
  bool has_kept_ = false;               // modes, for spectral_force()
  bool has_planes_ = false;             // after solve_for_forces(): forces along planes are made of in_planes_
  const Complex* in_planes_ = nullptr;  // the potential's modes in planes; none where a rank has no planes
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

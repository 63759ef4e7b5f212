// Poisson's equation by FFT for ranks that share the planes of the mesh, on GPUs. The transposition between planes and
// lines is in transposition_cuda.cuh; single GPUs use poisson_fft_cuda.cu.
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "device/arena.hpp"
#include "mesh/fft/cufft_plan.cuh"
#include "mesh/fft/line_solver.cuh"
#include "mesh/fft/mode_loops.cuh"
#include "mesh/fft/poisson_fft.hpp"
#include "mesh/fft/transposition_cuda.cuh"

namespace pergola {

namespace cuda {

namespace {

/// cuFFT chooses its kernels, and with them the last bits, by the number of transforms. From about 2²⁰ values on it
/// takes those that it takes for a whole mesh (H200, CUDA 13: planes of 8 to 512 cells a side).
constexpr std::int64_t plane_values = std::int64_t{1} << 21;
constexpr int line_batch = 1024;  // lines along z of a cuFFT call
constexpr int line_unit = 64;     // ranks get multiples of this number of lines

/// A thread takes one column and several kz.
template <class Body>
__global__ void each_column_mode_kernel(std::int64_t first_column, int columns, int kx_count, ColumnLayout layout,
                                        int planes_per_block, Body body) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= columns) return;
  const std::int64_t of_plane = first_column + column;
  const auto at = body.column(static_cast<int>(of_plane % kx_count), static_cast<int>(of_plane / kx_count));
  const int begin = static_cast<int>(blockIdx.y) * planes_per_block;
  const int end = min(begin + planes_per_block, layout.length);
  for (int kz = begin; kz < end; ++kz) at(kz, layout.index(column, kz));
}

/// The solver of mesh/fft/poisson_fft_cuda.cu for ranks that share the planes out, with the bits of one rank.
///
/// Steps: (1) each rank transforms its planes, (2) the field is transposed, (3) each rank transforms its share of the
/// lines along z, multiplies them with the Green factors and transforms them back, (4) the field is transposed back,
/// (5) planes are transformed back.
/// A plan is always for the same number of planes or lines, however thick the slab is; planes of a slab that do not
/// fill a plan are copied. In an isolated box planes are padded along x and y, lines along z. Of the planes beyond the
/// grid none comes back, or those next to it.
template <class Real>
class PoissonSlabsCuda final : public PoissonSolver<Real> {
  using Complex = typename Cufft<Real>::Complex;

 public:
  PoissonSlabsCuda(const Device& device, const Grid& grid, const PoissonFftOptions& options)
      : device_(device),
        ranks_(options.ranks),
        periodic_(grid.periodic()),
        spectral_(options.spectral_force),
        axes_(make_fft_axes(grid, options)),
        kx_count_(row_modes<Real>(periodic_, spectral_, axes_.axis[0].length, axes_.axis[2].length)),
        ny_(axes_.axis[1].length),
        nz_(axes_.axis[2].length),
        plane_(std::int64_t{kx_count_} * ny_),
        one_pass_(in_one_pass<Real>(periodic_, spectral_, nz_)),
        slabs_(messages_for(current(device_, grid), options), options.ranks, axes_.axis[2].cells, options.slab_unit,
               plane_, line_unit, !periodic_ && options.planes_beyond ? 1 : 0),
        layout_{one_pass_ ? std::max(1, static_cast<int>(slabs_.columns())) : line_batch, nz_},
        tables_(device_, axes_) {
    const std::int64_t wanted = (plane_values + plane_ - 1) / plane_;
    const int planes = axes_.axis[2].cells;
    batch_ = static_cast<int>(std::min<std::int64_t>(wanted, planes));
    back_batch_ = static_cast<int>(std::min<std::int64_t>(wanted, periodic_ ? planes : planes + 1));
    if (!periodic_) make_room_for_green();
    if (one_pass_) roots_ = Buffer<float2>(device_, roots_of_unity(nz_));
    make_plans();
    for (const auto* plan : {&forward_, &backward_, &backward_first_, &lines_})
      plan_bytes_ = std::max(plan_bytes_, plan->work_bytes());
  }

  Field<Real> layout() const override {
    return {nullptr, axes_.axis[0].length, ny_, slabs_.planes().count(), 2 * std::int64_t{kx_count_}, true};
  }
  std::int64_t scratch_bytes() const override { return Work(*this, nullptr, true).bytes; }
  std::int64_t own_bytes() const override {
    return static_cast<std::int64_t>(tables_.bytes() + roots_.bytes() + green_.bytes()) + slabs_.own_bytes();
  }
  std::int64_t message_bytes() const override { return slabs_.message_bytes(spectral_ ? 2 : 1); }

  /// Two transpositions in all; the columns lie in the scratch memory.
  void solve(const Field<Real>& field, double factor, void* scratch) override {
    if (spectral_) throw_no_field();
    device_.make_current();
    const Work work(*this, scratch, true);
    Complex* const planes = reinterpret_cast<Complex*>(field.data);
    planes_forward(planes, work);
    slabs_.to_columns(planes, work.columns, layout_);
    multiply(work.columns, factor, work);
    if (!one_pass_) lines(work.columns, CUFFT_INVERSE, work);
    slabs_.template to_planes<1>({work.columns}, layout_, {planes});
    planes_backward(planes, work);
  }
  void spectral_force(int, const Field<Real>&, void*) override { throw_no_field(); }

  std::int64_t mode_values() const override { return std::max(layout().size(), 2 * columns_size()); }
  std::int64_t mode_work_bytes() const override { return Work(*this, nullptr, false).bytes; }
  /// Ends with columns: modes multiplied by the Green factors. `modes` and `spare` exchange their memory.
  void find_modes(Field<Real>& modes, Field<Real>& spare, double factor, void* memory) override {
    check_spectral();
    in_planes_ = false;
    device_.make_current();
    const Work work(*this, memory, false);
    planes_forward(values_of(modes), work);
    slabs_.to_columns(values_of(modes), values_of(spare), layout_);
    std::swap(modes.data, spare.data);
    multiply(values_of(modes), factor, work);
  }
  bool gives(int axis) const override { return axis != 2 || !in_planes_; }
  /// The force along z is made from the columns. Those along x and y, and the potential, are all made from the planes
  /// that the columns become, so that these are sent once: with the force along z, if that is wanted.
  void from_modes(int axis, Field<Real>& modes, const Field<Real>& to, Field<Real>& spare, void* memory) override {
    check_spectral();
    if (!gives(axis)) throw Error(ErrorKind::input, "mesh: the force along z is to be made before the others");
    device_.make_current();
    const Work work(*this, memory, false);
    const Real* const wave_number = axis < 3 ? tables_[axis].wave_number : nullptr;
    if (axis == 2) {
      Complex *const from = values_of(modes), *const slope = values_of(spare);
      if (one_pass_)
        through_lines(from, slope, SlopeFactor<Real>{wave_number, Real(1) / static_cast<Real>(nz_)});
      else
        each_mode("differentiate_modes", DifferentiateModes<Real>{from, slope, wave_number, axis});
      columns_to_planes<2>({slope, from}, {values_of(to), slope}, work);
      std::swap(modes.data, spare.data);
    } else {
      if (!in_planes_) {
        columns_to_planes<1>({values_of(modes)}, {values_of(spare)}, work);
        std::swap(modes.data, spare.data);
      }
      if (const int count = slabs_.planes().count(); count > 0)
        cuda::each_mode("differentiate_modes", {kx_count_, ny_, count}, device_.stream(),
                        DifferentiateModes<Real>{values_of(modes), values_of(to), wave_number, axis});
    }
    in_planes_ = true;
    planes_backward(values_of(to), work);
  }

 private:
  /// What the steps of a solution work in.
  struct Work {
    Complex *columns, *rest;
    void* plan;
    std::int64_t bytes;

    Work(const PoissonSlabsCuda& of, void* memory, bool with_columns) {
      MemoryParts parts(static_cast<std::byte*>(memory));
      columns = parts.take<Complex>(with_columns ? of.columns_size() : 0);
      const auto room = [&](int planes, int batch) { return planes % batch > 0 ? batch * of.plane_ : 0; };
      rest = parts.take<Complex>(
          std::max(room(of.slabs_.planes().count(), of.batch_), room(of.back_planes(), of.back_batch_)));
      void* const after = parts.take<std::byte>(static_cast<std::int64_t>(of.plan_bytes_));
      plan = of.plan_bytes_ > 0 ? after : nullptr;  // cuFFT refuses one that is the field, also an empty one
      bytes = parts.used();
    }
  };

  static const Device& current(const Device& device, const Grid& grid) {
    if (grid.dimensions != 3)
      throw Error(ErrorKind::input, "mesh: expected a box in three dimensions for slabs on a GPU");
    device.make_current();
    return device;
  }
  static std::shared_ptr<DeviceMessages> messages_for(const Device& device, const PoissonFftOptions& options) {
    return options.messages ? options.messages : make_device_messages(device, options.ranks);
  }
  static Complex* values_of(const Field<Real>& field) { return reinterpret_cast<Complex*>(field.data); }
  [[noreturn]] static void throw_no_field() {
    throw Error(ErrorKind::input, "mesh: in slabs on a GPU a spectral force is made from the modes of the potential");
  }
  void check_spectral() const {
    if (!spectral_) throw Error(ErrorKind::input, "mesh: the spectral force was not among the options of the solver");
  }
  /// Values of this rank's columns, in whole blocks.
  std::int64_t columns_size() const {
    return (slabs_.columns() + layout_.width - 1) / layout_.width * layout_.width * nz_;
  }

  /// Planes that come back from the rank's first on.
  int back_planes() const { return slabs_.back_count() - slabs_.before(); }

  /// The Green factors of the rows that this rank's columns are in, of which k and 2 n − k have the same.
  void make_room_for_green() {
    if (slabs_.columns() == 0) return;
    const auto first = static_cast<int>(slabs_.first_column() / kx_count_);
    const auto last = static_cast<int>((slabs_.first_column() + slabs_.columns() - 1) / kx_count_);
    const int half = ny_ / 2;
    green_first_ = std::min(std::min(first, ny_ - first), std::min(last, ny_ - last));
    const int end = first <= half && last >= half ? half : last < half ? last : ny_ - first;
    green_rows_ = end - green_first_ + 1;
    green_ = Buffer<Real>(device_, std::int64_t{green_rows_} * kx_count_ * (nz_ / 2 + 1));
  }
  /// When it is first needed, by all ranks together.
  void find_green() {
    if (periodic_ || has_green_) return;
    const auto green = open_space_green_rows(axes_, device_.threads(), *ranks_, green_first_, green_rows_);
    std::vector<Real> values(green.size());
    const std::int64_t px = kx_count_, py = green_rows_, pz = nz_ / 2 + 1;
    for (std::int64_t i = 0; i < px; ++i)
      for (std::int64_t j = 0; j < py; ++j)
        for (std::int64_t k = 0; k < pz; ++k)
          values[static_cast<std::size_t>((k * py + j) * px + i)] =
              static_cast<Real>(green[static_cast<std::size_t>((i * py + j) * pz + k)]);
    green_.from_host(values.data());
    has_green_ = true;
  }

  /// All plans have a fixed number of planes or lines, so that cuFFT takes the same kernels on any number of ranks.
  void make_plans() {
    const Stream stream = device_.stream();
    const long long plane[2] = {ny_, axes_.axis[0].length}, line[1] = {nz_};
    const CufftLayout real{{ny_, 2 * kx_count_}, 1, 2 * plane_}, modes{{ny_, kx_count_}, 1, plane_};
    const CufftLayout lines{{nz_}, line_batch, 1};
    forward_ = CufftPlan(stream, 2, plane, real, modes, Cufft<Real>::real_to_complex, batch_);
    backward_ = CufftPlan(stream, 2, plane, modes, real, Cufft<Real>::complex_to_real, back_batch_);
    if (!periodic_) backward_first_ = CufftPlan(stream, 2, plane, modes, real, Cufft<Real>::complex_to_real, 1);
    if (!one_pass_) lines_ = CufftPlan(stream, 1, line, lines, lines, Cufft<Real>::complex_to_complex, line_batch);
  }

  /// transform(planes) for a batch of planes after the other.
  template <class Transform>
  void each_batch(Complex* planes, std::int64_t count, std::int64_t batch, const Work& work,
                  const Transform& transform) {
    const std::int64_t whole = count / batch * batch;
    for (std::int64_t z = 0; z < whole; z += batch) transform(planes + z * plane_);
    if (whole == count) return;
    const auto bytes = static_cast<std::size_t>((count - whole) * plane_) * sizeof(Complex);
    device_.memory().copy(work.rest, planes + whole * plane_, bytes);
    transform(work.rest);
    device_.memory().copy(planes + whole * plane_, work.rest, bytes);
  }
  /// Real planes to modes, in place.
  void planes_forward(Complex* planes, const Work& work) {
    const cufftHandle plan = forward_.with_work(work.plan);
    each_batch(planes, slabs_.planes().count(), batch_, work, [&](Complex* some) {
      check(Cufft<Real>::forward(plan, reinterpret_cast<Real*>(some), some), "cufftExecR2C");
    });
  }
  void planes_backward(Complex* planes, const Work& work) {
    const cufftHandle plan = backward_.with_work(work.plan);
    const auto back = [](cufftHandle with, Complex* some) {
      check(Cufft<Real>::backward(with, some, reinterpret_cast<Real*>(some)), "cufftExecC2R");
    };
    each_batch(planes, back_planes(), back_batch_, work, [&](Complex* some) { back(plan, some); });
    if (slabs_.before() > 0) back(backward_first_.with_work(work.plan), planes - plane_);
  }
  /// Lines along z by cuFFT, line_batch at once.
  void lines(Complex* columns, int direction, const Work& work) {
    const cufftHandle plan = lines_.with_work(work.plan);
    for (std::int64_t first = 0; first < slabs_.columns(); first += line_batch) {
      Complex* const block = columns + first * nz_;
      check(Cufft<Real>::lines(plan, block, block, direction), "cufftExecC2C");
    }
  }

  /// In one pass lines are back already.
  template <std::size_t fields>
  void columns_to_planes(const std::array<Complex*, fields>& columns, const std::array<Complex*, fields>& planes,
                         const Work& work) {
    for (Complex* const field : columns)
      if (!one_pass_) lines(field, CUFFT_INVERSE, work);
    slabs_.template to_planes<fields>(columns, layout_, planes);
  }

  /// The second half of each column.
  void clear_padding(Complex* columns) {
    const std::int64_t half = std::int64_t{nz_ / 2} * layout_.width;
    for (std::int64_t begin = half; begin < columns_size(); begin += 2 * half)
      device_.memory().zero(columns + begin, static_cast<std::size_t>(half) * sizeof(Complex));
  }

  /// Lines along z and the product with the Green factors; in one pass the lines back as well.
  void multiply(Complex* columns, double factor, const Work& work) {
    find_green();
    if (slabs_.columns() == 0) return;
    const double scale = factor * axes_.unit_length * axes_.unit_length;
    const auto& [x, y, z] = axes_.axis;
    if (periodic_) return multiply_by(columns, tables_.green(axes_, scale), work);
    if (!one_pass_) clear_padding(columns);
    multiply_by(columns,
                OpenSpaceFactor<Real>{green_.data(), x.cells, y.cells, z.cells, static_cast<Real>(scale), green_first_,
                                      green_rows_},
                work);
  }
  template <class Factor>
  void multiply_by(Complex* columns, const Factor& green, const Work& work) {
    if (one_pass_) return through_lines(columns, columns, green);
    lines(columns, CUFFT_FORWARD, work);
    each_mode("multiply_modes", MultiplyModes<Real, Factor>{columns, nullptr, green});
  }
  /// Lines forward, times the factor and back, in one kernel (line_solver.cuh).
  template <class Factor>
  void through_lines(const Complex* from, Complex* to, const Factor& factor) {
    if constexpr (std::is_same_v<Real, float>) {
      const auto columns = static_cast<int>(slabs_.columns());
      if (columns == 0) return;
      const LineField field{from, to, columns, static_cast<int>(slabs_.first_column()), kx_count_, roots_.data()};
      solve_lines(nz_, field, factor, device_.stream());
    }
  }

  /// All modes of this rank's columns.
  template <class Body>
  void each_mode(const char* name, const Body& body) {
    constexpr int threads = 256, planes_per_block = 8;
    const auto columns = static_cast<int>(slabs_.columns());
    if (columns == 0) return;
    const dim3 grid(static_cast<unsigned>((columns + threads - 1) / threads),
                    static_cast<unsigned>((nz_ + planes_per_block - 1) / planes_per_block));
    each_column_mode_kernel<<<grid, threads, 0, handle(device_.stream())>>>(slabs_.first_column(), columns, kx_count_,
                                                                            layout_, planes_per_block, body);
    check(cudaGetLastError(), name);
  }

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  bool periodic_, spectral_;
  FftAxes axes_;
  int kx_count_, ny_, nz_;
  std::int64_t plane_;  // modes of a plane
  bool one_pass_;       // the lines along z by line_solver.cuh
  DeviceTransposition<Complex> slabs_;
  ColumnLayout layout_;
  AxisTables<Real> tables_;
  Buffer<float2> roots_;
  int green_first_ = 0, green_rows_ = 0;
  bool has_green_ = false;
  bool in_planes_ = false;  // the modes are those of planes, and lines along z are back
  Buffer<Real> green_;
  int batch_ = 1, back_batch_ = 1;        // planes of a plan
  CufftPlan forward_, backward_, lines_;  // lines_ where not one_pass_
  CufftPlan backward_first_;              // of the plane before the first one
  std::size_t plan_bytes_ = 0;
};

}  // namespace

}  // namespace cuda

template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson_slabs_cuda(const Device& device, const Grid& grid,
                                                             const PoissonFftOptions& options) {
  return std::make_unique<cuda::PoissonSlabsCuda<Real>>(device, grid, options);
}

template std::unique_ptr<PoissonSolver<float>> make_poisson_slabs_cuda(const Device&, const Grid&,
                                                                       const PoissonFftOptions&);
template std::unique_ptr<PoissonSolver<double>> make_poisson_slabs_cuda(const Device&, const Grid&,
                                                                        const PoissonFftOptions&);

}  // namespace pergola

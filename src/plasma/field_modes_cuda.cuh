#pragma once
/// CUDA only: the modes of a plasma's field: transforms to modes and back, and the solution mode by mode.
///
/// A field is transformed whole, or in layers and then in columns across the layers, as ranks do. cuFFT may give these
/// two ways different last bits; FieldTransforms tries both on noise and uses whole transforms only if the bits agree.
/// So the field has the same bits for any number of ranks.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/buffer.hpp"
#include "mesh/fft/cufft_plan.cuh"
#include "mesh/fft/green_factor.cuh"
#include "mesh/fft/transposition_cuda.cuh"
#include "plasma/options.hpp"

namespace pergola::cuda {

/// The modes of the box, [layer][column] with kx fastest: a layer is a ky in two dimensions and a kz in three. A rank
/// has some columns in any layout; a single device has all in this order.
template <class Real>
struct ModeTask {
  using Complex = typename Cufft<Real>::Complex;
  int dimensions = 2, nx = 1, ny = 1, nz = 1;  // modes
  AxisTable<Real> x, y, z;                     // k², S(k)², and k, which is 0 for the mode that has no sine
  Real scale = 1;                              // 1 / number of cells
  std::int64_t first = 0, here = 1;            // columns
  ColumnLayout layout;                         // of the columns
  const Complex* density = nullptr;
  Complex* electric[3] = {};     // the wanted components; or
  Complex* potential = nullptr;  // the potential
  double* energy = nullptr;      // one number per column

  __host__ __device__ int layers() const { return dimensions == 3 ? nz : ny; }
  __host__ __device__ std::int64_t columns() const { return dimensions == 3 ? std::int64_t{nx} * ny : nx; }
};

/// Place of a mode in the box.
struct Mode {
  int x, y, z;
  template <class Real>
  __device__ Mode(const ModeTask<Real>& task, std::int64_t index) {
    const auto row = static_cast<unsigned>(index / task.nx);
    x = static_cast<int>(index - std::int64_t{row} * task.nx);
    z = static_cast<int>(row / static_cast<unsigned>(task.ny));
    y = static_cast<int>(row) - z * task.ny;
  }
};

/// S(k)² / k²; 0 for the mean.
template <class Real>
__device__ Real green(const ModeTask<Real>& task, const Mode& mode) {
  const Real square = task.x.eigenvalue[mode.x] + task.y.eigenvalue[mode.y] + task.z.eigenvalue[mode.z];
  const Real window = task.x.window[mode.x] * task.y.window[mode.y] * task.z.window[mode.z];
  return physics::green_factor(square, window);
}

inline constexpr int mode_threads = 256;

/// E_k = −i k φ_k of the wanted components, or φ_k = S² ρ_k / k².
template <bool gradient, bool slab, class Real>
__global__ void __launch_bounds__(mode_threads) solve_modes(const __grid_constant__ ModeTask<Real> task) {
  std::int64_t at = std::int64_t{blockIdx.x} * mode_threads + threadIdx.x, of_box = at;
  if (at >= task.here * task.layers()) return;
  if constexpr (slab) {
    const std::int64_t layer = at / task.here, column = at - layer * task.here;
    of_box = layer * task.columns() + task.first + column;
    at = task.layout.index(column, static_cast<int>(layer));
  }
  const Mode mode(task, of_box);
  const Real factor = task.scale * green(task, mode);
  const auto rho = task.density[at];
  const typename Cufft<Real>::Complex phi{factor * rho.x, factor * rho.y};
  if constexpr (gradient) {
    const Real k[3] = {task.x.wave_number[mode.x], task.y.wave_number[mode.y],
                       task.dimensions == 3 ? task.z.wave_number[mode.z] : Real(0)};
#pragma unroll
    for (int a = 0; a < 3; ++a)
      if (task.electric[a]) task.electric[a][at] = {k[a] * phi.y, -k[a] * phi.x};
  } else {
    task.potential[at] = phi;
  }
}

/// Launches solve_modes for this rank's columns; does nothing if it has none. Does not wait.
template <bool gradient, bool slab, class Real>
void launch_modes(const ModeTask<Real>& task, Stream stream) {
  const std::int64_t modes = task.here * task.layers();
  if (modes == 0) return;
  const auto blocks = static_cast<unsigned>((modes + mode_threads - 1) / mode_threads);
  solve_modes<gradient, slab><<<blocks, mode_threads, 0, handle(stream)>>>(task);
  check(cudaGetLastError(), "solve_modes");
}

/// Σ |ρ_k|² S²/k² over the modes of a column; a mode that is not stored counts with its mirror image. A warp per
/// column: the order of the sum does not depend on the rank that has the column.
template <bool slab, class Real>
__global__ void __launch_bounds__(mode_threads) sum_energy(const __grid_constant__ ModeTask<Real> task, int cells_x) {
  const std::int64_t column = (std::int64_t{blockIdx.x} * mode_threads + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (column >= task.here) return;
  double sum = 0;
  for (int layer = lane; layer < task.layers(); layer += 32) {
    const std::int64_t of_box = layer * task.columns() + task.first + column;
    const std::int64_t at = slab ? task.layout.index(column, layer) : of_box;
    const Mode mode(task, of_box);
    const double both = mode.x == 0 || 2 * mode.x == cells_x ? 1 : 2;
    const double re = task.density[at].x, im = task.density[at].y;
    sum += both * static_cast<double>(green(task, mode)) * (re * re + im * im);
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (lane == 0) task.energy[column] = sum;
}

/// Energies of the columns that are here.
template <bool slab, class Real>
std::vector<double> column_energies(const ModeTask<Real>& of_field, const Device& device, int cells_x) {
  if (of_field.here == 0) return {};
  ModeTask<Real> task = of_field;
  Buffer<double> energy(device, task.here);
  task.energy = energy.data();
  const auto blocks = static_cast<unsigned>((32 * task.here + mode_threads - 1) / mode_threads);
  sum_energy<slab><<<blocks, mode_threads, 0, handle(device.stream())>>>(task, cells_x);
  check(cudaGetLastError(), "sum_energy");
  return energy.to_host();
}

/// Decyk 2007: S(k)² = exp(−k² a²) is a product over the axes.
/// k², S(k)² and k of each axis, in this order, for all modes of the axis.
template <class Real>
class ModeTables {
 public:
  ModeTables(const Device& device, const PlasmaOptions& options) : cells_(options.cells) {
    std::vector<Real> values;
    for (const int n : cells_) {
      std::vector<Real> square, window, number;
      for (int m = 0; m < n; ++m) {
        const double k = physics::mode_wave_number(m, n, n);
        square.push_back(static_cast<Real>(-physics::spectral_laplacian_eigenvalue(k)));
        window.push_back(static_cast<Real>(physics::gaussian_window(k, options.smoothing, 2)));
        number.push_back(static_cast<Real>(2 * m == n ? 0.0 : k));
      }
      for (const auto* part : {&square, &window, &number}) values.insert(values.end(), part->begin(), part->end());
    }
    values_ = Buffer<Real>(device, values);
  }
  std::size_t bytes() const { return values_.bytes(); }

  /// A task for all columns on one device.
  ModeTask<Real> task(const PlasmaOptions& options) const {
    ModeTask<Real> task;
    task.dimensions = options.dimensions;
    task.nx = cells_[0] / 2 + 1, task.ny = cells_[1], task.nz = cells_[2];
    task.scale = static_cast<Real>(1 / static_cast<double>(options.cell_count()));
    task.here = task.columns();
    const Real* next = values_.data();
    AxisTable<Real>* const table[3] = {&task.x, &task.y, &task.z};
    for (std::size_t a = 0; a < 3; ++a) {
      const int n = cells_[a];
      *table[a] = {next, next + n, next + 2 * n};
      next += 3 * n;
    }
    return task;
  }

 private:
  std::array<int, 3> cells_;
  Buffer<Real> values_;
};

/// Transforms layers of a field, rows in two dimensions and planes in three. cuFFT chooses its kernels, and with them
/// the last bits, by the number of transforms: from about 2²⁰ values on it takes those of a whole field (H200, CUDA
/// 13). So a plan has about 2²¹ values, or the whole field, for any number of layers, and memory has whole batches.
template <class Real>
class LayerTransforms {
 public:
  using Complex = typename Cufft<Real>::Complex;

  LayerTransforms(Stream stream, const PlasmaOptions& options)
      : modes_((options.cells[0] / 2 + 1) * (options.dimensions == 3 ? std::int64_t{options.cells[1]} : 1)) {
    const long long nx = options.cells[0], ny = options.cells[1], kx = nx / 2 + 1;
    const bool planes = options.dimensions == 3;
    const std::int64_t cells = planes ? nx * ny : nx, layers = planes ? options.cells[2] : ny;
    batch_ = std::min(layers, ((std::int64_t{1} << 21) + cells - 1) / cells);
    const long long length[2] = {planes ? ny : nx, nx};
    const CufftLayout real{{planes ? ny : 2 * kx, 2 * kx}, 1, 2 * modes_}, modes{{planes ? ny : kx, kx}, 1, modes_};
    forward_ = CufftPlan(stream, planes ? 2 : 1, length, real, modes, Cufft<Real>::real_to_complex, batch_);
    backward_ = CufftPlan(stream, planes ? 2 : 1, length, modes, real, Cufft<Real>::complex_to_real, batch_);
  }

  /// Modes of a layer, and in the memory of `layers` layers.
  std::int64_t modes() const { return modes_; }
  std::int64_t memory(std::int64_t layers) const { return whole(layers) * modes_; }
  std::size_t work_bytes() const { return std::max(forward_.work_bytes(), backward_.work_bytes()); }

  void forward(Real* from, Complex* to, std::int64_t layers, void* work) const {
    const cufftHandle plan = forward_.with_work(work);
    for (std::int64_t first = 0; first < whole(layers); first += batch_)
      check(Cufft<Real>::forward(plan, from + 2 * first * modes_, to + first * modes_), "cufftExecR2C");
  }
  /// In place.
  void backward(Complex* values, std::int64_t layers, void* work) const {
    const cufftHandle plan = backward_.with_work(work);
    for (std::int64_t first = 0; first < whole(layers); first += batch_)
      check(Cufft<Real>::backward(plan, values + first * modes_, reinterpret_cast<Real*>(values + first * modes_)),
            "cufftExecC2R");
  }

 private:
  std::int64_t whole(std::int64_t layers) const { return (layers + batch_ - 1) / batch_ * batch_; }

  std::int64_t modes_, batch_ = 1;
  CufftPlan forward_, backward_;
};

/// Pseudorandom numbers between −1/2 and 1/2.
template <class Real>
struct FillWithNoise {
  Real* values;
  __device__ void operator()(std::int64_t k) const {
    auto mixed = static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93u;
    values[k] = static_cast<Real>(static_cast<double>(mixed >> 40) * 0x1p-24 - 0.5);
  }
};

/// Counts differing values; rows have `length` values and are `pitch` apart.
template <class Real>
struct CountDifferent {
  const Real *one, *other;
  std::int64_t pitch, length;
  unsigned long long* count;
  __device__ void operator()(std::int64_t k) const {
    if (k % pitch < length && one[k] != other[k]) atomicAdd(count, 1ull);
  }
};

/// The transforms of a field on one device: by plans of the whole field if these have the bits of layers and columns,
/// else by layers and columns, as ranks transform a distributed field. Each is tried on noise.
template <class Real>
class FieldTransforms {
 public:
  using Complex = typename Cufft<Real>::Complex;

  FieldTransforms(const Device& device, const PlasmaOptions& options)
      : device_(device),
        components_(options.dimensions),
        cells_x_(options.cells[0]),
        number_(options.cells[static_cast<std::size_t>(options.dimensions - 1)]),
        layers_(device.stream(), options) {
    const long long nx = cells_x_ / 2 + 1, lines = layers_.modes();
    const long long length[3] = {options.cells[2], options.cells[1], cells_x_};
    CufftLayout real{{length[0], length[1], 2 * nx}, 1, 2 * modes()},
        modes_layout{{length[0], length[1], nx}, 1, modes()};
    if (components_ == 2) real = {{length[1], 2 * nx}, 1, 2 * modes()}, modes_layout = {{length[1], nx}, 1, modes()};
    const long long* const first = length + (3 - components_);
    const long long column[1] = {number_};
    const Stream stream = device_.stream();
    forward_ = CufftPlan(stream, components_, first, real, modes_layout, Cufft<Real>::real_to_complex, 1);
    backward_ = CufftPlan(stream, components_, first, modes_layout, real, Cufft<Real>::complex_to_real, components_);
    backward_one_ = CufftPlan(stream, components_, first, modes_layout, real, Cufft<Real>::complex_to_real, 1);
    columns_ = CufftPlan(stream, 1, column, {{number_}, lines, 1}, {{number_}, lines, 1},
                         Cufft<Real>::complex_to_complex, lines);
    std::size_t bytes = layers_.work_bytes();
    for (const auto* plan : {&forward_, &backward_, &backward_one_, &columns_})
      bytes = std::max(bytes, plan->work_bytes());
    work_ = Buffer<std::byte>(device_, static_cast<std::int64_t>(bytes));
    choose();
  }

  /// Modes in the memory of a field.
  std::int64_t modes() const { return layers_.memory(number_); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(work_.bytes()); }

  void forward(Real* density, Complex* modes) const {
    if (!whole_forward_) {
      layers_.forward(density, modes, number_, work());
      return columns(modes, CUFFT_FORWARD);
    }
    check(Cufft<Real>::forward(forward_.with_work(work()), density, modes), "cufftExecR2C");
  }
  /// In place: all components, or one field.
  void backward(Complex* fields, bool all) const {
    if (all ? whole_backward_ : whole_backward_one_) {
      const CufftPlan& plan = all ? backward_ : backward_one_;
      return check(Cufft<Real>::backward(plan.with_work(work()), fields, reinterpret_cast<Real*>(fields)),
                   "cufftExecC2R");
    }
    for (int a = 0; a < (all ? components_ : 1); ++a) {
      columns(fields + a * modes(), CUFFT_INVERSE);
      layers_.backward(fields + a * modes(), number_, work());
    }
  }

 private:
  void* work() const { return work_.size() > 0 ? const_cast<std::byte*>(work_.data()) : nullptr; }
  void columns(Complex* values, int direction) const {
    check(Cufft<Real>::lines(columns_.with_work(work()), values, values, direction), "cufftExecC2C");
  }

  bool same(const Complex* one, const Complex* other, bool are_modes) const {
    const std::int64_t pitch = 2 * (cells_x_ / 2 + 1);
    Buffer<unsigned long long> count(device_, 1);
    count.zero();
    launch("compare fields", 2 * number_ * layers_.modes(), device_.stream(),
           CountDifferent<Real>{reinterpret_cast<const Real*>(one), reinterpret_cast<const Real*>(other), pitch,
                                are_modes ? pitch : cells_x_, count.data()});
    return count.to_host()[0] == 0;
  }
  void choose() {
    Buffer<Complex> noise(device_, modes()), one(device_, modes()), all(device_, components_ * modes());
    const auto copy = [&](Complex* to, const Complex* from) {
      device_.memory().copy(to, from, static_cast<std::size_t>(modes()) * sizeof(Complex));
    };
    Real* const density = reinterpret_cast<Real*>(noise.data());
    one.zero(), all.zero();
    launch("noise", 2 * modes(), device_.stream(), FillWithNoise<Real>{density});
    whole_forward_ = true, forward(density, one.data());
    whole_forward_ = false, forward(density, all.data());
    whole_forward_ = same(one.data(), all.data(), true);
    copy(noise.data(), all.data());  // modes of a field from here on
    whole_backward_one_ = true;
    copy(one.data(), noise.data()), backward(one.data(), false);
    whole_backward_one_ = false;
    copy(all.data(), noise.data()), backward(all.data(), false);
    whole_backward_one_ = same(one.data(), all.data(), false);
    copy(one.data(), all.data());  // by layers and columns
    for (int a = 0; a < components_; ++a) copy(all.data() + a * modes(), noise.data());
    whole_backward_ = true, backward(all.data(), true);
    for (int a = 0; a < components_ && whole_backward_; ++a)
      whole_backward_ = same(one.data(), all.data() + a * modes(), false);
  }

  Device device_;
  int components_, cells_x_;
  long long number_;  // of layers
  LayerTransforms<Real> layers_;
  CufftPlan forward_, backward_, backward_one_, columns_;
  Buffer<std::byte> work_;
  bool whole_forward_ = false, whole_backward_ = false, whole_backward_one_ = false;
};

}  // namespace pergola::cuda

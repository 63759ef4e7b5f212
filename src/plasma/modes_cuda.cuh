#pragma once
// CUDA only: the modes of a plasma's field, and what is done with each.
#include <cstdint>
#include <vector>

#include "device/buffer.hpp"
#include "mesh/fft/cufft_plan.cuh"
#include "mesh/fft/green_factor.cuh"
#include "mesh/fft/transposition_cuda.cuh"
#include "plasma/options.hpp"

namespace pergola::cuda {

/// The modes of the box, [layer][column] with kx fastest: a layer is a ky in two dimensions and a kz in three. Of those
/// some columns are here, in any layout; of one device all, as they stand.
template <class Real>
struct ModeTask {
  using Complex = typename Cufft<Real>::Complex;
  int dimensions = 2, nx = 1, ny = 1, nz = 1;  // modes
  AxisTable<Real> x, y, z;                     // k², S(k)², and k, which is 0 for the mode that has no sine
  Real scale = 1;                              // 1 / number of cells
  std::int64_t first = 0, here = 1;            // columns
  ColumnLayout layout;                         // of these
  const Complex* density = nullptr;
  Complex* electric[3] = {};     // components, those that are wanted; or
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

template <bool gradient, bool slab, class Real>
void launch_modes(const ModeTask<Real>& task, Stream stream) {
  const std::int64_t modes = task.here * task.layers();
  if (modes == 0) return;
  const auto blocks = static_cast<unsigned>((modes + mode_threads - 1) / mode_threads);
  solve_modes<gradient, slab><<<blocks, mode_threads, 0, handle(stream)>>>(task);
  check(cudaGetLastError(), "solve_modes");
}

/// Σ |ρ_k|² S²/k² over the modes of a column, those that are not stored counted with their mirror images. A warp per
/// column: the order of the sum is that of the column, whoever has it.
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

/// By columns, of those that are here.
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

  /// Of all columns, as they stand.
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

}  // namespace pergola::cuda

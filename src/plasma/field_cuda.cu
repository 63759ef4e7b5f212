#include <algorithm>

#include "device/buffer.hpp"
#include "domain/device_messages.hpp"
#include "mesh/fft/cufft_plan.cuh"
#include "mesh/fft/green_factor.cuh"
#include "plasma/factories.hpp"
#include "plasma/tile_slab.hpp"

namespace pergola {

namespace cuda {

namespace {

template <class Real>
struct ModeTask {
  using Complex = typename Cufft<Real>::Complex;
  int dimensions = 2, nx = 1, ny = 1, nz = 1;  // modes
  AxisTable<Real> x, y, z;                     // k², S(k)², and k, which is 0 for the mode that has no sine
  Real scale = 1;                              // 1 / number of cells
  const Complex* density = nullptr;
  Complex* electric = nullptr;   // all components, one after the other; or
  Complex* potential = nullptr;  // the potential
  double* energy = nullptr;      // one number per block

  __host__ __device__ std::int64_t modes() const { return std::int64_t{nx} * ny * nz; }
};

/// Place of a mode: kx fastest.
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

constexpr int mode_threads = 256;

/// E_k = −i k φ_k of all components, or φ_k = S² ρ_k / k².
template <bool gradient, class Real>
__global__ void __launch_bounds__(mode_threads) solve_modes(const __grid_constant__ ModeTask<Real> task) {
  const std::int64_t modes = task.modes(), index = std::int64_t{blockIdx.x} * mode_threads + threadIdx.x;
  if (index >= modes) return;
  const Mode mode(task, index);
  const Real factor = task.scale * green(task, mode);
  const auto rho = task.density[index];
  const typename Cufft<Real>::Complex phi{factor * rho.x, factor * rho.y};
  if constexpr (gradient) {
    const Real kx = task.x.wave_number[mode.x], ky = task.y.wave_number[mode.y];
    task.electric[index] = {kx * phi.y, -kx * phi.x};
    task.electric[modes + index] = {ky * phi.y, -ky * phi.x};
    if (task.dimensions < 3) return;
    const Real kz = task.z.wave_number[mode.z];
    task.electric[2 * modes + index] = {kz * phi.y, -kz * phi.x};
  } else {
    task.potential[index] = phi;
  }
}

/// Σ |ρ_k|² S²/k² over all modes, those that are not stored counted with their mirror images: a number per block.
template <class Real>
__global__ void __launch_bounds__(mode_threads) sum_energy(const __grid_constant__ ModeTask<Real> task, int cells_x) {
  __shared__ double of_warp[mode_threads / 32];
  const std::int64_t modes = task.modes(), stride = std::int64_t{gridDim.x} * mode_threads;
  double mine = 0;
  for (std::int64_t index = std::int64_t{blockIdx.x} * mode_threads + threadIdx.x; index < modes; index += stride) {
    const Mode mode(task, index);
    const double both = mode.x == 0 || 2 * mode.x == cells_x ? 1 : 2;
    const double re = task.density[index].x, im = task.density[index].y;
    mine += both * static_cast<double>(green(task, mode)) * (re * re + im * im);
  }
  for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(0xffffffffu, mine, offset);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < mode_threads / 32; ++w) mine += of_warp[w];
  task.energy[blockIdx.x] = mine;
}

template <class Real>
class PlasmaFieldCuda final : public PlasmaField<Real> {
  using Complex = typename Cufft<Real>::Complex;
  static constexpr int energy_blocks = 256;

 public:
  PlasmaFieldCuda(const Device& device, const PlasmaOptions& options, const std::shared_ptr<Communicator>& ranks)
      : device_(device), dimensions_(options.dimensions), cells_(options.cells) {
    device_.make_current();
    if (ranks) {
      messages_ = std::make_unique<DeviceMessages>(device_, ranks);
      planes_ = plasma::TileSlab(plasma::TileGrid(options)).planes(*ranks);
    }
    task_.dimensions = dimensions_;
    task_.nx = cells_[0] / 2 + 1, task_.ny = cells_[1], task_.nz = cells_[2];
    task_.scale = static_cast<Real>(1 / static_cast<double>(options.cell_count()));
    density_ = Buffer<Real>(device_, 2 * task_.modes());
    density_.zero();
    modes_ = Buffer<Complex>(device_, task_.modes());
    electric_ = Buffer<Complex>(device_, dimensions_ * task_.modes());
    electric_.zero();
    modes_.zero();
    energy_ = Buffer<double>(device_, energy_blocks);
    make_tables(options.smoothing);
    make_plans();
    task_.density = modes_.data(), task_.electric = electric_.data(), task_.energy = energy_.data();
  }

  Field<Real> density() override {
    Field<Real> own = field(density_.data());
    if (!messages_) return own;
    own.data += planes_.first() * layer_values();
    (dimensions_ == 3 ? own.nz : own.ny) = planes_.count();
    return own;
  }

  void solve() override {
    device_.make_current();
    if (messages_) gather_density();
    check(Cufft<Real>::forward(forward_.with_work(work_.data()), density_.data(), modes_.data()), "cufftExecR2C");
    launch_modes<true>(task_);
    check(Cufft<Real>::backward(backward_.with_work(work_.data()), electric_.data(),
                                reinterpret_cast<Real*>(electric_.data())),
          "cufftExecC2R");
  }

  ElectricField<Real> electric() const override {
    ElectricField<Real> all;
    for (int a = 0; a < dimensions_; ++a)
      all[static_cast<std::size_t>(a)] = field(reinterpret_cast<const Real*>(electric_.data() + a * task_.modes()));
    return all;
  }

  bool is_whole() const override { return true; }

  double energy() const override {
    device_.make_current();
    sum_energy<<<energy_blocks, mode_threads, 0, handle(device_.stream())>>>(task_, cells_[0]);
    check(cudaGetLastError(), "sum_energy");
    double sum = 0;
    for (const double part : energy_.to_host()) sum += part;
    return 0.5 * sum / cell_count();
  }

  std::vector<double> potential() const override {
    device_.make_current();
    Buffer<Complex> modes(device_, task_.modes());
    ModeTask<Real> task = task_;
    task.potential = modes.data();
    launch_modes<false>(task);
    check(Cufft<Real>::backward(backward_one_.with_work(const_cast<std::byte*>(work_.data())), modes.data(),
                                reinterpret_cast<Real*>(modes.data())),
          "cufftExecC2R");
    const auto values = modes.to_host();
    const auto padded = field(reinterpret_cast<const Real*>(values.data()));
    std::vector<double> result;
    result.reserve(static_cast<std::size_t>(cell_count()));
    for (int z = 0; z < cells_[2]; ++z)
      for (int y = 0; y < cells_[1]; ++y)
        for (int x = 0; x < cells_[0]; ++x) result.push_back(static_cast<double>(padded.data[padded.index(x, y, z)]));
    return result;
  }

  std::int64_t device_bytes() const override {
    return static_cast<std::int64_t>(density_.bytes() + modes_.bytes() + electric_.bytes() + tables_.bytes() +
                                     energy_.bytes() + work_.bytes()) +
           (messages_ ? static_cast<std::int64_t>(density_.bytes()) : 0);
  }

 private:
  double cell_count() const { return static_cast<double>(cells_[0]) * cells_[1] * cells_[2]; }
  template <class T>
  Field<T> field(T* data) const {
    return {data, cells_[0], cells_[1], cells_[2], 2 * std::int64_t{task_.nx}, true};
  }

  /// In a layer of grid points, padded.
  std::int64_t layer_values() const { return (dimensions_ == 3 ? std::int64_t{cells_[1]} : 1) * 2 * task_.nx; }
  /// The layers of all ranks to all.
  void gather_density() {
    const auto layers = [&](int count) { return count * layer_values() * std::int64_t{sizeof(Real)}; };
    const std::int64_t own = layers(planes_.count());
    std::byte* const out = messages_->outgoing(own);
    std::byte* next = messages_->incoming(layers(planes_.planes()) - own);
    messages_->load(out, density().data, own);
    std::vector<Communicator::Outgoing> sent;
    std::vector<Communicator::Incoming> got;
    const Communicator& ranks = messages_->ranks();
    for (int rank = 0; rank < ranks.size(); ++rank) {
      if (rank == ranks.rank()) continue;
      const std::int64_t bytes = layers(planes_.count(rank));
      if (own > 0) sent.push_back({rank, out, static_cast<std::size_t>(own)});
      if (bytes > 0) got.push_back({rank, next, static_cast<std::size_t>(bytes)});
      next += bytes;
    }
    messages_->exchange(sent, got);
    for (const auto& one : got)
      messages_->unload(density_.data() + planes_.first(one.rank) * layer_values(), one.data,
                        static_cast<std::int64_t>(one.bytes));
  }

  template <bool gradient>
  void launch_modes(const ModeTask<Real>& task) const {
    const auto blocks = static_cast<unsigned>((task.modes() + mode_threads - 1) / mode_threads);
    solve_modes<gradient><<<blocks, mode_threads, 0, handle(device_.stream())>>>(task);
    check(cudaGetLastError(), "solve_modes");
  }

  /// Decyk 2007: S(k)² = exp(−k² a²) is a product over the axes.
  void make_tables(double smoothing) {
    std::vector<Real> values;
    for (const int n : cells_) {
      std::vector<Real> square, window, number;
      for (int m = 0; m < n; ++m) {
        const double k = physics::mode_wave_number(m, n, n);
        square.push_back(static_cast<Real>(-physics::spectral_laplacian_eigenvalue(k)));
        window.push_back(static_cast<Real>(physics::gaussian_window(k, smoothing, 2)));
        number.push_back(static_cast<Real>(2 * m == n ? 0.0 : k));
      }
      for (const auto* part : {&square, &window, &number}) values.insert(values.end(), part->begin(), part->end());
    }
    tables_ = Buffer<Real>(device_, values);
    const Real* next = tables_.data();
    AxisTable<Real>* const table[3] = {&task_.x, &task_.y, &task_.z};
    for (std::size_t a = 0; a < 3; ++a) {
      const int n = cells_[a];
      *table[a] = {next, next + n, next + 2 * n};
      next += 3 * n;
    }
  }

  void make_plans() {
    const long long length[3] = {cells_[2], cells_[1], cells_[0]};
    const long long* first = length + (3 - dimensions_);
    const long long nx = task_.nx, count = task_.modes();
    CufftLayout real{{length[0], length[1], 2 * nx}, 1, 2 * count}, modes{{length[0], length[1], nx}, 1, count};
    if (dimensions_ == 2) real = {{length[1], 2 * nx}, 1, 2 * count}, modes = {{length[1], nx}, 1, count};
    const Stream stream = device_.stream();
    forward_ = CufftPlan(stream, dimensions_, first, real, modes, Cufft<Real>::real_to_complex, 1);
    backward_ = CufftPlan(stream, dimensions_, first, modes, real, Cufft<Real>::complex_to_real, dimensions_);
    backward_one_ = CufftPlan(stream, dimensions_, first, modes, real, Cufft<Real>::complex_to_real, 1);
    std::size_t bytes = 0;
    for (const auto* plan : {&forward_, &backward_, &backward_one_}) bytes = std::max(bytes, plan->work_bytes());
    work_ = Buffer<std::byte>(device_, static_cast<std::int64_t>(bytes));
  }

  Device device_;
  std::unique_ptr<DeviceMessages> messages_;  // of several ranks
  SlabPlanes planes_;                         // and who has which layers of the density
  int dimensions_;
  std::array<int, 3> cells_;
  ModeTask<Real> task_;
  Buffer<Real> density_, tables_;
  Buffer<Complex> modes_;     // of the density, of the last solve()
  Buffer<Complex> electric_;  // modes, then values
  Buffer<double> energy_;
  CufftPlan forward_, backward_, backward_one_;
  Buffer<std::byte> work_;
};

}  // namespace

}  // namespace cuda

template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field_cuda(const Device& device, const PlasmaOptions& options,
                                                          std::shared_ptr<Communicator> ranks) {
  return std::make_unique<cuda::PlasmaFieldCuda<Real>>(device, options, ranks);
}

template std::unique_ptr<PlasmaField<float>> make_plasma_field_cuda(const Device&, const PlasmaOptions&,
                                                                    std::shared_ptr<Communicator>);
template std::unique_ptr<PlasmaField<double>> make_plasma_field_cuda(const Device&, const PlasmaOptions&,
                                                                     std::shared_ptr<Communicator>);

}  // namespace pergola

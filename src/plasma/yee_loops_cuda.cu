// Yee's scheme on a GPU, one thread per point: see yee_loops.hpp. A pass is bound by memory: nine or twelve words of
// each cell are read and three written; a step's three passes take about a twentieth of what 64 particles in each cell
// take.
#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "plasma/yee_loops.hpp"

namespace pergola::plasma {

namespace {

template <int dimensions, YeePass pass, class Real>
struct PassPoint {
  YeeTask<Real> task;
  __device__ void operator()(std::int64_t k) const {
    const auto row = static_cast<unsigned>(k / task.nx);
    const int x = static_cast<int>(k - std::int64_t{row} * task.nx);
    constexpr bool above = pass == YeePass::magnetic || pass == YeePass::absorb_magnetic;
    yee_point<dimensions, pass>(task, above ? task.above(row) : task.below(row), row, x);
  }
};

template <class Real>
struct SendRow {
  YeeTask<Real> task;
  YeeAntenna antenna;
  const YeeClock* clock;
  __device__ void operator()(std::int64_t row) const { antenna.send(task, row, *clock); }
};
struct Tick {
  YeeClock* clock;
  __device__ void operator()(std::int64_t) const { ++clock->steps; }
};

constexpr int warp = 32, energy_threads = 256;

/// A warp per row.
template <class Real>
__global__ void __launch_bounds__(energy_threads)
    sum_row_energies(const __grid_constant__ YeeTask<Real> task, double light_speed, Vec3<double> uniform,
                     double* sums) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * energy_threads + threadIdx.x) / warp;
  const int lane = static_cast<int>(threadIdx.x) % warp;
  if (row >= std::int64_t{task.count} * task.rows) return;
  const std::int64_t first = task.row(task.first, 0) + row * task.pitch;
  double sum = 0;
  for (int x = lane; x < task.nx; x += warp) sum += task.energy(first + x, light_speed, uniform);
  for (int offset = warp / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (lane == 0) sums[row] = sum;
}

}  // namespace

template <class Real>
void yee_pass_cuda(const Device& device, YeePass pass, const YeeTask<Real>& task) {
  device.make_current();
  with_yee_pass(task.dimensions, pass, [&]<int dimensions, YeePass which>() {
    cuda::launch("yee_pass", std::int64_t{task.count} * task.rows * task.nx, device.stream(),
                 PassPoint<dimensions, which, Real>{task});
  });
}

template <class Real>
void yee_send_cuda(const Device& device, const YeeTask<Real>& task, const YeeAntenna& antenna, YeeClock* clock,
                   bool last) {
  device.make_current();
  cuda::launch("yee_send", std::int64_t{task.count} * task.rows, device.stream(), SendRow<Real>{task, antenna, clock});
  if (last) cuda::launch("yee_clock", 1, device.stream(), Tick{clock});
}

template <class Real>
std::vector<double> yee_row_energies_cuda(const Device& device, const YeeTask<Real>& task, double light_speed,
                                          const Vec3<double>& uniform) {
  device.make_current();
  const std::int64_t rows = std::int64_t{task.count} * task.rows;
  if (rows == 0) return {};
  Buffer<double> sums(device, rows);
  const auto blocks = static_cast<unsigned>((warp * rows + energy_threads - 1) / energy_threads);
  sum_row_energies<<<blocks, energy_threads, 0, cuda::handle(device.stream())>>>(task, light_speed, uniform,
                                                                                 sums.data());
  cuda::check(cudaGetLastError(), "sum_row_energies");
  return sums.to_host();
}

template void yee_pass_cuda(const Device&, YeePass, const YeeTask<float>&);
template void yee_pass_cuda(const Device&, YeePass, const YeeTask<double>&);
template void yee_send_cuda(const Device&, const YeeTask<float>&, const YeeAntenna&, YeeClock*, bool);
template void yee_send_cuda(const Device&, const YeeTask<double>&, const YeeAntenna&, YeeClock*, bool);
template std::vector<double> yee_row_energies_cuda(const Device&, const YeeTask<float>&, double, const Vec3<double>&);
template std::vector<double> yee_row_energies_cuda(const Device&, const YeeTask<double>&, double, const Vec3<double>&);

}  // namespace pergola::plasma

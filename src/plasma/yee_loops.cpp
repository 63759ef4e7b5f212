// Yee's scheme on the CPU, row by row, and the choice of the device: see yee_loops.hpp.
#include "plasma/yee_loops.hpp"

#include <algorithm>

#include "device/parallel.hpp"

namespace pergola::plasma {

namespace {

constexpr std::int64_t rows_at_once = 8;

/// Arrays do not overlap. Points at the ends of a row have their neighbour along x at the other end.
template <int dimensions, YeePass pass, class Real>
void yee_row(const YeeTask<Real>& task, std::int64_t row) {
  constexpr bool above = pass == YeePass::magnetic || pass == YeePass::absorb_magnetic;
  const physics::YeePoint first = above ? task.above(row) : task.below(row);
  const auto one = [&](int x) { yee_point<dimensions, pass>(task, first, row, x); };
  if constexpr (pass == YeePass::electric || pass == YeePass::magnetic) {
    one(0);
#pragma GCC ivdep
    for (int x = 1; x < task.nx - 1; ++x) one(x);
    one(task.nx - 1);
  } else if (task.axis == 0) {
    const int most = std::min(task.nx, 2 * task.ends);
    for (int k = 0; k < most; ++k) one(2 * k < most ? k : task.nx - most + k);
  } else if (task.at_ends(task.place(row, 0))) {
    for (int x = 0; x < task.nx; ++x) one(x);
  }
}

}  // namespace

template <class Real>
void yee_pass(const Device& device, YeePass pass, const YeeTask<Real>& task) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return yee_pass_cuda(device, pass, task);
  with_yee_pass(task.dimensions, pass, [&]<int dimensions, YeePass which>() {
    parallel_chunks(device.threads(), std::int64_t{task.count} * task.rows, rows_at_once,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t row = begin; row < end; ++row) yee_row<dimensions, which>(task, row);
                    });
  });
}

template <class Real>
void yee_send(const Device& device, const YeeTask<Real>& task, const YeeAntenna& antenna, YeeClock* clock, bool last) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return yee_send_cuda(device, task, antenna, clock, last);
  parallel_chunks(device.threads(), std::int64_t{task.count} * task.rows, 64,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t row = begin; row < end; ++row) antenna.send(task, row, *clock);
                  });
  if (last) ++clock->steps;
}

template <class Real>
std::vector<double> yee_row_energies(const Device& device, const YeeTask<Real>& task, double light_speed,
                                     const Vec3<double>& uniform) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return yee_row_energies_cuda(device, task, light_speed, uniform);
  std::vector<double> sums(static_cast<std::size_t>(std::int64_t{task.count} * task.rows));
  parallel_chunks(device.threads(), std::ssize(sums), rows_at_once, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t first = task.row(task.first, 0) + row * task.pitch;
      double sum = 0;
      for (int x = 0; x < task.nx; ++x) sum += task.energy(first + x, light_speed, uniform);
      sums[static_cast<std::size_t>(row)] = sum;
    }
  });
  return sums;
}

template void yee_pass(const Device&, YeePass, const YeeTask<float>&);
template void yee_pass(const Device&, YeePass, const YeeTask<double>&);
template void yee_send(const Device&, const YeeTask<float>&, const YeeAntenna&, YeeClock*, bool);
template void yee_send(const Device&, const YeeTask<double>&, const YeeAntenna&, YeeClock*, bool);
template std::vector<double> yee_row_energies(const Device&, const YeeTask<float>&, double, const Vec3<double>&);
template std::vector<double> yee_row_energies(const Device&, const YeeTask<double>&, double, const Vec3<double>&);

}  // namespace pergola::plasma

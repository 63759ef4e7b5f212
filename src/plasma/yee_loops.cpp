// Yee's scheme on the CPU, row by row, and the choice of the device: see yee_loops.hpp.
#include "plasma/yee_loops.hpp"

#include "device/parallel.hpp"

namespace pergola::plasma {

namespace {

constexpr std::int64_t rows_at_once = 8;

/// Arrays do not overlap. The point at an end of the row has its neighbour at the other end.
template <int dimensions, class Real>
void electric_row(const YeeTask<Real>& task, std::int64_t row) {
  const physics::YeePoint first = task.below(row);
  const std::int64_t moved = row * task.pitch;
  advance_electric<dimensions>(task, task.along(first, 0, task.nx - 1), moved);
#pragma GCC ivdep
  for (int x = 1; x < task.nx; ++x) advance_electric<dimensions>(task, task.along(first, x, x - 1), moved + x);
}
template <int dimensions, class Real>
void magnetic_row(const YeeTask<Real>& task, std::int64_t row) {
  const physics::YeePoint first = task.above(row);
#pragma GCC ivdep
  for (int x = 0; x < task.nx - 1; ++x) advance_magnetic<dimensions>(task, task.along(first, x, x + 1));
  advance_magnetic<dimensions>(task, task.along(first, task.nx - 1, 0));
}

}  // namespace

template <class Real>
void yee_pass(const Device& device, YeePass pass, const YeeTask<Real>& task) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return yee_pass_cuda(device, pass, task);
  const auto one_row = pass == YeePass::electric
                           ? (task.dimensions == 3 ? electric_row<3, Real> : electric_row<2, Real>)
                           : (task.dimensions == 3 ? magnetic_row<3, Real> : magnetic_row<2, Real>);
  parallel_chunks(device.threads(), std::int64_t{task.count} * task.rows, rows_at_once,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t row = begin; row < end; ++row) one_row(task, row);
                  });
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
template std::vector<double> yee_row_energies(const Device&, const YeeTask<float>&, double, const Vec3<double>&);
template std::vector<double> yee_row_energies(const Device&, const YeeTask<double>&, double, const Vec3<double>&);

}  // namespace pergola::plasma

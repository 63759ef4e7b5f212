#include "mesh/coupling/deposit_cuda.cuh"
#include "physics/mesh_stencils.hpp"

namespace pergola::cuda {

namespace {

/// One cell per thread. Layers of a slab that are beyond the grid get nothing along z where the potential does not
/// wrap.
template <int dimensions, bool four_point, class Real>
__global__ void differentiate(SlabFrame<Real> frame, Field<const Real> potential, int below, Vec3<Real> per_spacing,
                              CellForce<Real>* forces) {
  const int ix = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int iy = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int layer = static_cast<int>(blockIdx.z), iz = layer + below;
  if (ix >= frame.cells[0] || iy >= frame.cells[1]) return;
  const Real* const phi = potential.data;
  CellForce<Real> f;
  f.x = physics::axis_force<four_point, Real>([&](int j) { return phi[potential.index(j, iy, iz)]; }, ix, potential.nx,
                                              potential.wraps, per_spacing.x);
  f.y = physics::axis_force<four_point, Real>([&](int j) { return phi[potential.index(ix, j, iz)]; }, iy, potential.ny,
                                              potential.wraps, per_spacing.y);
  f.z = Real(0);
  if constexpr (dimensions == 3) {
    const bool of_slab = frame.grid_layers > 0 && !potential.wraps;
    const int first = of_slab ? frame.first_layer - below : 0, cells = of_slab ? frame.grid_layers : potential.nz;
    if (first + iz < cells)
      f.z = physics::axis_force<four_point, Real>([&](int j) { return phi[potential.index(ix, iy, j - first)]; },
                                                  first + iz, cells, potential.wraps, per_spacing.z);
  }
  f.potential = phi[potential.index(ix, iy, iz)];
  forces[sum_index(frame, ix, iy, layer)] = f;
}

/// The same for two-point differences of a potential that wraps, in three dimensions: a thread serves a cell in each of
/// `layers` layers and reads all that it needs before it writes.
template <int layers, class Real>
__global__ void differentiate_column(SlabFrame<Real> frame, Field<const Real> potential, int below,
                                     Vec3<Real> per_spacing, CellForce<Real>* forces) {
  const int ix = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int iy = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int begin = layers * static_cast<int>(blockIdx.z);
  if (ix >= frame.cells[0] || iy >= frame.cells[1]) return;
  const auto around = [](int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; };
  const auto value = [&](int x, int y, int z) { return potential.data[potential.index(x, y, z)]; };
  const int left = around(ix - 1, potential.nx), right = around(ix + 1, potential.nx);
  const int lower = around(iy - 1, potential.ny), upper = around(iy + 1, potential.ny);
  Real here[layers + 2], x[layers][2], y[layers][2];
#pragma unroll
  for (int k = 0; k < layers + 2; ++k)
    here[k] = value(ix, iy, around(below + min(begin + k - 1, frame.cells[2]), potential.nz));
#pragma unroll
  for (int k = 0; k < layers; ++k) {
    const int iz = below + min(begin + k, frame.cells[2] - 1);
    x[k][0] = value(left, iy, iz), x[k][1] = value(right, iy, iz);
    y[k][0] = value(ix, lower, iz), y[k][1] = value(ix, upper, iz);
  }
#pragma unroll
  for (int k = 0; k < layers; ++k)
    if (begin + k < frame.cells[2])
      forces[sum_index(frame, ix, iy, begin + k)] = {physics::two_point_force(x[k][0], x[k][1], per_spacing.x),
                                                     physics::two_point_force(y[k][0], y[k][1], per_spacing.y),
                                                     physics::two_point_force(here[k], here[k + 2], per_spacing.z),
                                                     here[k + 1]};
}

}  // namespace

template <class Real>
void launch_differentiate(const SlabFrame<Real>& frame, bool four_point, const Field<const Real>& potential, int below,
                          const Vec3<Real>& per_spacing, CellForce<Real>* forces, Stream stream) {
  const auto blocks_for = [](int count, int each) { return static_cast<unsigned>((count + each - 1) / each); };
  const auto run = [&](auto kernel, int layers) {
    const dim3 threads(64, 4),
        blocks(blocks_for(frame.cells[0], 64), blocks_for(frame.cells[1], 4), blocks_for(frame.cells[2], layers));
    kernel<<<blocks, threads, 0, handle(stream)>>>(frame, potential, below, per_spacing, forces);
    check(cudaGetLastError(), "differentiate");
  };
  if (frame.dimensions == 2)
    four_point ? run(differentiate<2, true, Real>, 1) : run(differentiate<2, false, Real>, 1);
  else if (four_point)
    run(differentiate<3, true, Real>, 1);
  else if (potential.wraps)
    run(differentiate_column<4, Real>, 4);
  else
    run(differentiate<3, false, Real>, 1);
}

template void launch_differentiate<float>(const SlabFrame<float>&, bool, const Field<const float>&, int,
                                          const Vec3<float>&, CellForce<float>*, Stream);
template void launch_differentiate<double>(const SlabFrame<double>&, bool, const Field<const double>&, int,
                                           const Vec3<double>&, CellForce<double>*, Stream);

}  // namespace pergola::cuda

#pragma once
// CUDA only. The force field of the cells, and from there to the particles.
#include "mesh/deposit_cuda.cuh"
#include "physics/mesh_gradient.hpp"
#include "physics/point_mass.hpp"

namespace pergola::cuda {

/// What a cell pulls with, and its potential where that is wanted. One load of 16 bytes in single precision.
template <class Real>
struct alignas(16) CellForce {
  Real x, y, z, potential;
};

/// Force field of a grid from a potential that may be laid out with more cells.
template <int dimensions, bool four_point, class Real>
__global__ void differentiate(CellFrame<Real> frame, Field<const Real> potential, Vec3<Real> per_spacing,
                              CellForce<Real>* forces) {
  const int ix = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int iy = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int iz = static_cast<int>(blockIdx.z);
  if (ix >= frame.cells[0] || iy >= frame.cells[1]) return;
  const Real* const phi = potential.data;
  CellForce<Real> f;
  f.x = physics::axis_force<four_point, Real>([&](int j) { return phi[potential.index(j, iy, iz)]; }, ix, potential.nx,
                                              potential.wraps, per_spacing.x);
  f.y = physics::axis_force<four_point, Real>([&](int j) { return phi[potential.index(ix, j, iz)]; }, iy, potential.ny,
                                              potential.wraps, per_spacing.y);
  f.z = Real(0);
  if constexpr (dimensions == 3)
    f.z = physics::axis_force<four_point, Real>([&](int j) { return phi[potential.index(ix, iy, j)]; }, iz,
                                                potential.nz, potential.wraps, per_spacing.z);
  f.potential = phi[potential.index(ix, iy, iz)];
  forces[sum_index(frame, ix, iy, iz)] = f;
}

/// One component of a force field that was differentiated elsewhere.
template <class Real>
struct SetForce {
  CellFrame<Real> frame;
  Field<const Real> force;
  CellForce<Real>* forces;
  int axis;

  __device__ void operator()(std::int64_t cell) const {
    const std::int64_t row = cell / frame.cells[0];
    const int ix = static_cast<int>(cell - row * frame.cells[0]), iz = static_cast<int>(row / frame.cells[1]);
    const Real value = force.data[force.index(ix, static_cast<int>(row - std::int64_t{iz} * frame.cells[1]), iz)];
    (axis == 0 ? forces[cell].x : axis == 1 ? forces[cell].y : forces[cell].z) = value;
  }
};

template <class Real>
struct GatherTask {
  CellFrame<Real> frame;
  MeshParticles<Real> particles;
  const std::int64_t* index = nullptr;
  std::int64_t count = 0;
  const CellForce<Real>* cells = nullptr;
  Field<const Real> potential;  // read where the cells do not hold it
  bool separate_potential = false;
  const Monopole* monopole = nullptr;
  double gravitational_constant = 0;
  MeshForces<Real> forces;
};

/// The force on one particle, with the weights of its cloud.
template <int dimensions, int order, class Real>
__device__ __forceinline__ CellForce<Real> cloud_force(const GatherTask<Real>& task, const Real (&place)[3]) {
  const CellFrame<Real>& frame = task.frame;
  const Cloud<dimensions, order, Real> cloud(place);
  constexpr int layers = dimensions == 3 ? order : 1;
  int column[order];
#pragma unroll
  for (int k = 0; k < order; ++k) column[k] = frame.wrapped(0, cloud.axis[0].first + k);
  CellForce<Real> sum{0, 0, 0, 0};
#pragma unroll
  for (int kz = 0; kz < layers; ++kz) {
    const int iz = dimensions == 3 ? frame.wrapped(2, cloud.axis[2].first + kz) : 0;
#pragma unroll
    for (int ky = 0; ky < order; ++ky) {
      const int iy = frame.wrapped(1, cloud.axis[1].first + ky);
      const Real yz = dimensions == 3 ? cloud.axis[1].weight[ky] * cloud.axis[2].weight[kz] : cloud.axis[1].weight[ky];
      const CellForce<Real>* const row = task.cells + sum_index(frame, 0, iy, iz);
#pragma unroll
      for (int kx = 0; kx < order; ++kx) {
        const CellForce<Real> cell = row[column[kx]];
        const Real weight = cloud.axis[0].weight[kx] * yz;
        sum.x = physics::mul_add(weight, cell.x, sum.x);
        sum.y = physics::mul_add(weight, cell.y, sum.y);
        if constexpr (dimensions == 3) sum.z = physics::mul_add(weight, cell.z, sum.z);
        const Real potential =
            task.separate_potential ? task.potential.data[task.potential.index(column[kx], iy, iz)] : cell.potential;
        sum.potential = physics::mul_add(weight, potential, sum.potential);
      }
    }
  }
  return sum;
}

/// The force of all mass on the mesh as a point, for a particle that is not on it.
template <int dimensions, class Real>
__device__ __forceinline__ CellForce<Real> force_outside(const GatherTask<Real>& task, const Real (&position)[3]) {
  const Monopole m = *task.monopole;
  const Vec3<Real> d{static_cast<Real>(static_cast<double>(position[0]) - m.x),
                     static_cast<Real>(static_cast<double>(position[1]) - m.y),
                     static_cast<Real>(static_cast<double>(position[2]) - m.z)};
  const auto field = physics::point_field<dimensions, Real>(d, static_cast<Real>(task.gravitational_constant * m.mass));
  return {field.acceleration.x, field.acceleration.y, field.acceleration.z, field.potential};
}

template <int dimensions, int order, class Real>
__global__ void gather_forces(const __grid_constant__ GatherTask<Real> task) {
  const std::int64_t k = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k >= task.count) return;
  const std::int64_t i = task.index ? task.index[k] : k;
  const auto& p = task.particles;
  const Real position[3] = {p.x[i], p.y[i], dimensions == 3 ? p.z[i] : Real(0)};
  Real place[3];
  const CellForce<Real> force = find_place<dimensions>(task.frame, position, place)
                                    ? cloud_force<dimensions, order>(task, place)
                                    : force_outside<dimensions>(task, position);
  if (task.forces.ax) task.forces.ax[k] = force.x;
  if (task.forces.ay) task.forces.ay[k] = force.y;
  if (task.forces.az) task.forces.az[k] = force.z;
  if (task.forces.potential) task.forces.potential[k] = force.potential;
}

}  // namespace pergola::cuda

#pragma once
// CUDA only. From the force field of the cells to the particles.
#include "mesh/coupling/deposit_cuda.cuh"
#include "mesh/force_field_cuda.cuh"
#include "physics/point_mass.hpp"

namespace pergola::cuda {

/// Where the potential of a particle comes from.
enum class PotentialFrom { nowhere, cells, field };

template <class Real>
struct GatherTask {
  CellFrame<Real> frame;
  MeshParticles<Real> particles;
  const std::int64_t* index = nullptr;
  std::int64_t count = 0;
  const CellForce<Real>* cells = nullptr;
  Field<const Real> potential;
  const Monopole* monopole = nullptr;
  double gravitational_constant = 0;
  MeshForces<Real> forces;
};

/// Adds up the cells of a cloud, cell(kx, ky, kz), with its weights.
template <int dimensions, int order, bool with_potential, class Real, class Cell>
__device__ __forceinline__ CellForce<Real> weighted_sum(const Cloud<dimensions, order, Real>& cloud, const Cell& cell) {
  CellForce<Real> sum{0, 0, 0, 0};
#pragma unroll
  for (int kz = 0; kz < (dimensions == 3 ? order : 1); ++kz)
#pragma unroll
    for (int ky = 0; ky < order; ++ky) {
      const Real yz = dimensions == 3 ? cloud.axis[1].weight[ky] * cloud.axis[2].weight[kz] : cloud.axis[1].weight[ky];
#pragma unroll
      for (int kx = 0; kx < order; ++kx) {
        const CellForce<Real> one = cell(kx, ky, kz);
        const Real weight = cloud.axis[0].weight[kx] * yz;
        sum.x = physics::mul_add(weight, one.x, sum.x);
        sum.y = physics::mul_add(weight, one.y, sum.y);
        if constexpr (dimensions == 3) sum.z = physics::mul_add(weight, one.z, sum.z);
        if constexpr (with_potential) sum.potential = physics::mul_add(weight, one.potential, sum.potential);
      }
    }
  return sum;
}

/// The force on a particle at a place on the mesh.
template <int dimensions, int order, PotentialFrom from, class Real>
__device__ __forceinline__ CellForce<Real> cloud_force(const GatherTask<Real>& task, const Real (&place)[3]) {
  constexpr bool with_potential = from != PotentialFrom::nowhere;
  const CellFrame<Real>& frame = task.frame;
  const Cloud<dimensions, order, Real> cloud(place);
  bool far_from_edge = from != PotentialFrom::field;
#pragma unroll
  for (int a = 0; a < dimensions; ++a)
    far_from_edge =
        far_from_edge && static_cast<unsigned>(cloud.axis[a].first) <= static_cast<unsigned>(frame.cells[a] - order);
  if (far_from_edge) {
    const CellForce<Real>* const first = task.cells + sum_index(frame, cloud.axis[0].first, cloud.axis[1].first,
                                                                dimensions == 3 ? cloud.axis[2].first : 0);
    const std::int64_t row = frame.cells[0], layer = row * frame.cells[1];
    return weighted_sum<dimensions, order, with_potential>(
        cloud, [&](int kx, int ky, int kz) { return first[kz * layer + ky * row + kx]; });
  }
  return weighted_sum<dimensions, order, with_potential>(cloud, [&](int kx, int ky, int kz) {
    const int ix = frame.wrapped(0, cloud.axis[0].first + kx), iy = frame.wrapped(1, cloud.axis[1].first + ky);
    const int iz = dimensions == 3 ? frame.wrapped(2, cloud.axis[2].first + kz) : 0;
    CellForce<Real> cell = task.cells[sum_index(frame, ix, iy, iz)];
    if constexpr (from == PotentialFrom::field) cell.potential = task.potential.data[task.potential.index(ix, iy, iz)];
    return cell;
  });
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

inline constexpr int gather_threads = 128;

template <int dimensions, int order, PotentialFrom from, class Real>
__global__ void __launch_bounds__(gather_threads) gather_forces(const __grid_constant__ GatherTask<Real> task) {
  const std::int64_t k = std::int64_t{blockIdx.x} * gather_threads + threadIdx.x;
  if (k >= task.count) return;
  const std::int64_t i = task.index ? task.index[k] : k;
  const auto& p = task.particles;
  const Real position[3] = {p.x[i], p.y[i], dimensions == 3 ? p.z[i] : Real(0)};
  Real place[3];
  const CellForce<Real> force = find_place<dimensions>(task.frame, position, place)
                                    ? cloud_force<dimensions, order, from>(task, place)
                                    : force_outside<dimensions>(task, position);
  if (task.forces.ax) task.forces.ax[k] = force.x;
  if (task.forces.ay) task.forces.ay[k] = force.y;
  if (task.forces.az) task.forces.az[k] = force.z;
  if constexpr (from != PotentialFrom::nowhere) task.forces.potential[k] = force.potential;
}

}  // namespace pergola::cuda

#pragma once
// CUDA only. From the force field of the cells to the particles, with the weights of the deposit, and to other places,
// as roughly as an estimate needs it. Sums over a cloud have a fixed order: a force does not depend on the launch.
#include <type_traits>

#include "mesh/coupling/deposit_cuda.cuh"
#include "physics/multipole.hpp"

namespace pergola::cuda {

/// One launch of a gather; arrays lie on the device, except those of the answers, which may lie on the host.
template <class Real>
struct GatherTask {
  SlabFrame<Real> frame;
  MeshParticles<Real> particles;
  const std::int64_t* index = nullptr;
  std::int64_t count = 0;
  const CellForce<Real>* cells = nullptr;
  const Monopole* monopole = nullptr;
  double gravitational_constant = 0;
  MeshForces<Real> forces;
};

/// body(kx, ky, kz, weight) for the cells of a cloud.
template <int dimensions, int order, class Real, class Body>
__device__ __forceinline__ void each_weight(const Cloud<dimensions, order, Real>& cloud, const Body& body) {
#pragma unroll
  for (int kz = 0; kz < (dimensions == 3 ? order : 1); ++kz)
#pragma unroll
    for (int ky = 0; ky < order; ++ky) {
      const Real yz = dimensions == 3 ? cloud.axis[1].weight[ky] * cloud.axis[2].weight[kz] : cloud.axis[1].weight[ky];
#pragma unroll
      for (int kx = 0; kx < order; ++kx) body(kx, ky, kz, cloud.axis[0].weight[kx] * yz);
    }
}

/// Whether no cell of a cloud is beyond an end of the mesh.
template <int dimensions, int order, class Real>
__device__ __forceinline__ bool is_far_from_edge(const CellFrame<Real>& frame,
                                                 const Cloud<dimensions, order, Real>& cloud) {
  bool far = true;
#pragma unroll
  for (int a = 0; a < dimensions; ++a)
    far = far && static_cast<unsigned>(cloud.axis[a].first) <= static_cast<unsigned>(frame.cells[a] - order);
  return far;
}

/// add(weight, value) for the cells of a cloud on the mesh, whose rows and layers begin `row` and `layer` values apart.
template <int dimensions, int order, class Real, class Value, class Add>
__device__ __forceinline__ void each_cell_of(const CellFrame<Real>& frame, const Cloud<dimensions, order, Real>& cloud,
                                             const Value* values, std::int64_t row, std::int64_t layer,
                                             const Add& add) {
  if (is_far_from_edge(frame, cloud)) {
    const Value* const first =
        values + (dimensions == 3 ? cloud.axis[2].first * layer : 0) + cloud.axis[1].first * row + cloud.axis[0].first;
    each_weight(cloud, [&](int kx, int ky, int kz, Real weight) { add(weight, first[kz * layer + ky * row + kx]); });
    return;
  }
  each_weight(cloud, [&](int kx, int ky, int kz, Real weight) {
    const int ix = frame.wrapped(0, cloud.axis[0].first + kx), iy = frame.wrapped(1, cloud.axis[1].first + ky);
    const int iz = dimensions == 3 ? frame.wrapped(2, cloud.axis[2].first + kz) : 0;
    add(weight, values[iz * layer + iy * row + ix]);
  });
}

/// The force on a particle at a place on the mesh.
template <int dimensions, int order, bool with_potential, class Real>
__device__ __forceinline__ CellForce<Real> cloud_force(const GatherTask<Real>& task, const Real (&place)[3]) {
  const std::int64_t row = task.frame.cells[0], layer = row * task.frame.cells[1];
  CellForce<Real> sum{0, 0, 0, 0};
  each_cell_of(task.frame, Cloud<dimensions, order, Real>(task.frame, place), task.cells, row, layer,
               [&](Real weight, const CellForce<Real>& one) {
                 sum.x = physics::mul_add(weight, one.x, sum.x);
                 sum.y = physics::mul_add(weight, one.y, sum.y);
                 if constexpr (dimensions == 3) sum.z = physics::mul_add(weight, one.z, sum.z);
                 if constexpr (with_potential) sum.potential = physics::mul_add(weight, one.potential, sum.potential);
               });
  return sum;
}

/// The force of all mass on the mesh as a point, for a particle that is not on it.
template <int dimensions, class Real>
__device__ __forceinline__ CellForce<Real> force_outside(const Monopole& m, double gravitational_constant,
                                                         const Real (&position)[3]) {
  const Vec3<Real> d{static_cast<Real>(static_cast<double>(position[0]) - m.x),
                     static_cast<Real>(static_cast<double>(position[1]) - m.y),
                     static_cast<Real>(static_cast<double>(position[2]) - m.z)};
  const auto field = physics::point_field<dimensions, Real>(d, static_cast<Real>(gravitational_constant * m.mass));
  return {field.acceleration.x, field.acceleration.y, field.acceleration.z, field.potential};
}

inline constexpr int gather_threads = 128;

/// A thread per particle. Particles off an isolated mesh feel all mass on it as a point.
template <int dimensions, int order, bool with_potential, class Real>
__global__ void __launch_bounds__(gather_threads) gather_forces(const __grid_constant__ GatherTask<Real> task) {
  const std::int64_t k = std::int64_t{blockIdx.x} * gather_threads + threadIdx.x;
  if (k >= task.count) return;
  const std::int64_t i = task.index ? task.index[k] : k;
  const auto& p = task.particles;
  const Real position[3] = {p.x[i], p.y[i], dimensions == 3 ? p.z[i] : Real(0)};
  Real place[3];
  const CellForce<Real> force = find_place<dimensions>(task.frame, position, place)
                                    ? cloud_force<dimensions, order, with_potential>(task, place)
                                    : force_outside<dimensions>(*task.monopole, task.gravitational_constant, position);
  if (task.forces.ax) task.forces.ax[k] = force.x;
  if (task.forces.ay) task.forces.ay[k] = force.y;
  if (task.forces.az) task.forces.az[k] = force.z;
  if constexpr (with_potential) task.forces.potential[k] = force.potential;
}

/// One launch of a gather of one component: 0 to 2, or 3 for the potential.
template <class Real>
struct ComponentTask {
  SlabFrame<Real> frame;
  MeshParticles<Real> particles;
  const std::int64_t* index = nullptr;
  std::int64_t count = 0;
  Field<const Real> field;
  bool by_fours = false;  // rows lie at multiples of 16 bytes, and have room for whole fours
  int component = 0;
  const Monopole* monopole = nullptr;
  double gravitational_constant = 0;
  Real* into = nullptr;
};

/// The same for a cloud of four cells along each axis on the mesh, whose rows lie at multiples of 16 bytes: eight
/// numbers of a row are read at once, of which four next to each other are wanted.
template <class Add>
__device__ __forceinline__ void each_cell_by_fours(const Cloud<3, 4, float>& cloud, const float* values,
                                                   std::int64_t row, std::int64_t layer, const Add& add) {
  const int shift = cloud.axis[0].first & 3;
  const float* const first =
      values + cloud.axis[2].first * layer + cloud.axis[1].first * row + (cloud.axis[0].first - shift);
#pragma unroll
  for (int kz = 0; kz < 4; ++kz)
#pragma unroll
    for (int ky = 0; ky < 4; ++ky) {
      const auto* const eight = reinterpret_cast<const float4*>(first + kz * layer + ky * row);
      const float4 a = eight[0], b = eight[1];
      const float by_one[7] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z};
      float by_two[5];
#pragma unroll
      for (int k = 0; k < 5; ++k) by_two[k] = shift & 2 ? by_one[k + 2] : by_one[k];
      const float yz = cloud.axis[1].weight[ky] * cloud.axis[2].weight[kz];
#pragma unroll
      for (int kx = 0; kx < 4; ++kx) add(cloud.axis[0].weight[kx] * yz, shift & 1 ? by_two[kx + 1] : by_two[kx]);
    }
}

/// The component at a cloud on the mesh.
template <int dimensions, int order, class Real>
__device__ __forceinline__ Real cloud_component(const ComponentTask<Real>& task,
                                                const Cloud<dimensions, order, Real>& cloud) {
  Real sum = 0;
  if constexpr (dimensions == 3 && order == 4 && std::is_same_v<Real, float>) {
    if (task.by_fours && is_far_from_edge(task.frame, cloud)) {
      each_cell_by_fours(cloud, task.field.data, task.field.pitch, task.field.pitch * task.field.ny,
                         [&](float weight, float value) { sum = physics::mul_add(weight, value, sum); });
      return sum;
    }
  }
  each_cell_of(task.frame, cloud, task.field.data, task.field.pitch, task.field.pitch * task.field.ny,
               [&](Real weight, Real value) { sum = physics::mul_add(weight, value, sum); });
  return sum;
}

/// That of a particle that is not on the mesh.
template <int dimensions, class Real>
__device__ __forceinline__ Real component_outside(const ComponentTask<Real>& task, const Real (&position)[3]) {
  const auto f = force_outside<dimensions>(*task.monopole, task.gravitational_constant, position);
  return task.component == 0 ? f.x : task.component == 1 ? f.y : task.component == 2 ? f.z : f.potential;
}

/// A thread per particle, in the order of memory that `order` gives; one number each.
template <int dimensions, int order, class Real>
__global__ void __launch_bounds__(gather_threads) gather_one(const __grid_constant__ ComponentTask<Real> task) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * gather_threads + threadIdx.x;
  if (thread >= task.count) return;
  const auto& p = task.particles;
  const std::int64_t k = p.order ? p.order[thread] : thread, i = task.index ? task.index[k] : k;
  const Real position[3] = {p.x[i], p.y[i], dimensions == 3 ? p.z[i] : Real(0)};
  Real place[3];
  task.into[k] = find_place<dimensions>(task.frame, position, place)
                     ? cloud_component(task, Cloud<dimensions, order, Real>(task.frame, place))
                     : component_outside<dimensions>(task, position);
}

/// One component at a place: of the plane in whose cells it is, linear along x and y. So it is found by the rank that
/// has this plane. Nothing off the mesh.
template <class Real>
struct ForceAtPlace {
  SlabFrame<Real> frame;
  MeshPlaces<Real> places;
  Field<const Real> field;
  int component;

  __device__ void operator()(std::int64_t k) const {
    const Real position[3] = {places.x[k], places.y[k], places.z[k]};
    Real place[3], sum = 0;
    if (find_place<3>(frame, position, place)) {
      const auto x = physics::axis_weights<2, Real>(place[0]), y = physics::axis_weights<2, Real>(place[1]);
      const int cell = physics::axis_weights<1, Real>(place[2]).first;
      const std::int64_t plane = frame.grid_layers == 0 ? frame.wrapped(2, cell) : frame.layer_of(cell);
      for (int j = 0; j < 2; ++j) {
        const Real* const row = field.data + (plane * field.ny + frame.wrapped(1, y.first + j)) * field.pitch;
        for (int i = 0; i < 2; ++i)
          sum = physics::mul_add(x.weight[i] * y.weight[j], row[frame.wrapped(0, x.first + i)], sum);
      }
    }
    places.into[component][k] = sum;
  }
};

}  // namespace pergola::cuda

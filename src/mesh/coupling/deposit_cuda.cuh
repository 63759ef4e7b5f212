#pragma once
// CUDA only. Masses of particles into the fixed-point sums of the cells: what the kernels of a deposit share, the route
// "atomic", and the force field of the cells. A mass is a whole number of quanta and a share of it too, so that the
// order of additions does not matter.
#include <cstdint>
#include <type_traits>

#include "device/launch.cuh"
#include "mesh/coupling/cell_frame.hpp"
#include "mesh/coupling/exchange.hpp"

namespace pergola::cuda {

/// body(order) with the number of cells of a cloud along an axis as a type.
template <class Body>
void with_order(Assignment assignment, const Body& body) {
  switch (assignment) {
    case Assignment::ngp:
      return body(std::integral_constant<int, 1>{});
    case Assignment::cic:
      return body(std::integral_constant<int, 2>{});
    case Assignment::tsc:
      return body(std::integral_constant<int, 3>{});
    case Assignment::pcs:
      return body(std::integral_constant<int, 4>{});
  }
}

/// What a deposit counts on its way.
struct DepositCounts {
  std::int64_t quanta;   // on the mesh
  std::int64_t outside;  // particles left out
  std::int64_t strays;   // particles that were far from their neighbours in the order
};

/// A mass and where it is, as the force outside an isolated mesh needs it.
struct Monopole {
  double mass;
  double x, y, z;
};

/// A grid, or a slab of its layers (mesh/slab_planes.hpp): then cells[2] counts those, and the ones beyond that clouds
/// reach, from the slab's first on, and only particles whose clouds begin in the slab are met.
template <class Real>
struct SlabFrame : CellFrame<Real> {
  int first_layer = 0, grid_layers = 0;  // 0: no slab

  SlabFrame() = default;
  explicit SlabFrame(const CellFrame<Real>& frame) : CellFrame<Real>(frame) {}
  PERGOLA_HD bool holds(int axis, Real place) const {
    if (axis < 2 || grid_layers == 0) return CellFrame<Real>::holds(axis, place);
    return this->periodic || (place >= Real(isolated_margin) && place < Real(grid_layers - isolated_margin));
  }
  /// The layer that a cloud begins in, as this counts them.
  PERGOLA_HD int layer_of(int cell) const {
    if (grid_layers == 0) return cell;
    const int wrapped = cell < 0 ? cell + grid_layers : cell >= grid_layers ? cell - grid_layers : cell;
    return wrapped - first_layer;
  }
};

/// One launch of a deposit.
template <class Real>
struct DepositTask {
  SlabFrame<Real> frame;
  MeshParticles<Real> particles;
  double per_quantum = 0;
  Real small_mass = 0;                    // a chunk of particles up to this mass has less than 2³¹ quanta
  const std::uint32_t* starts = nullptr;  // of chunks (find_chunk_starts); null: all have one length
  unsigned long long* sums = nullptr;
  DepositCounts* counts = nullptr;
};

/// The cloud of one particle, from its place in cells along each axis.
template <int dimensions, int order, class Real>
struct Cloud {
  physics::AxisWeights<order, Real> axis[3];

  __device__ __forceinline__ Cloud(const SlabFrame<Real>& frame, const Real (&place)[3]) {
#pragma unroll
    for (int a = 0; a < dimensions; ++a) axis[a] = physics::axis_weights<order, Real>(place[a]);
    if constexpr (dimensions == 3) axis[2].first = frame.layer_of(axis[2].first);
  }
};

/// Finds the place of a particle; false when the mesh does not take it. Most particles of a periodic box are in it,
/// which one test finds out.
template <int dimensions, class Frame, class Real>
__device__ __forceinline__ bool find_place(const Frame& frame, const Real (&position)[3], Real (&place)[3]) {
  bool simple = true, inside = true;
#pragma unroll
  for (int a = 0; a < dimensions; ++a)
    simple = simple && position[a] >= frame.corner[a] && position[a] < frame.corner[a] + frame.side[a];
#pragma unroll
  for (int a = 0; a < dimensions; ++a) place[a] = frame.cells_from_corner(a, position[a]);
  if (frame.periodic) {
    if (!simple) {
#pragma unroll
      for (int a = 0; a < dimensions; ++a) place[a] = frame.place(a, position[a]);
    }
  } else {
#pragma unroll
    for (int a = 0; a < dimensions; ++a) inside = inside && frame.holds(a, place[a]);
  }
  return inside;
}

template <class Real>
__device__ __forceinline__ std::int64_t sum_index(const CellFrame<Real>& frame, int ix, int iy, int iz) {
  return (std::int64_t{iz} * frame.cells[1] + iy) * frame.cells[0] + ix;
}

/// Adds a cloud to the sums in global memory.
template <int dimensions, int order, class Real>
__device__ __forceinline__ void add_to_sums(const DepositTask<Real>& task, const Cloud<dimensions, order, Real>& cloud,
                                            std::int64_t quanta) {
  const CellFrame<Real>& frame = task.frame;
  share_out<dimensions, order>(
      cloud.axis[0], cloud.axis[1], cloud.axis[2], quanta, [&](int kx, int ky, int kz, std::int64_t share) {
        const int ix = frame.wrapped(0, cloud.axis[0].first + kx);
        const int iy = frame.wrapped(1, cloud.axis[1].first + ky);
        const int iz = dimensions == 3 ? frame.wrapped(2, cloud.axis[2].first + kz) : 0;
        atomicAdd(&task.sums[sum_index(frame, ix, iy, iz)], static_cast<unsigned long long>(share));
      });
}

/// Adds a particle to the sums in global memory; false when the mesh does not take it.
template <int dimensions, int order, class Real>
__device__ __forceinline__ bool add_particle(const DepositTask<Real>& task, std::int64_t i) {
  const auto& p = task.particles;
  const Real position[3] = {p.x[i], p.y[i], dimensions == 3 ? p.z[i] : Real(0)};
  Real place[3];
  if (!find_place<dimensions>(task.frame, position, place)) return false;
  add_to_sums(task, Cloud<dimensions, order, Real>(task.frame, place), physics::quanta(p.mass[i], task.per_quantum));
  return true;
}

/// Adds one number of every lane of a warp to a counter. All lanes must call.
__device__ __forceinline__ void count_in_warp(std::int64_t* counter, int number) {
  const int sum = __reduce_add_sync(0xffffffffu, number);
  if (sum != 0 && threadIdx.x % 32 == 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(counter), static_cast<unsigned long long>(sum));
}

/// The route "atomic": one thread per particle.
template <int dimensions, int order, class Real>
__global__ void deposit_by_atomics(DepositTask<Real> task) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const bool outside = i < task.particles.count && !add_particle<dimensions, order>(task, i);
  count_in_warp(&task.counts->outside, outside);
}

/// What a cell pulls with, and its potential. One load of 16 bytes in single precision.
template <class Real>
struct alignas(16) CellForce {
  Real x, y, z, potential;
};

/// Force field of a grid by two- or four-point differences of a potential that may be laid out with more cells, and
/// with `below` layers before the first of the grid, or of a slab of it. One file: mesh/coupling/force_field_cuda.cu.
template <class Real>
void launch_differentiate(const SlabFrame<Real>& frame, bool four_point, const Field<const Real>& potential, int below,
                          const Vec3<Real>& per_spacing, CellForce<Real>* forces, Stream stream);

}  // namespace pergola::cuda

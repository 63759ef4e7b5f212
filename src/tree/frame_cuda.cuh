#pragma once
// CUDA only: the cube that holds all particles, and their total mass, both in a fixed order of sums.
//
// Two launches: bounds_kernel makes one row of nine values per block, frame_kernel reduces the rows in one block and
// writes the frame to device memory. Nothing waits for the host. A value that is not finite reaches `finite`.
#include "device/exact_terms.cuh"
#include "tree/octree_cuda.cuh"

namespace pergola::tree {

inline constexpr int bound_blocks = 512, bound_threads = 256, bound_values = 9;

/// Sums and extremes of a block's threads, in a fixed order: low, high, mass, least and most mass of one particle.
inline __device__ void reduce_block(double (&value)[bound_values], double* out) {
  __shared__ double other[bound_values][bound_threads / 2];
  const auto merge = [&](int v, double b) {
    const double a = value[v];
    value[v] = v == 6 ? a + b : v < 3 || v == 7 ? (b < a ? b : a) : (b > a ? b : a);
  };
  const int thread = static_cast<int>(threadIdx.x);
  for (int half = bound_threads / 2; half >= 32; half /= 2) {
    __syncthreads();
#pragma unroll
    for (int v = 0; v < bound_values; ++v)
      if (thread >= half && thread < 2 * half) other[v][thread - half] = value[v];
    __syncthreads();
#pragma unroll
    for (int v = 0; v < bound_values; ++v)
      if (thread < half) merge(v, other[v][thread]);
  }
  if (thread >= 32) return;
#pragma unroll
  for (int half = 16; half > 0; half /= 2)
#pragma unroll
    for (int v = 0; v < bound_values; ++v) merge(v, __shfl_down_sync(all_lanes, value[v], half));
#pragma unroll
  for (int v = 0; v < bound_values; ++v)
    if (thread == 0) out[v] = value[v];
}

/// Values: 0 to 2 lowest coordinates, 3 to 5 highest, 6 total mass, 7 least and 8 largest mass of a particle.
inline __device__ void start_bounds(double (&value)[bound_values]) {
  for (int a = 0; a < 3; ++a) value[a] = INFINITY, value[3 + a] = -INFINITY;
  value[6] = 0, value[7] = INFINITY, value[8] = -INFINITY;
}
/// A position that is not a number becomes part of both bounds.
inline __device__ void widen(double (&value)[bound_values], int axis, double low, double high) {
  value[axis] = low < value[axis] || isnan(low) ? low : value[axis];
  value[3 + axis] = high > value[3 + axis] || isnan(high) ? high : value[3 + axis];
}

/// A grid-stride loop over the particles; `partial` has bound_values numbers per block.
template <class Real>
__global__ void bounds_kernel(Points<Real> points, double* partial, cuda::BlockExactSum::Limb* limbs) {
  __shared__ cuda::BlockExactSum::Limb block_limbs[ExactSum::limbs];
  cuda::BlockExactSum exact;
  exact.begin(block_limbs);
  __syncthreads();
  double value[bound_values];
  start_bounds(value);
  bool finite = true;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < points.count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const double at[3] = {static_cast<double>(points.x[i]), static_cast<double>(points.y[i]),
                          static_cast<double>(points.z[i])};
    for (int a = 0; a < 3; ++a) {
      widen(value, a, at[a], at[a]);
      finite = finite && isfinite(at[a]);
    }
    const auto mass = static_cast<double>(points.mass[i]);
    value[6] += mass;
    value[7] = mass < value[7] ? mass : value[7], value[8] = mass > value[8] ? mass : value[8];
    if (isfinite(mass)) exact.add(mass);
  }
  exact.flush();
  __syncthreads();
  exact.add_to(limbs);
  // Bounds of what is not finite are infinite.
  if (!finite) value[3] = INFINITY;
  reduce_block(value, partial + blockIdx.x * bound_values);
}

/// The sum of equal masses does not depend on their order. Other masses are summed exactly; in a periodic box all are,
/// so that the sum does not depend on the distribution over ranks. Leaves zeros in the limbs. In a periodic box the
/// cube is that of the box.
static __global__ void frame_kernel(const double* partial, cuda::BlockExactSum::Limb* limbs, Box box, double apart,
                                    double given_mass, BuildReport* to) {
  double value[bound_values];
  start_bounds(value);
  for (int b = static_cast<int>(threadIdx.x); b < bound_blocks; b += bound_threads) {
    for (int a = 0; a < 3; ++a) widen(value, a, partial[b * bound_values + a], partial[b * bound_values + 3 + a]);
    const double* const mass = partial + b * bound_values + 6;
    value[6] += mass[0];
    value[7] = mass[1] < value[7] ? mass[1] : value[7], value[8] = mass[2] > value[8] ? mass[2] : value[8];
  }
  __shared__ double all[bound_values];
  reduce_block(value, all);
  __shared__ ExactSum::Limbs exact;
  for (auto k = threadIdx.x; k < ExactSum::limbs; k += blockDim.x)
    exact[k] = static_cast<std::int64_t>(limbs[k]), limbs[k] = 0;
  __syncthreads();
  if (threadIdx.x > 0) return;
  const bool plain = (all[7] == all[8] && !box.periodic()) || !isfinite(all[6]);
  const double mass = given_mass > 0 ? given_mass : plain ? all[6] : ExactSum::value(exact);
  double side = 0;
  for (int a = 0; a < 3; ++a) side = all[3 + a] - all[a] > side ? all[3 + a] - all[a] : side;
  to->frame.corner = {all[0], all[1], all[2]};
  to->frame.side = side > 0 ? side : 1;
  to->frame.mass = mass > 0 ? mass : 1;
  if (box.periodic()) {
    to->frame.corner = box.corner;
    to->frame.side = fmax(fmax(box.side.x, box.side.y), box.side.z);
  }
  to->softening_level = softening_level(to->frame.side, apart);
  to->finite = isfinite(side) && isfinite(all[6]);
}

}  // namespace pergola::tree

#pragma once
// CUDA only: views of particles and groups for kernels, sums in the order of a loop, and a sort.
#include <cmath>
#include <cstdint>
//
// Sums must have the bits of the CPU's loops. So a warp fetches 32 numbers at once, which hides the latency of memory,
// but adds them one after the other: lane t adds the numbers of term t from shared memory.
#include <cub/block/block_reduce.cuh>

#include "analysis/groups_on_gpu.hpp"
#include "device/exact_terms.hpp"
#include "device/launch.cuh"
#include "device/sort.cuh"

namespace pergola {

/// Pointers to the arrays of particles, for kernels.
struct ParticleView {
  const double *x, *y, *z, *mass, *vx, *vy, *vz;
  const std::uint32_t* rank;  // null: ids rise

  explicit ParticleView(const GpuParticles& p)
      : x(p.x.data()),
        y(p.y.data()),
        z(p.z.data()),
        mass(p.mass.data()),
        vx(p.vx.data()),
        vy(p.vy.data()),
        vz(p.vz.data()),
        rank(p.rank.data()) {}
  __device__ Vec3<double> place(std::uint32_t i) const { return {x[i], y[i], z[i]}; }
  __device__ Vec3<double> velocity(std::uint32_t i) const { return {vx[i], vy[i], vz[i]}; }
};

/// Group g has the members begin[g] … begin[g + 1] − 1.
struct GroupView {
  const std::uint32_t* members;
  const std::int64_t* begin;
};

namespace cuda {

inline constexpr int warp = 32;
inline constexpr unsigned all_lanes = 0xffffffff;
inline constexpr int group_threads = 256;  // of a block: one group, or eight groups by warps
inline constexpr int warps_per_block = group_threads / warp;

/// Shared memory for the sums of a warp. A gap puts rows into different banks.
template <int terms>
struct LaneTerms {
  double of[terms][warp + 1];
};

/// Adds the numbers of the first `count` lanes in order, as a loop does. Lane t gets the sum of term t; each of the
/// first lanes gets the sums up to its own number.
template <int terms>
__device__ Terms<terms> add_lanes(const Terms<terms>& own, int count, int lane, LaneTerms<terms>& shared, double& sum) {
  for (int t = 0; t < terms; ++t) shared.of[t][lane] = own.value[t];
  __syncwarp();
  if (lane < terms) {
    double* const row = shared.of[lane];
    if (count == warp) {
      double value[warp];
#pragma unroll
      for (int k = 0; k < warp; ++k) value[k] = row[k];
#pragma unroll
      for (int k = 0; k < warp; ++k) sum += value[k], row[k] = sum;
    } else {
      for (int k = 0; k < count; ++k) sum += row[k], row[k] = sum;
    }
  }
  __syncwarp();
  Terms<terms> up_to_own;
  for (int t = 0; t < terms; ++t) up_to_own.value[t] = shared.of[t][lane];
  __syncwarp();
  return up_to_own;
}

/// The largest number of a block, at least 0, for all its threads.
__device__ inline double largest_of_block(double own) {
  using Reduce = cub::BlockReduce<double, group_threads>;
  __shared__ typename Reduce::TempStorage work;
  __shared__ double largest;
  const double found = Reduce(work).Reduce(own, [](double a, double b) { return a > b ? a : b; });
  if (threadIdx.x == 0) largest = found;
  __syncthreads();
  const double result = largest;
  __syncthreads();  // before the memory is used again
  return result;
}

/// The number of bits of numbers below `numbers`.
inline int bits_of(double numbers) {
  int bits = 1;
  while (std::ldexp(1.0, bits) < numbers) ++bits;
  return bits;
}

/// Sorts keys and order by the lowest `bits` bits. The sort is stable.
template <class Key>
void sort_order(const Device& device, Buffer<Key>& keys, Buffer<std::uint32_t>& order, int bits) {
  const RadixSort<Key, std::uint32_t> sort{static_cast<std::uint32_t>(order.size()), 0, bits};
  Buffer<Key> other_keys(device, order.size());
  Buffer<std::uint32_t> other_order(device, order.size());
  Buffer<std::byte> scratch(device, static_cast<std::int64_t>(sort.scratch_bytes()));
  Key* sorted_keys = keys.data();
  std::uint32_t* sorted = order.data();
  sort.sort(scratch.data(), sort.scratch_bytes(), sorted_keys, other_keys.data(), sorted, other_order.data(),
            device.stream());
  device.synchronize();
  if (sorted_keys != keys.data()) keys.swap(other_keys);
  if (sorted != order.data()) order.swap(other_order);
}

/// The number of blocks if each group takes one warp.
inline unsigned blocks_of_warps(std::int64_t count) {
  return static_cast<unsigned>((count + warps_per_block - 1) / warps_per_block);
}

}  // namespace cuda

}  // namespace pergola

#pragma once
// CUDA only: groups take in the particles that were sent to them and close the gaps that others left.
#include "plasma/tiles_cuda.cuh"

namespace pergola::cuda {

inline constexpr int move_threads = 128;

template <class Real>
__device__ __forceinline__ void copy_particle(const ParticleArrays<Real>& from, std::int64_t source,
                                              const ParticleArrays<Real>& to, std::int64_t target) {
#pragma unroll
  for (int a = 0; a < 3; ++a)
    if (from.place[a]) to.place[a][target] = from.place[a][source];
#pragma unroll
  for (int a = 0; a < 3; ++a)
    if (from.velocity[a]) to.velocity[a][target] = from.velocity[a][source];
  to.rank[target] = from.rank[source];
}

/// A block per group. Arrivals take the holes; more of them go behind the last particle. Where holes are left,
/// particles from the end go there. Shared memory: inbox_size words for the holes, as many bits for those at the end.
template <class Real>
__global__ void __launch_bounds__(move_threads) take_arrivals(const __grid_constant__ Groups<Real> all) {
  extern __shared__ std::uint32_t shared[];
  __shared__ int hole_count, low_count, moved;
  std::uint32_t* const low = shared;
  std::uint32_t* const gone = shared + all.inbox_size;
  const int group = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int listed = static_cast<int>(min(all.holes[group], static_cast<std::uint32_t>(all.inbox_size)));
  const int arrivals = static_cast<int>(min(all.arrived[group], all.room[group]));
  const bool refused = all.arrived[group] > all.room[group];
  if (listed == 0 && arrivals == 0 && !refused) return;
  const std::int64_t begin = all.begin[group];
  const std::uint32_t* const holes = all.hole + std::int64_t{group} * all.inbox_size;
  const int before = static_cast<int>(all.count[group]);
  if (thread == 0) hole_count = low_count = moved = 0;
  __syncthreads();
  for (int k = thread; k < listed; k += move_threads)
    if (holes[k] != no_hole) atomicAdd(&hole_count, 1);
  for (int k = thread; k < (all.inbox_size + 31) / 32; k += move_threads) gone[k] = 0;
  __syncthreads();
  const int after = before - hole_count + arrivals;
  for (int k = thread; k < listed; k += move_threads) {
    if (holes[k] == no_hole) continue;
    const int hole = static_cast<int>(holes[k]);
    if (hole < after)
      low[atomicAdd(&low_count, 1)] = holes[k];
    else
      atomicOr(&gone[(hole - after) / 32], 1u << ((hole - after) % 32));
  }
  __syncthreads();
  const int filled = low_count;
  for (int k = thread; k < arrivals; k += move_threads)
    copy_particle(all.inbox, std::int64_t{group} * all.inbox_size + k, all.slots,
                  begin + (k < filled ? static_cast<int>(low[k]) : after - arrivals + k));
  for (int k = thread; k < before - after; k += move_threads) {
    if (gone[k / 32] >> (k % 32) & 1u) continue;
    const std::int64_t from = begin + after + k, to = begin + low[arrivals + atomicAdd(&moved, 1)];
    copy_particle(all.slots, from, all.slots, to);
    if (all.slots.place[0][from] < 0) all.away[to] = all.away[from];
  }
  if (thread != 0) return;
  const auto capacity = static_cast<int>(all.begin[group + 1] - begin);
  all.count[group] = static_cast<std::uint32_t>(after);
  all.holes[group] = 0;
  all.arrived[group] = 0;
  all.room[group] = static_cast<std::uint32_t>(min(all.inbox_size, capacity - after));
  if (capacity - after < all.inbox_size / 2) all.status->crowded = 1;
  if (after != before)
    atomicAdd(&all.status->balance, static_cast<unsigned long long>(static_cast<long long>(arrivals - hole_count)));
}

}  // namespace pergola::cuda

// The sums of targets whose sources were split come together.
#include <type_traits>

#include "gravity/direct_cuda.cuh"

namespace pergola::cuda {

namespace {

/// Adds up the segments of the targets whose sources were split.
template <Precision P, ForceKind K>
__global__ void collect_kernel(const __grid_constant__ ForceTask<P> task, const __grid_constant__ Decomposition d) {
  const std::int64_t end = task.end(task.total);
  const int lanes = collect_lanes(d);
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t first_split = d.whole * d.group;
  const std::int64_t slot = (task.first > first_split ? task.first : first_split) + thread / lanes;
  if (slot >= end) return;  // the threads of one team leave together: a team is a thread or a warp
  typename SourcePack<P>::Sum sum[sum_values];
  collect_sums<K>(task, d, slot, static_cast<int>(thread % lanes), lanes, sum);
  if (thread % lanes == 0)
    for (int k = 0; k < sum_values; ++k)
      if (task.out[k]) task.out[k][slot - task.first] = sum[k];
}

/// Thread k adds the warps' sums of one segment of a target, in the order of the warps, one value after the other.
template <Precision P, ForceKind K>
__global__ void add_warps_kernel(const __grid_constant__ ForceTask<P> task, const __grid_constant__ Decomposition d) {
  using Columns = ForceColumns<K>;
  const std::int64_t first_split = d.whole * d.group, thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (thread >= warp_sums_at(task, d, task.end(task.total))) return;
  const std::int64_t whole = task.first < first_split ? first_split - task.first : 0;
  const std::int64_t slot = task.first + (thread < whole ? thread : whole + (thread - whole) / d.segments);
  const int segment = thread < whole ? 0 : static_cast<int>((thread - whole) % d.segments);
  const auto* const kept = task.warp_sums + thread * force_warps * Columns::values;
  for (int column = 0; column < Columns::values; ++column) {
    typename SourcePack<P>::Sum sum = 0;
    for (int warp = 0; warp < force_warps; ++warp) sum += kept[warp * Columns::values + column];
    if (auto* const to = sum_place<Columns>(task, d, slot, segment, column)) *to = sum;
  }
}

/// Calls f with an integral_constant of the kind.
template <class F>
void with_kind(ForceKind kind, const F& f) {
  switch (kind) {
    case ForceKind::acceleration:
      return f(std::integral_constant<ForceKind, ForceKind::acceleration>());
    case ForceKind::acceleration_potential:
      return f(std::integral_constant<ForceKind, ForceKind::acceleration_potential>());
    case ForceKind::potential:
      return f(std::integral_constant<ForceKind, ForceKind::potential>());
    case ForceKind::acceleration_jerk:
      return f(std::integral_constant<ForceKind, ForceKind::acceleration_jerk>());
    case ForceKind::acceleration_jerk_potential:
      return f(std::integral_constant<ForceKind, ForceKind::acceleration_jerk_potential>());
  }
}

}  // namespace

template <Precision P>
void launch_collect(const ForceTask<P>& task, ForceKind kind, const ForceGrid& grid, Stream stream) {
  const Decomposition d = decomposition(task, grid);
  const std::int64_t first_split = d.whole * d.group;
  const std::int64_t slots = task.end(task.total) - (task.first > first_split ? task.first : first_split);
  if (slots <= 0) return;
  // A few warps that work alone are spread over the device.
  const int threads = collect_lanes(d) == 32 && slots <= 2048 ? 32 : 256;
  const auto blocks = static_cast<unsigned>((slots * collect_lanes(d) + threads - 1) / threads);
  with_kind(kind, [&](auto value) {
    collect_kernel<P, decltype(value)::value><<<blocks, threads, 0, handle(stream)>>>(task, d);
    check(cudaGetLastError(), "collect sums");
  });
}

template <Precision P>
void launch_add_warps(const ForceTask<P>& task, ForceKind kind, const ForceGrid& grid, Stream stream) {
  const Decomposition d = decomposition(task, grid);
  const std::int64_t threads = warp_sums_at(task, d, task.end(task.total));
  if (threads <= 0) return;
  with_kind(kind, [&](auto value) {
    add_warps_kernel<P, decltype(value)::value>
        <<<static_cast<unsigned>((threads + 127) / 128), 128, 0, handle(stream)>>>(task, d);
    check(cudaGetLastError(), "add sums of warps");
  });
}

template void launch_collect(const ForceTask<Precision::single>&, ForceKind, const ForceGrid&, Stream);
template void launch_collect(const ForceTask<Precision::mixed>&, ForceKind, const ForceGrid&, Stream);
template void launch_collect(const ForceTask<Precision::double_>&, ForceKind, const ForceGrid&, Stream);

template void launch_add_warps(const ForceTask<Precision::single>&, ForceKind, const ForceGrid&, Stream);
template void launch_add_warps(const ForceTask<Precision::mixed>&, ForceKind, const ForceGrid&, Stream);
template void launch_add_warps(const ForceTask<Precision::double_>&, ForceKind, const ForceGrid&, Stream);

}  // namespace pergola::cuda

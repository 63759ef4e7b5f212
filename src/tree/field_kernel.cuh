#pragma once
// CUDA only: what expansions do to the particles of leaves, for one number type.
#include "device/launch.cuh"
#include "physics/expansion.hpp"
#include "physics/pair.hpp"
#include "physics/split.hpp"
#include "tree/leaf_lanes.cuh"
#include "tree/walk_cuda.cuh"

namespace pergola::tree {

inline constexpr unsigned field_warps = 2;
/// Blocks that a multiprocessor holds at least: as many as registers allow without keeping sums in memory.
template <class T, int order>
inline constexpr int field_blocks = sizeof(T) == 8 ? 4
                                    : order <= 4   ? 12
                                    : order == 5   ? 10
                                                   : 6;

/// Adds what a cell's multipoles do to one particle; d = particle − cell.
template <int order, class T, class Space>
__device__ __forceinline__ void add_multipoles(const OpenRow<order, T>& s, const Vec3<T>& d, T epsilon2,
                                               [[maybe_unused]] const Space& space, physics::Field<T>& sum) {
  constexpr int terms = physics::expansion_terms(order);
  const T square = physics::softened_square(d, epsilon2), inverse = physics::rsqrt(square);
  T g[order + 1], factor[order + 1], moments[terms];
  if constexpr (Space::periodic)
    physics::short_range_radial_derivatives<order>(space.law, physics::softened_square(d, T(0)), square, inverse, g);
  else
    physics::plummer_radial_derivatives<order>(g);
  physics::powers<order>(T(1), s.scale * inverse, factor);
#pragma unroll
  for (int t = 0; t < terms; ++t) moments[t] = s.multipole[t];
  physics::scale_terms<order>(factor, moments);
  const auto field = physics::multipole_field<order>(inverse * d, inverse, g, moments);
  sum.psi += field.psi;
  sum.gradient = sum.gradient + field.gradient;
}

/// A warp finds the field of a leaf's local expansion and of the cells that act on its particles; with two halves one
/// for the first 32 of these, and another for the rest.
template <class T, class Space, int order>
__global__ void __launch_bounds__(field_warps * 32, field_blocks<T, order>)
    field_kernel(const __grid_constant__ SumJob<T, Space> job, std::uint32_t halves) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t warp = blockIdx.x * field_warps + threadIdx.x / 32, k = warp / halves;
  if (k >= job.targets.count) return;
  const std::uint32_t cell = job.targets.cell(k);
  const CudaTree<T>& tree = job.tree;
  const CellLink link = tree.link[cell];
  if (link.children > 0) return;
  const CellRecord target = tree.record[cell];
  const T inverse = T(1) / tree.row[std::int64_t{cell} * Row<T>::stride(order) + Row<T>::head];

  for (std::uint32_t first = warp % halves * 32; first < link.count; first += 32 * halves) {
    const LeafLanes lanes(link.count - first, lane);
    const std::uint32_t i = link.first + first + static_cast<std::uint32_t>(lanes.is_target ? lanes.own : 0);
    const PlacedMass<T> placed = tree.particle[i];
    const Vec3<T> at{placed.x, placed.y, placed.z};
    physics::Field<T> sum{0, {0, 0, 0}};
    ListReader points(job.lists.head[k].points, job.lists.place + std::int64_t{k} * list_room + far_room, points_room,
                      job.lists.pool);
    while (!points.done()) {
      std::uint32_t source_of_lane = 0;
      const int count = static_cast<int>(points.take(lane, source_of_lane));
      for (int from = 0; from < count; from += lanes.parts) {
        const int s = from + lanes.part;
        const std::uint32_t source = __shfl_sync(all_lanes, source_of_lane, s < count ? s : 0);
        if (s >= count) continue;
        const OpenRow<order, T> row(tree.row + std::int64_t{source} * Row<T>::stride(order));
        const Vec3<double> apart = separation(row.centre, {target.x, target.y, target.z}, job.space);
        const Vec3<T> d{static_cast<T>(apart.x) + at.x, static_cast<T>(apart.y) + at.y, static_cast<T>(apart.z) + at.z};
        T epsilon2 = static_cast<T>(tree.expansion_epsilon2);
        if (tree.softens_by_cell())
          epsilon2 = physics::larger(tree.softening[i], static_cast<T>(tree.record[source].epsilon2));
        add_multipoles(row, d, epsilon2, job.space, sum);
      }
    }
    for (int offset = lanes.width; offset < 32; offset *= 2) {
      sum.psi += __shfl_xor_sync(all_lanes, sum.psi, offset);
      sum.gradient.x += __shfl_xor_sync(all_lanes, sum.gradient.x, offset);
      sum.gradient.y += __shfl_xor_sync(all_lanes, sum.gradient.y, offset);
      sum.gradient.z += __shfl_xor_sync(all_lanes, sum.gradient.z, offset);
    }
    if (lanes.part == 0 && lanes.is_target) {
      T local[physics::expansion_terms(order)];
      load_chunks(job.local + std::int64_t{cell} * multipole_stride(order), local);
      const auto field = physics::local_field<order>(local, inverse * at);
      job.field[std::int64_t{k} * leaf_capacity + first + static_cast<std::uint32_t>(lanes.own)] = {
          sum.gradient.x + field.gradient.x * inverse, sum.gradient.y + field.gradient.y * inverse,
          sum.gradient.z + field.gradient.z * inverse, sum.psi + field.psi};
    }
    __syncwarp();
  }
}

template <class T, class Space>
void sum_fields(const SumJob<T, Space>& job, int order, Stream stream) {
  const std::uint32_t halves = has_few_targets(job) ? 2 : 1;
  const unsigned blocks = (job.targets.count * halves + field_warps - 1) / field_warps;
  with_order(order, [&](auto p) {
    field_kernel<T, Space, decltype(p)::value><<<blocks, field_warps * 32, 0, cuda::handle(stream)>>>(job, halves);
  });
  cuda::check(cudaGetLastError(), "tree fields");
}

}  // namespace pergola::tree

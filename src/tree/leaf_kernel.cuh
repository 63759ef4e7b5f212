#pragma once
// CUDA only: forces on the particles of leaves, for one number type.
#include "device/launch.cuh"
#include "physics/expansion.hpp"
#include "physics/pair.hpp"
#include "tree/walk_cuda.cuh"

namespace pergola::tree {

inline constexpr unsigned leaf_warps = 4;
/// Particles that are summed over by pairs at a time.
inline constexpr int near_tile = 128;

/// A warp's shared memory.
template <class T>
struct LeafMemory {
  PlacedMass<T> source[near_tile];
  T softening[near_tile];
  std::uint32_t near_end[32];
};

/// How pairs are softened: Plummer's kernel with one length or with one by particle, or the spline's by particle.
enum class LeafLaw { plummer, plummer_by_particle, spline };

/// A warp serves a leaf; lanes serve targets, `per_lane` each. Where a leaf has few, groups of lanes share the sources.
template <class T, int order, int per_lane, bool with_potential, bool spline>
class LeafSums {
  static constexpr int terms = physics::expansion_terms(order);

 public:
  __device__ LeafSums(const SumJob<T>& job, LeafMemory<T>& memory, std::uint32_t k, int lane)
      : job_(job),
        tree_(job.tree),
        memory_(memory),
        lane_(lane),
        cell_(job.targets.cell(k)),
        link_(tree_.link[cell_]),
        centre_{tree_.record[cell_].x, tree_.record[cell_].y, tree_.record[cell_].z} {
    width_ = 1;
    while (width_ < static_cast<int>(link_.count) && width_ < 32) width_ *= 2;
    part_ = lane_ / width_;
    parts_ = 32 / width_;
    const int first = lane_ % width_;
#pragma unroll
    for (int p = 0; p < per_lane; ++p) {
      own_[p] = first + 32 * p;
      is_target_[p] = own_[p] < static_cast<int>(link_.count);
      const std::uint32_t i = link_.first + static_cast<std::uint32_t>(is_target_[p] ? own_[p] : 0);
      const PlacedMass<T> at = tree_.particle[i];
      at_[p] = {at.x, at.y, at.z};
      if constexpr (spline)
        softening_[p] = tree_.inverse_h[i];
      else
        softening_[p] = tree_.epsilon2 ? tree_.epsilon2[i] : static_cast<T>(tree_.same_epsilon2);
      psi_[p] = gx_[p] = gy_[p] = gz_[p] = 0;
    }
  }

  __device__ void serve(const TargetLists& lists, const std::uint32_t* place) {
    ListReader points(lists.points, place + far_room, points_room, job_.lists.pool);
    while (!points.done()) {
      std::uint32_t cell = 0;
      const std::uint32_t count = points.take(lane_, cell);
      add_points(cell, count);
    }
    ListReader near(lists.near, place + far_room + points_room, near_room, job_.lists.pool);
    while (!near.done()) {
      std::uint32_t cell = 0;
      const std::uint32_t count = near.take(lane_, cell);
      if constexpr (spline)
        add_near<LeafLaw::spline>(cell, count);
      else if (tree_.epsilon2)
        add_near<LeafLaw::plummer_by_particle>(cell, count);
      else
        add_near<LeafLaw::plummer>(cell, count);
    }
    finish();
  }

 private:
  /// Multipoles of up to 32 cells, one per lane, act on the particles.
  __device__ void add_points(std::uint32_t cell, std::uint32_t count) {
    for (std::uint32_t first = 0; first < count; first += static_cast<std::uint32_t>(parts_)) {
      const std::uint32_t k = first + static_cast<std::uint32_t>(part_);
      const std::uint32_t source = __shfl_sync(all_lanes, cell, static_cast<int>(k < count ? k : 0));
      if (k >= count) continue;
      const OpenRow<order, T> s(tree_.row + std::int64_t{source} * Row<T>::stride(order));
      const Vec3<T> from{static_cast<T>(centre_.x - s.centre.x), static_cast<T>(centre_.y - s.centre.y),
                         static_cast<T>(centre_.z - s.centre.z)};
      T g[order + 1];
      physics::plummer_radial_derivatives<order>(g);
      const T source_epsilon2 = tree_.epsilon2 ? static_cast<T>(tree_.record[source].epsilon2) : T(0);
#pragma unroll
      for (int p = 0; p < per_lane; ++p) {
        const Vec3<T> d = from + at_[p];
        const T epsilon2 = spline ? T(0) : physics::larger(source_epsilon2, softening_[p]);
        const T inverse = physics::rsqrt(physics::softened_square(d, epsilon2));
        T factor[order + 1], moments[terms];
        physics::powers<order>(T(1), s.scale * inverse, factor);
#pragma unroll
        for (int t = 0; t < terms; ++t) moments[t] = s.multipole[t];
        physics::scale_terms<order>(factor, moments);
        const auto field = physics::multipole_field<order>(inverse * d, inverse, g, moments);
        psi_[p] += field.psi, gx_[p] += field.gradient.x, gy_[p] += field.gradient.y, gz_[p] += field.gradient.z;
      }
    }
    __syncwarp();
  }

  /// The particles of up to 32 leaves, a tile at a time. The own leaf is dealt with by itself, for its particles must
  /// not act on themselves.
  template <LeafLaw law>
  __device__ void add_near(std::uint32_t cell, std::uint32_t count) {
    const bool valid = lane_ < static_cast<int>(count), own = valid && cell == cell_;
    CellLink l{};
    Vec3<T> shift{0, 0, 0};
    if (valid && !own) {
      l = tree_.link[cell];
      const CellRecord& s = tree_.record[cell];
      shift = {static_cast<T>(s.x - centre_.x), static_cast<T>(s.y - centre_.y), static_cast<T>(s.z - centre_.z)};
    }
    const std::uint32_t end = lanes_scan(l.count, lane_);
    const std::uint32_t total = __shfl_sync(all_lanes, end, 31);
    memory_.near_end[lane_] = end;
    __syncwarp();
    for (std::uint32_t begin = 0; begin < total; begin += near_tile) {
      const int size = static_cast<int>(total - begin < near_tile ? total - begin : near_tile);
      for (int k = lane_; k - lane_ < size; k += 32) {
        // The leaf that holds particle begin + k of the list.
        const std::uint32_t at = begin + static_cast<std::uint32_t>(k);
        int leaf = 0;
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
          if (memory_.near_end[leaf + step - 1] <= at) leaf += step;
        const std::uint32_t last = memory_.near_end[leaf];
        const std::uint32_t after = __shfl_sync(all_lanes, l.first + l.count, leaf);
        const Vec3<T> away{__shfl_sync(all_lanes, shift.x, leaf), __shfl_sync(all_lanes, shift.y, leaf),
                           __shfl_sync(all_lanes, shift.z, leaf)};
        if (k < size) take_source<law>(k, after - (last - at), away);
      }
      __syncwarp();
      add_tile<law, false>(size);
      __syncwarp();
    }
    if (!__any_sync(all_lanes, own)) return;
    for (int k = lane_; k < static_cast<int>(link_.count); k += 32)
      take_source<law>(k, link_.first + static_cast<std::uint32_t>(k), {0, 0, 0});
    __syncwarp();
    add_tile<law, true>(static_cast<int>(link_.count));
    __syncwarp();
  }
  template <LeafLaw law>
  __device__ void take_source(int to, std::uint32_t i, const Vec3<T>& away) {
    const PlacedMass<T> from = tree_.particle[i];
    memory_.source[to] = {from.x + away.x, from.y + away.y, from.z + away.z, from.mass};
    if constexpr (law != LeafLaw::plummer) memory_.softening[to] = (spline ? tree_.inverse_h : tree_.epsilon2)[i];
  }

  template <LeafLaw law, bool self>
  __device__ void add_tile(int size) {
    physics::PairSum<T> sum[per_lane] = {};
#pragma unroll 4
    for (int j = part_; j < size; j += parts_) {
      const PlacedMass<T> from = memory_.source[j];
#pragma unroll
      for (int p = 0; p < per_lane; ++p) {
        const Vec3<T> d{from.x - at_[p].x, from.y - at_[p].y, from.z - at_[p].z};
        if constexpr (law == LeafLaw::spline) {
          const T mass = self && j == own_[p] ? T(0) : from.mass;
          physics::add_spline_pair<false, with_potential>(d, d, mass, physics::softened_square(d, T(0)),
                                                          physics::smaller(softening_[p], memory_.softening[j]),
                                                          sum[p]);
        } else {
          T epsilon2 = softening_[p];
          if constexpr (law == LeafLaw::plummer_by_particle) epsilon2 = physics::larger(memory_.softening[j], epsilon2);
          T inverse = physics::rsqrt(physics::softened_square(d, epsilon2));
          if (self && j == own_[p]) inverse = 0;
          physics::add_pair<false, with_potential>(d, d, from.mass, inverse, sum[p]);
        }
      }
    }
#pragma unroll
    for (int p = 0; p < per_lane; ++p)
      psi_[p] -= sum[p].pot, gx_[p] += sum[p].ax, gy_[p] += sum[p].ay, gz_[p] += sum[p].az;
  }

  __device__ void finish() {
    // The parts come together in the order of their lanes' bits.
    for (int offset = width_; offset < 32; offset *= 2) {
#pragma unroll
      for (int p = 0; p < per_lane; ++p) {
        psi_[p] += __shfl_xor_sync(all_lanes, psi_[p], offset);
        gx_[p] += __shfl_xor_sync(all_lanes, gx_[p], offset);
        gy_[p] += __shfl_xor_sync(all_lanes, gy_[p], offset);
        gz_[p] += __shfl_xor_sync(all_lanes, gz_[p], offset);
      }
    }
    if (part_ > 0) return;
    T local[terms];
    load_chunks(job_.local + std::int64_t{cell_} * multipole_stride(order), local);
    const T inverse = T(1) / tree_.row[std::int64_t{cell_} * Row<T>::stride(order) + Row<T>::head];
#pragma unroll
    for (int p = 0; p < per_lane; ++p) {
      if (!is_target_[p]) continue;
      const auto field = physics::local_field<order>(local, inverse * at_[p]);
      psi_[p] += static_cast<double>(field.psi);
      gx_[p] += static_cast<double>(field.gradient.x * inverse);
      gy_[p] += static_cast<double>(field.gradient.y * inverse);
      gz_[p] += static_cast<double>(field.gradient.z * inverse);
      write(p);
    }
  }
  __device__ void write(int p) const {
    const WalkOutput& out = job_.out;
    const std::uint32_t place = link_.first + static_cast<std::uint32_t>(own_[p]);
    const std::uint32_t source = out.order[place], slot = out.slot ? out.slot[place] : source;
    if (slot == no_slot) return;
    const std::int64_t to = slot;
    bool finite = put(out.ax, to, out.per_gradient * gx_[p]);
    finite = put(out.ay, to, out.per_gradient * gy_[p]) && finite;
    finite = put(out.az, to, out.per_gradient * gz_[p]) && finite;
    finite = put(out.potential, to, -out.per_psi * psi_[p]) && finite;
    if (!finite) atomicMin(&job_.status->failed, static_cast<unsigned long long>(source));
  }
  __device__ bool put(void* to, std::int64_t at, double value) const {
    if (!to) return true;
    if (job_.out.doubles) {
      static_cast<double*>(to)[at] = value;
      return isfinite(value);
    }
    const auto number = static_cast<float>(value);
    static_cast<float*>(to)[at] = number;
    return isfinite(number);
  }

  const SumJob<T>& job_;
  const CudaTree<T>& tree_;
  LeafMemory<T>& memory_;
  int lane_;
  std::uint32_t cell_;
  CellLink link_;
  Vec3<double> centre_;
  int width_, part_, parts_;
  int own_[per_lane];
  bool is_target_[per_lane];
  Vec3<T> at_[per_lane];
  T softening_[per_lane];
  double psi_[per_lane], gx_[per_lane], gy_[per_lane], gz_[per_lane];
};

template <class T, int order, bool with_potential, bool spline>
__global__ void __launch_bounds__(leaf_warps * 32, sizeof(T) == 4 ? 4 : 2)
    leaf_sums_kernel(const __grid_constant__ SumJob<T> job) {
  __shared__ LeafMemory<T> memory[leaf_warps];
  const unsigned warp = threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t k = blockIdx.x * leaf_warps + warp;
  if (k >= job.targets.count) return;
  const CellLink link = job.tree.link[job.targets.cell(k)];
  if (link.children > 0) return;
  const TargetLists lists = job.lists.head[k];
  const std::uint32_t* const place = job.lists.place + std::int64_t{k} * list_room;
  static_assert(leaf_capacity == 64);
  if (link.count <= 32)
    LeafSums<T, order, 1, with_potential, spline>(job, memory[warp], k, lane).serve(lists, place);
  else
    LeafSums<T, order, 2, with_potential, spline>(job, memory[warp], k, lane).serve(lists, place);
}

template <class T>
void sum_leaves(const SumJob<T>& job, int order, Stream stream) {
  const unsigned blocks = (job.targets.count + leaf_warps - 1) / leaf_warps;
  with_order(order, [&](auto p) {
    constexpr int value = decltype(p)::value;
    const auto kernel = job.tree.inverse_h  ? leaf_sums_kernel<T, value, true, true>
                        : job.out.potential ? leaf_sums_kernel<T, value, true, false>
                                            : leaf_sums_kernel<T, value, false, false>;
    kernel<<<blocks, leaf_warps * 32, 0, cuda::handle(stream)>>>(job);
  });
  cuda::check(cudaGetLastError(), "tree leaves");
}

}  // namespace pergola::tree

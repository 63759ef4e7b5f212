#pragma once
// The CUDA force kernel: all pairs of a set of targets with a set of sources, for one precision, one pair law and one
// set of wanted sums.
//
// A launch is a loop over items: (group of targets, segment of sources). Whole groups visit all sources and write their
// answers; the groups at the end are split into segments, whose partial sums launch_collect() adds in order. So all
// blocks are busy. Segments and their order follow from the numbers of targets, sources and blocks (decompose()).
// Wide groups: each thread has several targets, the block loads tiles of sources into shared memory.
// Narrow groups (few targets): one target per lane, the same 32 in each warp; warps share the sources of the segment.
// Sums within a tile are in the pair's number type, sums over tiles in the sum type (Sum).
#include "gravity/direct_cuda.cuh"

namespace pergola::cuda {

/// What distinguishes one force kernel from another. by_particle: each particle has a softening length of its own.
template <Precision P, ForceKind K, class Law_, bool by_particle_>
struct ForceTraits {
  using Pack = SourcePack<P>;
  using T = typename Pack::Number;
  using Sum = typename Pack::Sum;
  static constexpr ForceKind kind = K;
  using Law = Law_;
  static constexpr bool by_particle = by_particle_;
  using Columns = ForceColumns<K>;
  static constexpr bool jerk = Columns::jerk, acceleration = Columns::acceleration, potential = Columns::potential;
  static constexpr bool reads_rest = Pack::has_rest;
  static constexpr bool reads_motion = jerk || (by_particle && !Pack::has_rest);
  /// Targets per thread: as many as registers allow, so that a source read from shared memory serves many pairs. These
  /// numbers, the unrolling and the order of operations below were chosen by measurement on an H200, where the inner
  /// loop is bound by the register file's ports (docs/results).
  static constexpr bool light = P == Precision::single && !jerk && Law::few_operations;
  static constexpr int per_thread = light ? 16 : P == Precision::double_ ? (jerk ? 2 : 4) : 4;
  static constexpr int blocks_per_multiprocessor = light ? 2 : 3;
  static constexpr int wide_group = force_threads * per_thread;
  static constexpr int unroll = Law::few_operations ? 4 : 1;
  static constexpr int tile = force_tile;
};

/// A tile of sources: the block's in wide launches, a warp's in narrow ones.
template <class Traits, int size>
struct SourceTile {
  using Source = Real4<typename Traits::T>;
  Source place[size];
  Source rest[Traits::reads_rest ? size : 1];
  Source motion[Traits::reads_motion ? size : 1];
};

/// A block's shared memory: sources, and the sums over tiles, which would crowd the registers of the inner loop.
template <class Traits>
struct ForceShared {
  union {
    SourceTile<Traits, Traits::tile> tile;
    SourceTile<Traits, Traits::tile / force_warps> warp_tile[force_warps];
  };
  typename Traits::Sum far[Traits::per_thread][Traits::Columns::values][force_threads];
};

/// The targets of one thread and their sums over the present tile.
template <class Traits, int per_thread>
struct ThreadTargets {
  using T = typename Traits::T;
  Vec3<T> x[per_thread], rest[per_thread], v[per_thread];
  T softening[per_thread];
  int self[per_thread];  // place of the target in the present tile, or −1
  physics::PairSum<T> near[per_thread];

  /// Fetches the target with number `slot`, which is a source or a point.
  template <bool windowed, Precision P>
  __device__ __forceinline__ void load(int k, const ForceTask<P>& task, std::int64_t slot, std::int64_t source,
                                       ForceShared<Traits>& shared) {
    const SourcePack<P> pack = task.points.place ? task.points : task.sources;
    std::int64_t i = task.points.place ? slot - task.first : source;
    if constexpr (windowed)
      if (task.points_by_place) i = source - task.index_from;
    const auto place = pack.place[i];
    x[k] = {place.x, place.y, place.z};
    if constexpr (Traits::reads_rest) {
      const auto value = pack.rest[i];
      rest[k] = {value.x, value.y, value.z};
      softening[k] = value.w;
    }
    if constexpr (Traits::reads_motion) {
      const auto value = pack.motion[i];
      v[k] = {value.x, value.y, value.z};
      if constexpr (!Traits::reads_rest) softening[k] = value.w;
    }
#pragma unroll
    for (int value = 0; value < sum_values; ++value)
      if (Traits::Columns::computes(value)) shared.far[k][Traits::Columns::column(value)][threadIdx.x] = 0;
  }

  /// Adds source j of the tile. All distances are started before the first is used, to hide their latency.
  template <bool masked, class Tile>
  __device__ __forceinline__ void add(const Tile& tile, int j, T same_softening) {
    using Law = typename Traits::Law;
    const Real4<T> place = tile.place[j];
    Real4<T> left{}, motion{};
    if constexpr (Traits::reads_rest) left = tile.rest[j];
    if constexpr (Traits::reads_motion) motion = tile.motion[j];
    const T source_softening = Traits::reads_rest ? left.w : motion.w;
    const auto pair_softening = [&](int k) {
      if constexpr (Traits::by_particle)
        return Law::joint(softening[k], source_softening);
      else
        return same_softening;
    };
    Vec3<T> d[per_thread], w[per_thread];
    decltype(Law::start(d[0], T{})) distance[per_thread];
#pragma unroll
    for (int k = 0; k < per_thread; ++k) {
      if constexpr (Traits::reads_rest)
        d[k] = physics::separation(x[k], rest[k], {place.x, place.y, place.z}, {left.x, left.y, left.z});
      else
        d[k] = physics::separation(x[k], {place.x, place.y, place.z});
      if constexpr (Traits::jerk) w[k] = physics::separation(v[k], {motion.x, motion.y, motion.z});
      distance[k] = Law::start(d[k], pair_softening(k));
    }
#pragma unroll
    for (int k = 0; k < per_thread; ++k) {
      T mass = place.w;
      if constexpr (masked) Law::leave_out([&](T value) { return j == self[k] ? T(0) : value; }, distance[k], mass);
      if constexpr (Traits::acceleration)
        Law::template add<Traits::jerk, Traits::potential>(d[k], w[k], mass, distance[k], pair_softening(k), near[k]);
      else
        Law::add_potential(mass, distance[k], pair_softening(k), near[k].pot);
    }
  }

  /// Adds `count` sources of a tile. Sums of one tile are in the number type, sums over tiles in the sum type. Bit b of
  /// `own_places` says that sources 32 b … 32 b + 31 hold a target of this warp, which must not act on itself.
  template <class Tile>
  __device__ __forceinline__ void add_tile(const Tile& tile, int count, unsigned own_places, T same_softening,
                                           ForceShared<Traits>& shared) {
    using Sum = typename Traits::Sum;
#pragma unroll
    for (int k = 0; k < per_thread; ++k) near[k] = {};
#pragma unroll 1
    for (int begin = 0; begin < count; begin += 32, own_places >>= 1) {
      const int end = begin + 32 < count ? begin + 32 : count;
      if (own_places & 1u) {
#pragma unroll 1
        for (int j = begin; j < end; ++j) add<true>(tile, j, same_softening);
      } else {
#pragma unroll Traits::unroll
        for (int j = begin; j < end; ++j) add<false>(tile, j, same_softening);
      }
    }
#pragma unroll
    for (int k = 0; k < per_thread; ++k) {
      const T values[sum_values] = {near[k].ax, near[k].ay, near[k].az, near[k].jx,
                                    near[k].jy, near[k].jz, near[k].pot};
#pragma unroll
      for (int value = 0; value < sum_values; ++value)
        if (Traits::Columns::computes(value))
          shared.far[k][Traits::Columns::column(value)][threadIdx.x] += static_cast<Sum>(values[value]);
    }
  }

  /// Notes where the targets stand in the tile of `count` sources from `begin`; returns the warp's own_places.
  __device__ __forceinline__ unsigned find_self(const std::int64_t (&place)[per_thread], std::int64_t begin,
                                                int count) {
    unsigned bits = 0;
#pragma unroll
    for (int k = 0; k < per_thread; ++k) {
      const std::int64_t at = place[k] - begin;
      const bool inside = at >= 0 && at < count;
      self[k] = inside ? static_cast<int>(at) : -1;
      if (inside) bits |= 1u << (self[k] / 32);
    }
    return __reduce_or_sync(0xffffffffu, bits);
  }
};

/// Fills places [0, tile_size) of a tile with the sources [begin, end) by `members` threads; places beyond `end` are
/// not read later.
template <class Traits, class Tile, Precision P>
__device__ __forceinline__ void fill_tile(Tile& tile, const SourcePack<P>& pack, std::int64_t begin, int count,
                                          int member, int members) {
  for (int j = member; j < count; j += members) {
    tile.place[j] = pack.place[begin + j];
    if constexpr (Traits::reads_rest) tile.rest[j] = pack.rest[begin + j];
    if constexpr (Traits::reads_motion) tile.motion[j] = pack.motion[begin + j];
  }
}

/// The sources that one block adds up: all, or one segment.
__device__ __forceinline__ SourceRange range_of(const Decomposition& d, std::int64_t group, int segment,
                                                std::int64_t sources) {
  if (group < d.whole) return {0, sources};
  const std::int64_t first = segment * d.segment_length, last = first + d.segment_length;
  return {first < sources ? first : sources, last < sources ? last : sources};
}

/// Where those tiles of a range begin that a launch adds.
template <bool windowed, int tile>
__device__ __forceinline__ SourceRange tiles_of(const SourceWindow& window, SourceRange range) {
  if constexpr (windowed) {
    if (range.first < window.from) range.first += (window.from - range.first + tile - 1) / tile * tile;
    if (range.last > window.to) range.last = window.to;
  }
  return range;
}

/// Puts one value of the target with number `slot` where it belongs.
template <class Columns, Precision P, class Sum>
__device__ __forceinline__ void store_sum(const ForceTask<P>& task, const Decomposition& d, std::int64_t slot,
                                          int segment, int column, Sum sum) {
  const std::int64_t first_split = d.whole * d.group;
  if (slot >= first_split)
    task.partial[((slot - first_split) * d.segments + segment) * Columns::values + column] = sum;
  else if (Sum* out = task.out[Columns::value(column)])
    out[slot - task.first] = sum;
}

/// Calls use(slot, column, far) for the values of a wide group's targets that are served here. Neighbouring threads
/// have the values of one target, which stand together: a split target's next segment is far away, and a warp that
/// wrote one value of 32 targets would touch 32 lines.
template <class Traits, Precision P, class Use>
__device__ __forceinline__ void each_wide_sum(const ForceTask<P>& task, const Decomposition& d, std::int64_t end,
                                              std::int64_t group, ForceShared<Traits>& shared, const Use& use) {
  constexpr int values = Traits::Columns::values, per_thread = Traits::per_thread;
#pragma unroll 4
  for (int item = static_cast<int>(threadIdx.x); item < Traits::wide_group * values; item += force_threads) {
    const int target = item / values, column = item % values;
    const std::int64_t slot = group * d.group + target;
    if (slot < task.first || slot >= end) continue;
    const int warp = target / (32 * per_thread), k = target / 32 % per_thread;
    use(slot, column, shared.far[k][column][warp * 32 + target % 32]);
  }
}

/// Many targets: each thread serves several, the block shares tiles of sources.
template <bool windowed, Precision P, class Traits>
__device__ __forceinline__ void serve_wide(const ForceTask<P>& task, const Decomposition& d, std::int64_t end,
                                           std::int64_t group, int segment, ForceShared<Traits>& shared) {
  using Columns = typename Traits::Columns;
  constexpr int per_thread = Traits::per_thread;
  if constexpr (windowed)
    if (!task.window.meets(range_of(d, group, segment, task.source_count))) return;
  ThreadTargets<Traits, per_thread> targets;
  std::int64_t place[per_thread];
  // A warp's targets are neighbours in the list, so that few tiles hold one of them.
  const std::int64_t first_slot = group * d.group + threadIdx.x / 32 * (32 * per_thread) + threadIdx.x % 32;
  __syncthreads();  // the sums of the last item have been written
#pragma unroll
  for (int k = 0; k < per_thread; ++k) {
    const std::int64_t slot = first_slot + k * 32;
    const std::int64_t served = slot < task.first ? task.first : slot < end ? slot : end - 1;
    place[k] = task.template place<windowed>(served);
    targets.template load<windowed>(k, task, served, place[k], shared);
  }
  if constexpr (windowed)
    if (task.window.goes_on) {
      __syncthreads();
      each_wide_sum(task, d, end, group, shared, [&](std::int64_t slot, int column, typename Traits::Sum& far) {
        if (const auto* from = sum_place<Columns>(task, d, slot, segment, column)) far = *from;
      });
    }
  const SourceRange range = range_of(d, group, segment, task.source_count);
  const SourceRange tiles = tiles_of<windowed, Traits::tile>(task.window, range);
  const auto same_softening = static_cast<typename Traits::T>(task.softening);
  for (std::int64_t begin = tiles.first; begin < tiles.last; begin += Traits::tile) {
    const int count = static_cast<int>(range.last - begin < Traits::tile ? range.last - begin : Traits::tile);
    __syncthreads();
    fill_tile<Traits>(shared.tile, task.sources, windowed ? begin - task.window.held : begin, count,
                      static_cast<int>(threadIdx.x), force_threads);
    __syncthreads();
    targets.add_tile(shared.tile, count, targets.find_self(place, begin, count), same_softening, shared);
  }
  __syncthreads();
  each_wide_sum(task, d, end, group, shared, [&](std::int64_t slot, int column, typename Traits::Sum& far) {
    store_sum<Columns>(task, d, slot, segment, column, far);
  });
}

/// Few targets: a block serves 32 of them, one per lane, and its warps share the sources of the segment.
template <bool windowed, Precision P, class Traits>
__device__ __forceinline__ void serve_narrow(const ForceTask<P>& task, const Decomposition& d, std::int64_t end,
                                             std::int64_t group, int segment, ForceShared<Traits>& shared) {
  using T = typename Traits::T;
  using Sum = typename Traits::Sum;
  using Columns = typename Traits::Columns;
  constexpr int tile_size = Traits::tile / force_warps;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  auto& tile = shared.warp_tile[warp];
  if constexpr (windowed)
    if (!task.window.meets(range_of(d, group, segment, task.source_count))) return;

  ThreadTargets<Traits, 1> target;
  const std::int64_t slot = group * d.group + lane;
  const std::int64_t served = slot < task.first ? task.first : slot < end ? slot : end - 1;
  const std::int64_t place[1] = {task.template place<windowed>(served)};
  __syncthreads();
  target.template load<windowed>(0, task, served, place[0], shared);
  Sum* kept = nullptr;  // a warp that goes on from window to window keeps its sums to itself
  if constexpr (windowed) {
    if (task.window.goes_on && slot == served)
      kept = task.warp_sums + (warp_sums_at(task, d, slot, segment) * force_warps + warp) * Columns::values;
    if (kept)
      for (int column = 0; column < Columns::values; ++column) shared.far[0][column][threadIdx.x] = kept[column];
  }
  const SourceRange range = range_of(d, group, segment, task.source_count);
  const std::int64_t length = range.last - range.first;
  const SourceRange own{range.first + length * warp / force_warps, range.first + length * (warp + 1) / force_warps};
  const SourceRange tiles = tiles_of<windowed, tile_size>(task.window, own);
  const auto same_softening = static_cast<T>(task.softening);
  for (std::int64_t begin = tiles.first; begin < tiles.last; begin += tile_size) {
    const int count = static_cast<int>(own.last - begin < tile_size ? own.last - begin : tile_size);
    __syncwarp();
    fill_tile<Traits>(tile, task.sources, windowed ? begin - task.window.held : begin, count, lane, 32);
    __syncwarp();
    target.add_tile(tile, count, target.find_self(place, begin, count), same_softening, shared);
  }
  if constexpr (windowed)
    if (task.window.goes_on) {
      if (kept)
        for (int column = 0; column < Columns::values; ++column) kept[column] = shared.far[0][column][threadIdx.x];
      return;
    }
  __syncthreads();
  // The warps' sums come together in the order of the warps.
  for (int item = static_cast<int>(threadIdx.x); item < 32 * Columns::values; item += force_threads) {
    const int column = item / 32, at = item % 32;
    const std::int64_t to = group * d.group + at;
    if (to < task.first || to >= end) continue;
    Sum sum = 0;
    for (int w = 0; w < force_warps; ++w) sum += shared.far[0][column][w * 32 + at];
    store_sum<Columns>(task, d, to, segment, column, sum);
  }
}

/// windowed: with what ranks need, for which others need not pay.
template <Precision P, class Traits, bool windowed>
__global__ void __launch_bounds__(force_threads, Traits::blocks_per_multiprocessor)
    force_kernel(const __grid_constant__ ForceTask<P> task, const __grid_constant__ Decomposition known) {
  __shared__ ForceShared<Traits> shared;
  const std::int64_t total = task.targets();
  const std::int64_t end = task.end(total);
  if (end <= task.first) return;
  const Decomposition d =
      task.device_total ? decompose(total, task.source_count, static_cast<int>(gridDim.x), Traits::wide_group) : known;
  const std::int64_t first_group = task.first / d.group, end_group = (end + d.group - 1) / d.group;
  const std::int64_t whole_end = end_group < d.whole ? end_group : d.whole;
  const std::int64_t whole = first_group < whole_end ? whole_end - first_group : 0;
  const std::int64_t split_first = first_group > d.whole ? first_group : d.whole;
  const std::int64_t split = split_first < end_group ? (end_group - split_first) * d.segments : 0;
  for (std::int64_t item = blockIdx.x; item < whole + split; item += gridDim.x) {
    const bool is_whole = item < whole;
    const int split_item = is_whole ? 0 : static_cast<int>(item - whole);  // at most a few waves of blocks
    const int segment = split_item % d.segments;
    const std::int64_t group = is_whole ? first_group + item : split_first + split_item / d.segments;
    if (d.narrow)
      serve_narrow<windowed, P, Traits>(task, d, end, group, segment, shared);
    else
      serve_wide<windowed, P, Traits>(task, d, end, group, segment, shared);
  }
}

// ---- host side: one instance per kind
// ---------------------------------------------------------------------------------------------

/// Calls f with the traits of a kind.
template <Precision P, class Law, class F>
void with_traits(ForceKind kind, bool by_particle, const F& f) {
  const auto choose = [&]<ForceKind K>() {
    if constexpr (Law::few_operations)
      if (!by_particle) return f(ForceTraits<P, K, Law, false>{});
    return f(ForceTraits<P, K, Law, true>{});
  };
  switch (kind) {
    case ForceKind::acceleration:
      return choose.template operator()<ForceKind::acceleration>();
    case ForceKind::acceleration_potential:
      return choose.template operator()<ForceKind::acceleration_potential>();
    case ForceKind::potential:
      return choose.template operator()<ForceKind::potential>();
    case ForceKind::acceleration_jerk:
      return choose.template operator()<ForceKind::acceleration_jerk>();
    case ForceKind::acceleration_jerk_potential:
      return choose.template operator()<ForceKind::acceleration_jerk_potential>();
  }
}

/// The kinds that a law with many operations leaves out: one softening for all uses the loop with one per particle.
/// Blocks of a kernel that the present device holds at once.
template <Precision P, class Traits>
int resident_blocks() {
  int device = 0, multiprocessors = 0, blocks = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "multiprocessor count");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, force_kernel<P, Traits, false>, force_threads, 0),
        "occupancy");
  return multiprocessors * blocks;
}

template <Precision P, class Law>
ForceGrid force_grid(ForceKind kind, bool by_particle) {
  ForceGrid grid;
  with_traits<P, Law>(kind, by_particle, [&]<class Traits>(Traits) {
    grid.blocks = resident_blocks<P, Traits>();
    grid.wide_group = Traits::wide_group;
  });
  return grid;
}

/// Enqueues the kernel; does not wait. `windowed` kernels serve ranks that receive sources piece by piece.
template <Precision P, class Law>
void launch_force(const ForceTask<P>& task, ForceKind kind, bool by_particle, const ForceGrid& grid, Stream stream) {
  with_traits<P, Law>(kind, by_particle, [&]<class Traits>(Traits) {
    const auto kernel = task.window.used ? force_kernel<P, Traits, true> : force_kernel<P, Traits, false>;
    kernel<<<static_cast<unsigned>(grid.blocks), force_threads, 0, handle(stream)>>>(task, decomposition(task, grid));
    check(cudaGetLastError(), "direct force kernel");
  });
}

/// The loops over one law; each law's own files (gravity/direct_<law>_<precision>.cu) instantiate them.
template <Precision P, class Law>
const ForceLoops<P>* force_loops() {
  static constexpr ForceLoops<P> loops{force_grid<P, Law>, launch_force<P, Law>};
  return &loops;
}

}  // namespace pergola::cuda

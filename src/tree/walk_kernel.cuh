#pragma once
// CUDA only: the kernel of tree/walk_cuda.cuh, for one number type.
#include "device/launch.cuh"
#include "physics/expansion.hpp"
#include "physics/opening.hpp"
#include "physics/pair.hpp"
#include "tree/walk_cuda.cuh"

namespace pergola::tree {

inline constexpr unsigned all_lanes = 0xffffffffu;

/// Particles that are summed over by pairs at a time.
inline constexpr int near_tile = 128;

template <class T>
struct alignas(4 * sizeof(T)) Source {
  T x, y, z, mass;
};

/// A warp's shared memory.
template <class T, int order>
struct WarpMemory {
  T local[physics::expansion_terms(order)];
  Source<T> source[near_tile];
  T epsilon2[near_tile];
  std::uint32_t near_end[32];
  std::uint32_t far[64];
  std::uint32_t points[64];
  std::uint32_t near[64];
};

/// The sums over the lanes of `size` values each (a power of two, at least 32), by halves: lane l gets those of the
/// values l · size / 32 and following. The order of the additions is fixed.
template <int half, int offset = 16, int size, class T>
__device__ __forceinline__ void sum_over_lanes(T (&value)[size], int lane) {
  const bool upper = lane & offset;
#pragma unroll
  for (int k = 0; k < half; ++k) {
    const T sent = upper ? value[k] : value[k + half], kept = upper ? value[k + half] : value[k];
    value[k] = kept + __shfl_xor_sync(all_lanes, sent, offset);
  }
  if constexpr (offset > 1) sum_over_lanes<half / 2, offset / 2>(value, lane);
}

/// Sixteen bytes, loaded at once.
template <class T>
struct alignas(16) Chunk {
  static constexpr int size = 16 / sizeof(T);
  T value[size];
};

/// A cell's expansion; the row begins at a multiple of 16 bytes.
template <int terms, class T>
__device__ __forceinline__ void load_row(const T* from, T (&to)[terms]) {
  constexpr int size = Chunk<T>::size;
#pragma unroll
  for (int k = 0; k < (terms + size - 1) / size; ++k) {
    const Chunk<T> chunk = reinterpret_cast<const Chunk<T>*>(from)[k];
#pragma unroll
    for (int i = 0; i < size; ++i)
      if (k * size + i < terms) to[k * size + i] = chunk.value[i];
  }
}

template <class T, int order>
class WarpWalk {
  static constexpr int terms = physics::expansion_terms(order);
  static constexpr int stride = multipole_stride(order);
  static constexpr int padded = terms <= 32 ? 32 : 64;  // terms up to a power of two

 public:
  __device__ WarpWalk(const WalkJob<T>& job, WarpMemory<T, order>& memory, std::uint32_t* scratch)
      : job_(job),
        tree_(job.tree),
        memory_(memory),
        pass_(scratch),
        stack_(scratch + job.list_room),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

  __device__ void serve(std::uint32_t cell) {
    cell_ = cell;
    link_ = tree_.link[cell];
    shape_ = tree_.shape[cell];
    leaf_ = link_.children == 0;
    far_ = points_ = near_ = 0;
    passed_ = 0;
    if (leaf_) start_targets();
    start_local();
    take_candidates();
    flush_far();
    if (leaf_) {
      flush_points();
      flush_near();
      finish_leaf();
    } else {
      leave();
    }
    __syncwarp();
  }

 private:
  /// The local expansion begins with the parent's, moved here.
  __device__ void start_local() {
    T local[terms];
#pragma unroll
    for (int t = 0; t < terms; ++t) local[t] = 0;
    if (cell_ != 0) {
      const std::uint32_t parent = job_.parent[cell_];
      const CellShape p = tree_.shape[parent];
      const T inverse = T(1) / tree_.scale[parent];
      T from[terms];
      const T* const above = job_.local + std::int64_t{parent} * stride;
      load_row(above, from);
      physics::shift_local<order>({static_cast<T>(shape_.x - p.x) * inverse, static_cast<T>(shape_.y - p.y) * inverse,
                                   static_cast<T>(shape_.z - p.z) * inverse},
                                  tree_.scale[cell_] * inverse, from, local);
    }
    if (lane_ == 0)
#pragma unroll
      for (int t = 0; t < terms; ++t) memory_.local[t] = local[t];
    __syncwarp();
  }

  /// Every candidate goes to one of the lists, as in Walker::sort_candidates. The order is that of the candidates.
  __device__ void take_candidates() {
    const std::uint32_t* list = nullptr;
    std::uint32_t length = 1, cursor = 0, depth = 0;
    if (cell_ != 0) {
      const std::uint32_t parent = job_.parent[cell_];
      list = job_.from.entries + job_.from.begin[parent];
      length = job_.from.length[parent];
    }
    while (depth > 0 || cursor < length) {
      std::uint32_t count, source = 0;
      if (depth > 0) {
        // So few at a time that what they open finds room: one by one a stack grows by at most 7 per level.
        const std::uint32_t room = depth + 512 < stack_room ? (stack_room - 512 - depth) / 8 + 1 : 1;
        count = depth < 32 ? depth : 32;
        count = count < room ? count : room;
        depth -= count;
        if (lane_ < static_cast<int>(count)) source = stack_[depth + lane_];
      } else {
        count = length - cursor < 32 ? length - cursor : 32;
        if (lane_ < static_cast<int>(count)) source = list ? list[cursor + lane_] : 0;
        cursor += count;
      }
      __syncwarp();
      place(source, lane_ < static_cast<int>(count), depth);
      if (far_ >= 32) flush_far();
      if (points_ >= 32) flush_points();
      if (near_ >= 32) flush_near();
    }
  }

  /// One source per lane.
  __device__ void place(std::uint32_t source, bool valid, std::uint32_t& depth) {
    const CellShape s = tree_.shape[source];
    const CellLink l = tree_.link[source];
    valid = valid && s.mass != 0;
    const bool self = source == cell_;
    bool as_cell = false, as_points = false;
    if (valid && !self) test(s, as_cell, as_points);
    as_points = as_points && leaf_ && !as_cell && l.count >= point_capacity;
    const bool open_target = !leaf_ && (l.children == 0 || shape_.r >= s.r);
    const bool far = valid && !self && as_cell;
    const bool points = valid && !self && as_points;
    const bool rest = valid && !self && !as_cell && !as_points;
    const bool near = (rest && leaf_ && l.children == 0) || (valid && self && leaf_);
    const bool pass = rest && open_target;
    const bool open = rest && !open_target && !near;
    append(far, source, memory_.far, far_);
    append(points, source, memory_.points, points_);
    append(near, source, memory_.near, near_);
    append_pass(pass, source);
    // A cell's own children decide about themselves.
    if (__any_sync(all_lanes, valid && self && !leaf_))
      for (std::uint32_t c = 0; c < link_.children; ++c) append_pass(lane_ == 0, link_.child + c);
    push(open, l, depth);
  }

  __device__ void append(bool take, std::uint32_t source, std::uint32_t* list, std::uint32_t& size) {
    const unsigned takers = __ballot_sync(all_lanes, take);
    if (take) list[size + __popc(takers & ((1u << lane_) - 1))] = source;
    size += __popc(takers);
    __syncwarp();
  }
  __device__ void append_pass(bool take, std::uint32_t source) {
    const unsigned takers = __ballot_sync(all_lanes, take);
    const std::uint32_t at = passed_ + __popc(takers & ((1u << lane_) - 1));
    if (take && at < job_.list_room) pass_[at] = source;
    passed_ += __popc(takers);
  }
  __device__ void push(bool open, const CellLink& l, std::uint32_t& depth) {
    const std::uint32_t mine = open ? l.children : 0;
    std::uint32_t before = mine;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const std::uint32_t other = __shfl_up_sync(all_lanes, before, offset);
      if (lane_ >= offset) before += other;
    }
    const std::uint32_t total = __shfl_sync(all_lanes, before, 31);
    for (std::uint32_t c = 0; c < mine; ++c) stack_[depth + before - mine + c] = l.child + c;
    depth += total;
    __syncwarp();
  }

  __device__ void test(const CellShape& s, bool& as_cell, bool& as_points) const {
    const Opening& o = job_.opening;
    const double epsilon2 = s.epsilon2 > shape_.epsilon2 ? s.epsilon2 : shape_.epsilon2;
    const Vec3<double> d{s.x - shape_.x, s.y - shape_.y, s.z - shape_.z};
    const double square = physics::softened_square(d, epsilon2), u = physics::rsqrt(square);
    const double rest = square * u - shape_.r;
    as_cell = physics::opening_ratio(s.r, shape_.r, u) <= o.angle && shape_.r * u <= o.target_angle;
    as_points = s.r <= o.angle * rest;
    if (o.tolerance > 0) {
      const double allowed = o.tolerance * tree_.acceleration[cell_];
      as_cell = as_cell && physics::neglected_acceleration<order>(s.mass, s.rho, shape_.r, u) <= allowed;
      as_points = as_points && s.mass * physics::power<order>(s.rho) <= allowed * physics::power<order + 2>(rest);
    }
    if (tree_.epsilon2) {
      const double unequal = (s.mixed > shape_.mixed ? s.mixed : shape_.mixed) * epsilon2 * 1.5;
      as_cell = as_cell && unequal <= o.softening * square;
      as_points = as_points && unequal <= o.softening * rest * rest;
    }
  }

  /// Up to 32 cells act on this one's local expansion, one per lane.
  __device__ void flush_far() {
    if (far_ == 0) return;
    const std::uint32_t count = far_ < 32 ? far_ : 32;
    T sums[padded];
#pragma unroll
    for (int t = 0; t < padded; ++t) sums[t] = 0;
    if (lane_ < static_cast<int>(count)) {
      T local[terms];
#pragma unroll
      for (int t = 0; t < terms; ++t) local[t] = 0;
      const std::uint32_t source = memory_.far[lane_];
      const CellShape s = tree_.shape[source];
      const double epsilon2 = s.epsilon2 > shape_.epsilon2 ? s.epsilon2 : shape_.epsilon2;
      Vec3<T> d{static_cast<T>(shape_.x - s.x), static_cast<T>(shape_.y - s.y), static_cast<T>(shape_.z - s.z)};
      const T inverse = physics::rsqrt(physics::softened_square(d, static_cast<T>(epsilon2)));
      T g[order + 1], moments[terms];
      physics::plummer_radial_derivatives<order>(g);
      const T* const from = tree_.multipole + std::int64_t{source} * stride;
      load_row(from, moments);
      physics::multipole_to_local<order>(inverse * d, inverse, tree_.scale[source], tree_.scale[cell_], g, moments,
                                         local);
#pragma unroll
      for (int t = 0; t < terms; ++t) sums[t] = local[t];
    }
    __syncwarp();
    sum_over_lanes<padded / 2>(sums, lane_);
    constexpr int mine = padded / 32;
#pragma unroll
    for (int k = 0; k < mine; ++k)
      if (lane_ * mine + k < terms) memory_.local[lane_ * mine + k] += sums[k];
    drop(memory_.far, far_, count);
  }

  /// Takes the first `count` of a list away.
  __device__ void drop(std::uint32_t* list, std::uint32_t& size, std::uint32_t count) {
    size -= count;
    std::uint32_t kept = 0;
    if (lane_ < static_cast<int>(size)) kept = list[count + lane_];
    __syncwarp();
    if (lane_ < static_cast<int>(size)) list[lane_] = kept;
    __syncwarp();
  }

  /// Lanes serve targets; where a leaf has few, groups of lanes share the sources.
  __device__ void start_targets() {
    width_ = 1;
    while (width_ < static_cast<int>(link_.count)) width_ *= 2;
    part_ = lane_ / width_;
    parts_ = 32 / width_;
    const int k = lane_ % width_;
    is_target_ = k < static_cast<int>(link_.count);
    own_ = k;
    const std::uint32_t i = link_.first + (is_target_ ? k : 0);
    at_ = {tree_.x[i], tree_.y[i], tree_.z[i]};
    epsilon2_ = tree_.epsilon2 ? tree_.epsilon2[i] : static_cast<T>(tree_.same_epsilon2);
    psi_ = gx_ = gy_ = gz_ = 0;
  }

  __device__ void flush_points() {
    const std::uint32_t count = points_ < 32 ? points_ : 32;
    for (std::uint32_t k = part_; k < count; k += parts_) {
      const std::uint32_t source = memory_.points[k];
      const CellShape s = tree_.shape[source];
      T epsilon2 = static_cast<T>(s.epsilon2);
      epsilon2 = epsilon2 > epsilon2_ ? epsilon2 : epsilon2_;
      const Vec3<T> d{static_cast<T>(shape_.x - s.x + at_.x), static_cast<T>(shape_.y - s.y + at_.y),
                      static_cast<T>(shape_.z - s.z + at_.z)};
      const T inverse = physics::rsqrt(physics::softened_square(d, epsilon2));
      T g[order + 1], factor[order + 1], moments[terms];
      physics::plummer_radial_derivatives<order>(g);
      const T* const from = tree_.multipole + std::int64_t{source} * stride;
      load_row(from, moments);
      physics::powers<order>(T(1), tree_.scale[source] * inverse, factor);
      physics::scale_terms<order>(factor, moments);
      const auto field = physics::multipole_field<order>(inverse * d, inverse, g, moments);
      psi_ += field.psi, gx_ += field.gradient.x, gy_ += field.gradient.y, gz_ += field.gradient.z;
    }
    __syncwarp();
    drop(memory_.points, points_, count);
  }

  /// The particles of up to 32 leaves, a tile at a time. The own leaf is dealt with by itself, for its particles must
  /// not act on themselves.
  __device__ void flush_near() {
    const std::uint32_t count = near_ < 32 ? near_ : 32;
    CellLink l{};
    Vec3<T> shift{};
    std::uint32_t source = 0;
    if (lane_ < static_cast<int>(count)) {
      source = memory_.near[lane_];
      l = tree_.link[source];
      const CellShape s = tree_.shape[source];
      shift = {static_cast<T>(s.x - shape_.x), static_cast<T>(s.y - shape_.y), static_cast<T>(s.z - shape_.z)};
    }
    const unsigned own = __ballot_sync(all_lanes, lane_ < static_cast<int>(count) && source == cell_);
    std::uint32_t end = source == cell_ ? 0 : l.count;
    if (lane_ >= static_cast<int>(count)) end = 0;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const std::uint32_t before = __shfl_up_sync(all_lanes, end, offset);
      if (lane_ >= offset) end += before;
    }
    memory_.near_end[lane_] = end;
    __syncwarp();
    const std::uint32_t total = __shfl_sync(all_lanes, end, 31);
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
        const std::uint32_t first = __shfl_sync(all_lanes, l.first + l.count, leaf);
        const Vec3<T> away{__shfl_sync(all_lanes, shift.x, leaf), __shfl_sync(all_lanes, shift.y, leaf),
                           __shfl_sync(all_lanes, shift.z, leaf)};
        if (k < size) take_source(k, first - (last - at), away);
      }
      __syncwarp();
      add_tile<false>(size);
      __syncwarp();
    }
    if (own != 0) {
      if (lane_ < static_cast<int>(link_.count)) take_source(lane_, link_.first + lane_, {0, 0, 0});
      __syncwarp();
      add_tile<true>(static_cast<int>(link_.count));
      __syncwarp();
    }
    drop(memory_.near, near_, count);
  }
  __device__ void take_source(int to, std::uint32_t i, const Vec3<T>& away) {
    memory_.source[to] = {tree_.x[i] + away.x, tree_.y[i] + away.y, tree_.z[i] + away.z, tree_.mass[i]};
    if (tree_.epsilon2) memory_.epsilon2[to] = tree_.epsilon2[i];
  }

  template <bool self>
  __device__ void add_tile(int size) {
    physics::PairSum<T> sum{};
#pragma unroll 4
    for (int j = part_; j < size; j += parts_) {
      const Source<T> from = memory_.source[j];
      const Vec3<T> d{from.x - at_.x, from.y - at_.y, from.z - at_.z};
      T epsilon2 = epsilon2_;
      if (tree_.epsilon2) epsilon2 = memory_.epsilon2[j] > epsilon2 ? memory_.epsilon2[j] : epsilon2;
      T inverse = physics::rsqrt(physics::softened_square(d, epsilon2));
      if (self && j == own_) inverse = 0;
      physics::add_pair<false, true>(d, d, from.mass, inverse, sum);
    }
    psi_ -= sum.pot, gx_ += sum.ax, gy_ += sum.ay, gz_ += sum.az;
  }

  __device__ void finish_leaf() {
    // The parts come together in the order of their lanes' bits.
    for (int offset = width_; offset < 32; offset *= 2) {
      psi_ += __shfl_xor_sync(all_lanes, psi_, offset);
      gx_ += __shfl_xor_sync(all_lanes, gx_, offset);
      gy_ += __shfl_xor_sync(all_lanes, gy_, offset);
      gz_ += __shfl_xor_sync(all_lanes, gz_, offset);
    }
    T local[terms];
#pragma unroll
    for (int t = 0; t < terms; ++t) local[t] = memory_.local[t];
    const T inverse = T(1) / tree_.scale[cell_];
    const auto field = physics::local_field<order>(local, inverse * at_);
    if (!is_target_ || part_ > 0) return;
    const WalkOutput& out = job_.out;
    const std::int64_t source = out.order[link_.first + own_];
    const std::int64_t to = out.slot ? out.slot[source] : source;
    if (to < 0) return;
    bool finite = put(out.ax, to, out.per_gradient * (gx_ + static_cast<double>(field.gradient.x * inverse)));
    finite = put(out.ay, to, out.per_gradient * (gy_ + static_cast<double>(field.gradient.y * inverse))) && finite;
    finite = put(out.az, to, out.per_gradient * (gz_ + static_cast<double>(field.gradient.z * inverse))) && finite;
    finite = put(out.potential, to, -out.per_psi * (psi_ + static_cast<double>(field.psi))) && finite;
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

  /// Leaves the local expansion and the list to the children.
  __device__ void leave() {
    __syncwarp();
    for (int t = lane_; t < terms; t += 32) job_.local[std::int64_t{cell_} * stride + t] = memory_.local[t];
    unsigned long long begin = 0;
    if (lane_ == 0) {
      begin = atomicAdd(&job_.status->used[job_.to_pool], static_cast<unsigned long long>(passed_));
      atomicMax(&job_.status->most, begin + passed_);
      atomicMax(&job_.status->longest, passed_);
    }
    begin = __shfl_sync(all_lanes, begin, 0);
    const bool fits = passed_ <= job_.list_room && begin + passed_ <= static_cast<unsigned long long>(job_.to.capacity);
    for (std::uint32_t k = lane_; fits && k < passed_; k += 32) job_.to.entries[begin + k] = pass_[k];
    if (lane_ == 0) {
      job_.to.begin[cell_] = static_cast<std::int64_t>(begin);
      job_.to.length[cell_] = fits ? passed_ : 0;
    }
  }

  const WalkJob<T>& job_;
  const TreeView<T>& tree_;
  WarpMemory<T, order>& memory_;
  std::uint32_t *pass_, *stack_;
  int lane_;
  std::uint32_t cell_ = 0, far_ = 0, points_ = 0, near_ = 0, passed_ = 0;
  CellLink link_{};
  CellShape shape_{};
  bool leaf_ = false, is_target_ = false;
  int width_ = 1, part_ = 0, parts_ = 1, own_ = 0;
  Vec3<T> at_{};
  T epsilon2_ = 0;
  double psi_ = 0, gx_ = 0, gy_ = 0, gz_ = 0;
};

template <class T, int order>
__global__ void __launch_bounds__(walk_threads, sizeof(T) == 4 ? 3 : 2)
    walk_kernel(const __grid_constant__ WalkJob<T> job, int level, std::uint32_t begin, std::uint32_t end) {
  __shared__ WarpMemory<T, order> memory[walk_warps];
  const unsigned warp = threadIdx.x / 32;
  std::uint32_t* const scratch =
      job.scratch + (std::int64_t{blockIdx.x} * walk_warps + warp) * (job.list_room + stack_room);
  WarpWalk<T, order> walk(job, memory[warp], scratch);
  while (true) {
    std::uint32_t cell = 0;
    if (threadIdx.x % 32 == 0) cell = begin + atomicAdd(&job.status->ticket[level], 1u);
    cell = __shfl_sync(all_lanes, cell, 0);
    if (cell >= end) return;
    if (!job.out.active || job.out.active[cell]) walk.serve(cell);
  }
}

template <class T, int order>
int blocks_at_once() {
  int device = 0, processors = 0, per = 0;
  cuda::check(cudaGetDevice(&device), "device");
  cuda::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "processors");
  cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, walk_kernel<T, order>, walk_threads, 0), "occupancy");
  return processors * per;
}

template <class T>
int walk_blocks(int order) {
  static_assert(lowest_order == 2 && highest_order == 5);
  switch (order) {
    case 2:
      return blocks_at_once<T, 2>();
    case 3:
      return blocks_at_once<T, 3>();
    case 4:
      return blocks_at_once<T, 4>();
    default:
      return blocks_at_once<T, 5>();
  }
}

template <class T>
void walk_level(const WalkJob<T>& job, int level, std::uint32_t begin, std::uint32_t end, int blocks, Stream stream) {
  const auto s = cuda::handle(stream);
  switch (job.opening.order) {
    case 2:
      walk_kernel<T, 2><<<blocks, walk_threads, 0, s>>>(job, level, begin, end);
      break;
    case 3:
      walk_kernel<T, 3><<<blocks, walk_threads, 0, s>>>(job, level, begin, end);
      break;
    case 4:
      walk_kernel<T, 4><<<blocks, walk_threads, 0, s>>>(job, level, begin, end);
      break;
    default:
      walk_kernel<T, 5><<<blocks, walk_threads, 0, s>>>(job, level, begin, end);
  }
  cuda::check(cudaGetLastError(), "tree walk");
}

}  // namespace pergola::tree

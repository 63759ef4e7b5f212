#pragma once
// CUDA only. The routes "auto" and "sorted" of the deposit. Particles that follow each other in memory are near each
// other: a block of threads takes a chunk of them, adds their clouds in a box of cells in shared memory, and then adds
// the box to the sums in global memory. Particles whose cloud is not in the box go straight to global memory. Any order
// of particles gives the same sums; a good one is fast.
// Steps of a block: sample 64 particles, choose the box (find_box), add the chunk, write the strays, write the box.
#include "mesh/coupling/deposit_cuda.cuh"

namespace pergola::cuda {

/// Threads of a block, particles of a thread, cells of the box and blocks that a multiprocessor should hold.
template <int threads_, int each_, int capacity_, int resident_>
struct ChunkShape {
  static constexpr int threads = threads_, each = each_, capacity = capacity_, resident = resident_;
  static constexpr int chunk = threads * each;
};
inline constexpr int most_box_rows = 512;

/// Chunks of any length up to twice this, which begin where the order of an octree goes from one cell to another: a
/// chunk that goes on beyond the end of a large cell has two places far from each other, and no box for both.
inline constexpr int usual_chunk = 256;

/// The particles of a block.
struct Chunk {
  std::int64_t begin = 0;
  int count = 0;

  /// Chunks of `length`, or those that begin at `starts`.
  __device__ __forceinline__ Chunk(const std::uint32_t* starts, int length, std::int64_t particles) {
    begin = starts ? starts[blockIdx.x] : std::int64_t{blockIdx.x} * length;
    const std::int64_t left = (starts ? starts[blockIdx.x + 1] : particles) - begin;
    count = static_cast<int>(starts || left < length ? left : length);
  }
  /// The number of one of them.
  template <class Real>
  __device__ __forceinline__ std::int64_t particle(const MeshParticles<Real>& particles, int k) const {
    return particles.order ? particles.order[begin + k] : begin + k;
  }
};

/// Finds where chunks begin: of the particles next to each multiple of usual_chunk that which differs in the highest
/// digit from the one before it, by the digits of a Morton key in the box of the mesh. One block for each.
template <int dimensions, class Real>
__global__ void __launch_bounds__(usual_chunk)
    find_chunk_starts(const __grid_constant__ CellFrame<Real> frame,
                      const __grid_constant__ MeshParticles<Real> particles, std::uint32_t* starts) {
  constexpr int bits = 12;
  __shared__ unsigned place[3][usual_chunk + 1];
  __shared__ int best;
  const int t = static_cast<int>(threadIdx.x);
  if (blockIdx.x == 0 || blockIdx.x == gridDim.x - 1) {
    if (t == 0) starts[blockIdx.x] = blockIdx.x == 0 ? 0u : static_cast<std::uint32_t>(particles.count);
    return;
  }
  const std::int64_t first = std::int64_t{blockIdx.x} * usual_chunk - usual_chunk / 2;
  const auto look = [&](int at) {
    const std::int64_t k = first - 1 + at < particles.count ? first - 1 + at : particles.count - 1;
    const std::int64_t i = particles.order ? particles.order[k] : k;
    const Real position[3] = {particles.x[i], particles.y[i], dimensions == 3 ? particles.z[i] : Real(0)};
#pragma unroll
    for (int a = 0; a < dimensions; ++a)
      place[a][at] = static_cast<unsigned>(max(frame.cells_from_corner(a, position[a]), Real(0)) *
                                           (Real(1 << bits) / static_cast<Real>(frame.cells[a])));
  };
  look(t + 1);
  if (t == 0) look(0), best = 0;
  __syncthreads();
  int digit = 0;
#pragma unroll
  for (int a = 0; a < dimensions; ++a)
    digit = max(digit, 3 * (32 - __clz(static_cast<int>(place[a][t + 1] ^ place[a][t]))) + 2 - a);
  if (first + t < particles.count) atomicMax(&best, digit * usual_chunk + (usual_chunk - 1 - t));
  __syncthreads();
  if (t == 0) starts[blockIdx.x] = static_cast<std::uint32_t>(first + usual_chunk - 1 - best % usual_chunk);
}

/// The cells that a block has by itself. `origin` is a cell of the grid; the box may reach over its end, where a
/// periodic one begins again.
struct ChunkBox {
  int origin[3], extent[3];

  __device__ __forceinline__ int row() const { return extent[0]; }
  __device__ __forceinline__ int layer() const { return extent[0] * extent[1]; }
  __device__ __forceinline__ int rows() const { return extent[1] * extent[2]; }
  __device__ __forceinline__ int cells() const { return layer() * extent[2]; }

  /// Where the cells of a cloud begin in the box; −1 where it does not hold them all.
  template <int dimensions, int order, class Real>
  __device__ __forceinline__ int place_of(const SlabFrame<Real>& frame,
                                          const Cloud<dimensions, order, Real>& cloud) const {
    int local[3] = {0, 0, 0};
    bool within = true;
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      local[a] = frame.wrapped(a, cloud.axis[a].first) - origin[a];
      if (local[a] < 0) local[a] += frame.cells[a];
      within = within && local[a] + order <= extent[a];
    }
    return within ? local[2] * layer() + local[1] * row() + local[0] : -1;
  }
};

/// The cell of a periodic grid that a cell beyond its end is.
template <class Real>
__device__ __forceinline__ int wrapped_forward(const CellFrame<Real>& frame, int axis, int cell) {
  while (cell >= frame.cells[axis]) cell -= frame.cells[axis];
  return cell;
}

/// Calls found(r, y, z) for the rows of a box, by all threads of the block: y and z are those of the grid.
template <int dimensions, int threads, class Real, class Found>
__device__ __forceinline__ void each_box_row(const CellFrame<Real>& frame, const ChunkBox& box, const Found& found) {
  for (int r = static_cast<int>(threadIdx.x); r < box.rows(); r += threads) {
    const int layer = r / box.extent[1];
    found(r, wrapped_forward(frame, 1, box.origin[1] + r - layer * box.extent[1]),
          dimensions == 3 ? wrapped_forward(frame, 2, box.origin[2] + layer) : 0);
  }
}

/// Cells from `reference` to `cell`, in a periodic box the shorter way round.
template <class Real>
__device__ __forceinline__ int cells_from(const CellFrame<Real>& frame, int axis, int cell, int reference) {
  const int n = frame.cells[axis], distance = cell - reference;
  if (!frame.periodic) return distance;
  return 2 * distance > n ? distance - n : 2 * distance < -n ? distance + n : distance;
}

/// The first cells of the clouds of 64 particles, two per lane, spread evenly over a chunk.
template <int dimensions, int order, class Real>
struct ChunkSample {
  int cell[2][3];
  bool inside[2];

  __device__ __forceinline__ ChunkSample(const SlabFrame<Real>& frame, const MeshParticles<Real>& p,
                                         const Chunk& chunk) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const std::int64_t i = chunk.particle(p, (2 * lane + s) * chunk.count / 64);
      const Real position[3] = {p.x[i], p.y[i], dimensions == 3 ? p.z[i] : Real(0)};
      Real place[3];
      inside[s] = find_place<dimensions>(frame, position, place);
      const Cloud<dimensions, order, Real> cloud(frame, place);
#pragma unroll
      for (int a = 0; a < dimensions; ++a) cell[s][a] = cloud.axis[a].first;
    }
  }
};

/// The lowest and highest first cells of some clouds along each axis.
template <int dimensions>
struct CellBounds {
  int low[3] = {INT_MAX, INT_MAX, INT_MAX}, high[3] = {INT_MIN, INT_MIN, INT_MIN};

  __device__ __forceinline__ void take(const int (&low_too)[3], const int (&high_too)[3]) {
#pragma unroll
    for (int a = 0; a < dimensions; ++a) low[a] = min(low[a], low_too[a]), high[a] = max(high[a], high_too[a]);
  }
  /// Whether a box for the clouds, with `around` cells on every side, is no larger than allowed.
  template <int order>
  __device__ __forceinline__ bool fits(int around, int capacity) const {
    float cells = 1, rows = 1;
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      const auto extent = static_cast<float>(high[a] - low[a] + order + 2 * around);
      cells *= extent;
      if (a > 0) rows *= extent;
    }
    return cells <= static_cast<float>(capacity) && rows <= static_cast<float>(most_box_rows);
  }
};

/// The box of at most `capacity` cells for a chunk: the clouds of the sample and a cell around them if that fits;
/// without that cell; else the same for the first ones of the sample, as many as fit, or the surroundings of their
/// middle, whichever has more. The lanes of one warp work together; the result is lane 0's.
template <int dimensions, int order, class Real>
__device__ __forceinline__ ChunkBox find_box(const SlabFrame<Real>& frame, const MeshParticles<Real>& particles,
                                             const Chunk& chunk, int capacity) {
  constexpr unsigned all = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x % 32);
  ChunkSample<dimensions, order, Real> sample(frame, particles, chunk);
  const unsigned known = __ballot_sync(all, sample.inside[0]);
  const int inside = __reduce_add_sync(all, sample.inside[0] + sample.inside[1]);
  int reference[3] = {0, 0, 0}, middle[3] = {0, 0, 0};
  CellBounds<dimensions> first;  // of the sample up to this lane
#pragma unroll
  for (int a = 0; a < dimensions; ++a) {
    if (frame.periodic) reference[a] = __shfl_sync(all, sample.cell[0][a], known ? __ffs(known) - 1 : 0);
    int total = 0;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      sample.cell[s][a] = cells_from(frame, a, sample.cell[s][a], reference[a]);
      if (sample.inside[s]) total += sample.cell[s][a];
    }
    middle[a] = __reduce_add_sync(all, total) / max(inside, 1);
  }
#pragma unroll
  for (int s = 0; s < 2; ++s)
    if (sample.inside[s]) first.take(sample.cell[s], sample.cell[s]);
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    CellBounds<dimensions> before;
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      before.low[a] = __shfl_up_sync(all, first.low[a], step);
      before.high[a] = __shfl_up_sync(all, first.high[a], step);
    }
    if (lane >= step) first.take(before.low, before.high);
  }
  const unsigned fitting = __ballot_sync(all, first.high[0] >= first.low[0] && first.template fits<order>(0, capacity));
  const bool all_fit = fitting >> 31;
  const int last = fitting ? 31 - __clz(static_cast<int>(fitting)) : 31;
  CellBounds<dimensions> bounds;
#pragma unroll
  for (int a = 0; a < dimensions; ++a)
    bounds.low[a] = __shfl_sync(all, first.low[a], last), bounds.high[a] = __shfl_sync(all, first.high[a], last);

  const int most[2][3] = {{capacity / 48, 48, 1}, {capacity / 144, 12, 12}};
  const int around = bounds.template fits<order>(1, capacity) ? 1 : 0;
  ChunkBox box{{0, 0, 0}, {1, 1, 1}}, central{{0, 0, 0}, {1, 1, 1}};
#pragma unroll
  for (int a = 0; a < dimensions; ++a) {
    box.origin[a] = inside > 0 ? bounds.low[a] - around : 0;
    box.extent[a] = inside > 0 ? bounds.high[a] - bounds.low[a] + order + 2 * around : order;
    const int low = __shfl_sync(all, first.low[a], 31), high = __shfl_sync(all, first.high[a], 31);
    const int limit = most[dimensions - 2][a];
    central.origin[a] = inside > 0 && high - low + order <= limit ? low : middle[a] - limit / 2;
    central.extent[a] = inside > 0 && high - low + order <= limit ? high - low + order : limit;
  }
  if (!all_fit && inside > 0) {
    const auto held = [&](const ChunkBox& some) {
      int count = 0;
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        bool within = sample.inside[s];
#pragma unroll
        for (int a = 0; a < dimensions; ++a)
          within = within && sample.cell[s][a] >= some.origin[a] &&
                   sample.cell[s][a] + order <= some.origin[a] + some.extent[a];
        count += within;
      }
      return __reduce_add_sync(all, count);
    };
    if (!fitting || held(central) > held(box)) box = central;
  }
#pragma unroll
  for (int a = 0; a < dimensions; ++a) {
    const int n = frame.cells[a];
    box.origin[a] = ((box.origin[a] + reference[a]) % n + n) % n;
  }
  return box;
}

/// a / b for a, b < 2¹⁶ with inverse = short_inverse(b).
__device__ __forceinline__ unsigned short_inverse(int b) {
  return b == 1 ? 0 : 0xffffffffu / static_cast<unsigned>(b) + 1;
}
__device__ __forceinline__ int short_divide(int a, unsigned inverse) {
  return inverse == 0 ? a : static_cast<int>(__umulhi(static_cast<unsigned>(a), inverse));
}

/// The sums of a block's box. 64 bits in two halves, because shared memory adds 32 bits at a time: what the lower half
/// carries goes to the upper one. `small`: the lower half alone, of twice as many cells, where the whole chunk has less
/// than 2³¹ quanta.
template <int capacity>
struct alignas(16) ChunkSums {
  unsigned words[2 * capacity];

  static constexpr __device__ int cells(bool small) { return small ? 2 * capacity : capacity; }
  template <bool small, class Int>
  __device__ __forceinline__ void add(int at, Int share) {
    const auto low_part = static_cast<unsigned>(share);
    if constexpr (small) {
      atomicAdd(&words[at], low_part);
    } else {
      const unsigned before = atomicAdd(&words[at], low_part);
      const int carry = before + low_part < low_part, upper = static_cast<int>(std::int64_t{share} >> 32);
      if (upper + carry != 0) atomicAdd(&words[capacity + at], static_cast<unsigned>(upper + carry));
    }
  }
  __device__ __forceinline__ std::int64_t value(int at, bool small) const {
    if (small) return static_cast<int>(words[at]);
    return static_cast<std::int64_t>((static_cast<unsigned long long>(words[capacity + at]) << 32) | words[at]);
  }
};

/// Where in a box the cells of a cloud are, counted from its first. Every lane begins with another cell of its cloud,
/// so that lanes with the same cloud do not meet.
template <int dimensions, int order>
struct CloudOffsets {
  int offset[3][order];
  int turn[3];
  int last;

  __device__ __forceinline__ CloudOffsets(int row, int layer) {
    const int lane = static_cast<int>(threadIdx.x % 32), stride[3] = {1, row, layer};
    last = 0;
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      turn[a] = lane / (a == 0 ? 1 : a == 1 ? order : order * order) % order;
      last += (order - 1) * stride[a];
#pragma unroll
      for (int k = 0; k < order; ++k) offset[a][k] = (k + turn[a]) % order * stride[a];
    }
  }
  template <class Real>
  __device__ __forceinline__ Real weight(const physics::AxisWeights<order, Real>& axis, int a, int k) const {
    Real weight = axis.weight[k];
#pragma unroll
    for (int t = 1; t < order; ++t)
      if (turn[a] == t) weight = axis.weight[(k + t) % order];
    return weight;
  }
};

/// Adds a cloud whose first cell is `at` to the sums of the box. The shares are those of share_out(); what the last
/// cell gets beyond its rounded share is added at the end.
template <int dimensions, int order, bool small, class Int, class Real, class Sums>
__device__ __forceinline__ void add_to_box(Sums& sums, const CloudOffsets<dimensions, order>& offsets,
                                           const Cloud<dimensions, order, Real>& cloud, Int quanta, int at) {
  constexpr int layers = dimensions == 3 ? order : 1;
  Real x[order], y[order];
#pragma unroll
  for (int k = 0; k < order; ++k) {
    x[k] = offsets.weight(cloud.axis[0], 0, k);
    y[k] = offsets.weight(cloud.axis[1], 1, k);
  }
  Int rest = quanta;
#pragma unroll
  for (int kz = 0; kz < layers; ++kz) {
    const Real z = dimensions == 3 ? offsets.weight(cloud.axis[2], 2, kz) : Real(1);
#pragma unroll
    for (int ky = 0; ky < order; ++ky) {
      const Real yz = dimensions == 3 ? y[ky] * z : y[ky];
      const int row = at + offsets.offset[1][ky] + (dimensions == 3 ? offsets.offset[2][kz] : 0);
#pragma unroll
      for (int kx = 0; kx < order; ++kx) {
        Int share;
        if constexpr (small)
          share = physics::short_quanta_share(quanta, x[kx] * yz);
        else
          share = physics::quanta_share(quanta, x[kx] * yz);
        rest -= share;
        sums.template add<small>(row + offsets.offset[0][kx], share);
      }
    }
  }
  if (rest != 0) sums.template add<small>(at + offsets.last, rest);
}

/// One block's work on its chunk. Shared memory has the sums, the box, and the particles that are not in the box.
template <int dimensions, int order, class Shape, class Real>
class ChunkDeposit {
 public:
  struct Shared {
    ChunkSums<Shape::capacity> sums;
    ChunkBox box;
    std::int64_t row_begin[most_box_rows];  // the sum of a row's first cell, were the row not to wrap
    std::uint16_t stray[Shape::chunk];
    int strays;
  };

  __device__ __forceinline__ ChunkDeposit(const DepositTask<Real>& task, Shared& shared)
      : task_(task), shared_(shared), chunk_(task.starts, Shape::chunk, task.particles.count) {}

  __device__ __forceinline__ void run() {
    const bool small = load();
    const ChunkBox& box = shared_.box;
    add(CloudOffsets<dimensions, order>(box.row(), box.layer()), small);
    each_box_row<dimensions, Shape::threads>(
        task_.frame, box, [&](int r, int y, int z) { shared_.row_begin[r] = sum_index(task_.frame, 0, y, z); });
    __syncthreads();
    write_strays();
    write(box.row(), box.cells(), small);
  }

 private:
  __device__ std::int64_t particle(int k) const { return chunk_.particle(task_.particles, k); }

  /// Reads the particles, clears the sums and finds the box; true when the lower half of the sums is enough.
  __device__ __forceinline__ bool load() {
    const auto& p = task_.particles;
    bool large = false;
#pragma unroll
    for (int e = 0; e < Shape::each; ++e) {
      const int k = e * Shape::threads + static_cast<int>(threadIdx.x);
      if (k >= chunk_.count) break;
      const std::int64_t i = particle(k);
      position_[e][0] = p.x[i], position_[e][1] = p.y[i];
      if constexpr (dimensions == 3) position_[e][2] = p.z[i];
      mass_[e] = p.mass[i];
    }
    constexpr int words = sizeof(shared_.sums) / sizeof(uint4);
    for (int k = static_cast<int>(threadIdx.x); k < words; k += Shape::threads)
      reinterpret_cast<uint4*>(&shared_.sums)[k] = uint4{0, 0, 0, 0};
#pragma unroll
    for (int e = 0; e < Shape::each; ++e)
      if (e * Shape::threads + static_cast<int>(threadIdx.x) < chunk_.count)
        large = large || !(fabs(mass_[e]) <= task_.small_mass);
    const bool small = !__syncthreads_or(large);
    if (threadIdx.x < 32) {
      const ChunkBox box =
          find_box<dimensions, order>(task_.frame, p, chunk_, ChunkSums<Shape::capacity>::cells(small));
      if (threadIdx.x == 0) shared_.box = box, shared_.strays = 0;
    }
    __syncthreads();
    return small;
  }

  /// Clouds within the box; other particles are noted as strays. Numbers of 32 bits are used where they suffice.
  __device__ __forceinline__ void add(const CloudOffsets<dimensions, order>& offsets, bool small) {
    int outside = 0;
#pragma unroll
    for (int e = 0; e < Shape::each; ++e) {
      const int k = e * Shape::threads + static_cast<int>(threadIdx.x);
      if (k >= chunk_.count) break;
      Real place[3];
      if (!find_place<dimensions>(task_.frame, position_[e], place)) {
        ++outside;
        continue;
      }
      const Cloud<dimensions, order, Real> cloud(task_.frame, place);
      const int at = shared_.box.place_of(task_.frame, cloud);
      const std::int64_t quanta = physics::quanta(mass_[e], task_.per_quantum);
      if (at < 0)
        shared_.stray[atomicAdd(&shared_.strays, 1)] = static_cast<std::uint16_t>(k);
      else if (small)
        add_to_box<dimensions, order, true>(shared_.sums, offsets, cloud, static_cast<int>(quanta), at);
      else if (quanta == static_cast<int>(quanta))
        add_to_box<dimensions, order, false>(shared_.sums, offsets, cloud, static_cast<int>(quanta), at);
      else
        add_to_box<dimensions, order, false>(shared_.sums, offsets, cloud, quanta, at);
    }
    if (!task_.frame.periodic) count_in_warp(&task_.counts->outside, outside);
  }

  /// Straight into global memory, one thread per particle.
  __device__ __forceinline__ void write_strays() const {
    const int strays = shared_.strays;
    for (int s = static_cast<int>(threadIdx.x); s < strays; s += Shape::threads)
      add_particle<dimensions, order>(task_, particle(shared_.stray[s]));
    if (threadIdx.x == 0 && strays > 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&task_.counts->strays), static_cast<unsigned long long>(strays));
  }

  /// Adds the box to the global sums by atomics on whole numbers; zeros are skipped.
  __device__ __forceinline__ void write(int row, int cells, bool small) const {
    const unsigned per_row = short_inverse(row);
    const int first = shared_.box.origin[0];
    for (int at = static_cast<int>(threadIdx.x); at < cells; at += Shape::threads) {
      const std::int64_t sum = shared_.sums.value(at, small);
      if (sum == 0) continue;
      const int r = short_divide(at, per_row), ix = wrapped_forward(task_.frame, 0, first + at - r * row);
      atomicAdd(&task_.sums[shared_.row_begin[r] + ix], static_cast<unsigned long long>(sum));
    }
  }

  const DepositTask<Real>& task_;
  Shared& shared_;
  Chunk chunk_;
  Real position_[Shape::each][3], mass_[Shape::each];
};

template <int dimensions, int order, class Shape, class Real>
__global__ void __launch_bounds__(Shape::threads, Shape::resident)
    deposit_by_chunks(const __grid_constant__ DepositTask<Real> task) {
  using Deposit = ChunkDeposit<dimensions, order, Shape, Real>;
  __shared__ typename Deposit::Shared shared;
  Deposit(task, shared).run();
}

}  // namespace pergola::cuda

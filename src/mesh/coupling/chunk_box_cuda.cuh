#pragma once
// CUDA only. Particles that follow each other in memory are near each other: a block of threads takes a chunk of them
// and has the cells around them, a box, in shared memory.
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
  /// Whether a box for the clouds with so many cells around them is no larger than allowed.
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

}  // namespace pergola::cuda

#pragma once
// CUDA only: red-black half-sweeps over a level in one pass through memory, and what follows them.
#include "device/launch.cuh"
#include "mesh/multigrid_levels.hpp"

namespace pergola::multigrid {

/// What is done with the residual that the sweeps leave.
enum class After { nothing, average, measure };

template <class Real>
struct SweepArguments {
  Level<Real> level;
  const Real* potential = nullptr;  // null: zero
  const Real* source = nullptr;
  Real* out = nullptr;            // not the memory of `potential`
  Real* coarse_source = nullptr;  // After::average: of the next level, which has coarse_nx × coarse_ny cells in a plane
  int coarse_nx = 0, coarse_ny = 0;
  double* squares = nullptr;  // After::measure: three sums per block (residual, source, potential)
  int chunk = 0;              // planes per block, even
};

template <class Real>
struct alignas(2 * sizeof(Real)) Pair {
  Real v[2];
};

/// A block relaxes a tile of columns of 64 × (rows · warps) cells while it marches along z; a warp owns `rows` rows, a
/// lane two neighbouring cells of each. At step t plane t is read, half-sweep s (red, black, red …) is done on plane
/// t − s and plane t − half_sweeps is written. All half-sweeps of a step relax the same one of a lane's two cells:
/// cell (row + t + 1) % 2. Neighbours along z are in the lane's registers, along x in the next lane's, along y in its
/// own except at the edge of the warp's rows, which go through shared memory, one step later. One barrier per plane.
/// Cells near the edge of the tile are wrong by then; tiles overlap by that many.
template <class Real, int half_sweeps, After after, bool periodic, int rows, int warps>
struct Sweep {
  static_assert(rows % 2 == 0 && half_sweeps % 2 == 0);
  static constexpr int halo = half_sweeps + (after == After::nothing ? 0 : 1);
  static constexpr int margin = (halo + 1) / 2 * 2;  // along x and y, even: pairs of cells stay together
  static constexpr int out_x = 64 - 2 * margin, out_y = rows * warps - 2 * margin;
  static constexpr int planes = half_sweeps + 3;  // of the potential that are in work
  static constexpr int slots = half_sweeps + 2;   // planes of the source that are in work
  static constexpr int exchanges = half_sweeps + 2;
  static constexpr int threads = 32 * warps;

  struct Shared {
    Real source[slots][rows][2][threads];
    Real edge[2][exchanges][2][warps][32];  // by parity of the step; lowest and highest row of a warp
  };

  const SweepArguments<Real>& a;
  Shared& shared;
  int lane, warp, x, y;       // of the first cell, maybe outside of the grid
  std::int64_t offset[rows];  // within a plane
  bool inside[rows];          // isolated: the grid ends here
  bool writes[rows];
  Real wall_x[2], wall_y[rows];
  Real value[planes][rows][2] = {};
  Pair<Real> next_value[rows], next_source[rows];
  double squares[3] = {0, 0, 0};

  __device__ __forceinline__ Sweep(const SweepArguments<Real>& arguments, Shared& memory)
      : a(arguments), shared(memory) {
    const Level<Real>& g = a.level;
    lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    const int tile_x = 2 * lane - margin, tile_y = warp * rows - margin;
    x = static_cast<int>(blockIdx.x) * out_x + tile_x;
    y = static_cast<int>(blockIdx.y) * out_y + tile_y;
    const bool writes_x = tile_x >= 0 && tile_x < out_x && x < g.nx;
    const bool inside_x = periodic || (x >= 0 && x < g.nx);
    for (int c = 0; c < 2; ++c) wall_x[c] = g.stencil.wx * static_cast<Real>(g.walls(x + c, g.nx));
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      inside[r] = inside_x && (periodic || (y + r >= 0 && y + r < g.ny));
      writes[r] = writes_x && tile_y + r >= 0 && tile_y + r < out_y && y + r < g.ny;
      offset[r] = inside[r] ? std::int64_t{wrapped(y + r, g.ny)} * g.nx + wrapped(x, g.nx) : 0;
      wall_y[r] = g.stencil.wy * static_cast<Real>(g.walls(y + r, g.ny));
    }
  }

  __device__ static int wrapped(int i, int n) { return periodic ? ((i % n) + n) % n : i; }
  __device__ bool plane_inside(int z) const { return periodic || (z >= 0 && z < a.level.nz); }

  __device__ __forceinline__ void fetch(int z) {
    const bool there = plane_inside(z);
    const std::int64_t plane = there ? std::int64_t{wrapped(z, a.level.nz)} * a.level.nx * a.level.ny : 0;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      next_value[r] = next_source[r] = {};
      if (there && inside[r]) {
        next_source[r] = *reinterpret_cast<const Pair<Real>*>(a.source + plane + offset[r]);
        if (a.potential) next_value[r] = *reinterpret_cast<const Pair<Real>*>(a.potential + plane + offset[r]);
      }
    }
  }

  __device__ static int slot(int z) { return (z + 4 * slots) % slots; }
  __device__ Real& source_at(int z, int r, int c) const { return shared.source[slot(z)][r][c][warp * 32 + lane]; }

  /// Neighbours of cell c in row r of the plane `age` steps old, from what was exchanged in `exchange` one step ago.
  template <int age>
  __device__ __forceinline__ Real neighbours(int r, int c, Real south, Real north) const {
    constexpr unsigned all = 0xffffffffu;
    const Real west = c == 1 ? value[age][r][0] : __shfl_up_sync(all, value[age][r][1], 1);
    const Real east = c == 0 ? value[age][r][1] : __shfl_down_sync(all, value[age][r][0], 1);
    return a.level.stencil.neighbours(west, east, south, north, value[age + 1][r][c], value[age - 1][r][c]);
  }
  __device__ Real wall(int z, int r, int c) const {
    return wall_x[c] + wall_y[r] + a.level.stencil.wz * static_cast<Real>(a.level.walls(z, a.level.nz));
  }

  /// The lowest and highest row of the warps beside, `exchange` of the step before.
  template <int odd>
  __device__ __forceinline__ Real from_below(int exchange) const {
    return warp > 0 ? shared.edge[1 - odd][exchange][1][warp - 1][lane] : Real(0);
  }
  template <int odd>
  __device__ __forceinline__ Real from_above(int exchange) const {
    return warp + 1 < warps ? shared.edge[1 - odd][exchange][0][warp + 1][lane] : Real(0);
  }
  template <int odd>
  __device__ __forceinline__ void send(int exchange, int age, bool other) const {
    shared.edge[odd][exchange][0][warp][lane] = value[age][0][other ? odd : 1 - odd];
    shared.edge[odd][exchange][1][warp][lane] = value[age][rows - 1][other ? 1 - odd : odd];
  }

  template <int odd, int s>
  __device__ __forceinline__ void half_sweep(int t) {
    const auto& stencil = a.level.stencil;
    const int z = t - s;
    const Real diagonal = stencil.diagonal(0, 0, 0), inverse = Real(1) / diagonal;
    const Real south_edge = from_below<odd>(s - 1), north_edge = from_above<odd>(s - 1);
    const bool there = plane_inside(z);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int c = (r + odd + 1) % 2;
      const Real south = r > 0 ? value[s][r > 0 ? r - 1 : 0][c] : south_edge;
      const Real north = r + 1 < rows ? value[s][r + 1 < rows ? r + 1 : 0][c] : north_edge;
      Real cell_inverse = inverse;
      if (!periodic) {
        const Real extra = wall(z, r, c);
        if (extra > Real(0)) cell_inverse = Real(1) / (diagonal + extra);
      }
      const Real relaxed =
          stencil.relaxed(value[s][r][c], neighbours<s>(r, c, south, north), source_at(z, r, c), cell_inverse);
      if (periodic || (there && inside[r])) value[s][r][c] = relaxed;
    }
    send<odd>(s, s, false);
    if constexpr (s == half_sweeps && after != After::nothing) send<odd>(s + 1, s, true);
  }

  template <int odd, int s>
  __device__ __forceinline__ void half_sweeps_from(int t) {
    if constexpr (s <= half_sweeps) {
      half_sweep<odd, s>(t);
      half_sweeps_from<odd, s + 1>(t);
    }
  }

  /// The residual of the plane that was finished one step ago.
  template <int odd>
  __device__ __forceinline__ void finish_plane(int z) {
    constexpr int age = half_sweeps + 1;
    const auto& stencil = a.level.stencil;
    // By cell: what comes from the warp below is first its cell 1 − odd, then the other; above the other way round.
    const Real first_below = from_below<odd>(half_sweeps), other_below = from_below<odd>(half_sweeps + 1);
    const Real first_above = from_above<odd>(half_sweeps), other_above = from_above<odd>(half_sweeps + 1);
    Real residual[rows][2];
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const Real south = r > 0 ? value[age][r > 0 ? r - 1 : 0][c] : c == 1 - odd ? first_below : other_below;
        const Real north = r + 1 < rows ? value[age][r + 1 < rows ? r + 1 : 0][c]
                           : c == odd   ? first_above
                                        : other_above;
        Real diagonal = stencil.diagonal(0, 0, 0);
        if (!periodic) diagonal += wall(z, r, c);
        residual[r][c] =
            stencil.residual(value[age][r][c], neighbours<age>(r, c, south, north), source_at(z, r, c), diagonal);
      }
    if (after == After::average) average(z, residual);
    if (after == After::measure) measure(z, residual);
  }

  __device__ __forceinline__ void average(int z, const Real (&residual)[rows][2]) const {
    const Level<Real>& g = a.level;
    const Real share = Real(1) / static_cast<Real>(g.fx * g.fy * g.fz);
    const bool again = g.fz == 2 && z % 2;  // the lower plane of two is already there
#pragma unroll
    for (int r = 0; r < rows; r += 2) {
      if (!writes[r]) continue;
      Real* const to =
          a.coarse_source + (std::int64_t{z / g.fz} * a.coarse_ny + (y + r) / g.fy) * a.coarse_nx + x / g.fx;
      const auto put = [again, share](Real& cell, Real sum) { cell = (again ? cell : Real(0)) + share * sum; };
      const Real(&low)[2] = residual[r];
      const Real(&high)[2] = residual[r + 1];
      if (g.fx == 2 && g.fy == 2) {
        put(to[0], (low[0] + low[1]) + (high[0] + high[1]));
      } else if (g.fx == 2) {
        put(to[0], low[0] + low[1]);
        put(to[a.coarse_nx], high[0] + high[1]);
      } else {
        for (int c = 0; c < 2; ++c) {
          put(to[c], g.fy == 2 ? low[c] + high[c] : low[c]);
          if (g.fy == 1) put(to[a.coarse_nx + c], high[c]);
        }
      }
    }
  }

  __device__ __forceinline__ void measure(int z, const Real (&residual)[rows][2]) {
    Real sum[3] = {0, 0, 0};
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (writes[r])
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const Real source = source_at(z, r, c), potential = value[half_sweeps + 1][r][c];
          sum[0] += residual[r][c] * residual[r][c];
          sum[1] += source * source;
          sum[2] += potential * potential;
        }
    for (int k = 0; k < 3; ++k) squares[k] += static_cast<double>(sum[k]);
  }

  template <int odd>
  __device__ __forceinline__ void step(int t, int begin, int end) {
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        value[0][r][c] = next_value[r].v[c];
        source_at(t, r, c) = next_source[r].v[c];
      }
    fetch(t + 1);
    send<odd>(0, 0, false);
    if constexpr (half_sweeps == 0 && after != After::nothing) send<odd>(1, 0, true);
    half_sweeps_from<odd, 1>(t);
    if (const int z = t - half_sweeps; half_sweeps > 0 && z >= begin && z < end)
#pragma unroll
      for (int r = 0; r < rows; ++r)
        if (writes[r])
          *reinterpret_cast<Pair<Real>*>(a.out + std::int64_t{z} * a.level.nx * a.level.ny + offset[r]) = {
              value[half_sweeps][r][0], value[half_sweeps][r][1]};
    if (const int z = t - half_sweeps - 1; after != After::nothing && z >= begin && z < end) finish_plane<odd>(z);
#pragma unroll
    for (int age = planes - 1; age > 0; --age)
#pragma unroll
      for (int r = 0; r < rows; ++r)
        for (int c = 0; c < 2; ++c) value[age][r][c] = value[age - 1][r][c];
    __syncthreads();
  }

  __device__ __forceinline__ void march() {
    const int begin = static_cast<int>(blockIdx.z) * a.chunk;
    const int end = begin + a.chunk < a.level.nz ? begin + a.chunk : a.level.nz;
    fetch(begin - halo);
    for (int t = begin - halo; t < end + halo; t += 2) {
      step<halo % 2>(t, begin, end);
      step<1 - halo % 2>(t + 1, begin, end);
    }
    if (after == After::measure) add_up();
  }

  /// The block's sums, in a fixed order.
  __device__ void add_up() {
    double* const all = reinterpret_cast<double*>(&shared);
    for (int k = 0; k < 3; ++k) all[k * threads + warp * 32 + lane] = squares[k];
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
      const int i = warp * 32 + lane;
      if (i < half)
        for (int k = 0; k < 3; ++k) all[k * threads + i] += all[k * threads + i + half];
      __syncthreads();
    }
    const int block = static_cast<int>((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
    if (warp == 0 && lane < 3) a.squares[3 * block + lane] = all[lane * threads];
  }
};

template <class S, class Real>
__global__ void __launch_bounds__(S::threads) sweep_kernel(const __grid_constant__ SweepArguments<Real> arguments) {
  extern __shared__ __align__(16) char memory[];
  S(arguments, *reinterpret_cast<typename S::Shared*>(memory)).march();
}

}  // namespace pergola::multigrid

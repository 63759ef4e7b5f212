#pragma once
// CUDA only: red-black half-sweeps over a level in one pass through memory, with the interpolation before them and the
// residual after them. SweepKernels holds the compiled variants: how many half-sweeps, what follows them, with or
// without a correction, periodic or not, the whole level or a rank's planes. Every variant gives a cell the same bits.
#include <cuda_pipeline.h>
#include <array>
#include <cstdint>
#include <vector>

#include "device/launch.cuh"
#include "mesh/multigrid/multigrid_kernels.cuh"

namespace pergola::multigrid {

/// What is done with the residual that the sweeps leave.
enum class After { nothing, average, measure };

/// Arguments of one launch; all arrays lie in device memory. A pass reads `potential` and writes `out`.
template <class Real>
struct SweepArguments {
  Level<Real> level;
  const Real* potential = nullptr;  // null: zero
  const Real* source = nullptr;
  Real* out = nullptr;               // not the memory of `potential`
  Level<Real> coarse;                // the next level,
  const Real* correction = nullptr;  // its potential, interpolated and added to this one before the sweeps; null: none
  Real* coarse_source = nullptr;     // After::average: of the next level
  double* squares = nullptr;  // After::measure: three sums (residual, source, potential) by planes 2k and 2k + 1,
                              // block of these planes and warp
  int chunk = 0;              // planes per block, even
  int first = 0, planes = 0;  // of a rank, which all arrays begin with; even
  int coarse_first = 0;       // the same for the next level,
  bool coarse_slab = false;   // and whether planes of other ranks stand before and after them
};

/// A block relaxes a tile of columns of 64 × (rows · warps) cells while it marches along z; a warp owns `rows` rows, a
/// lane two neighbouring cells of each. At step t plane t is read, half-sweep s (red, black, red …) is done on plane
/// t − s and plane t − half_sweeps is written. All half-sweeps of a step relax the same one of a lane's two cells:
/// cell (row + t + 1) % 2. Neighbours along z are in the lane's registers, along x in the next lane's, along y in its
/// own except at the edge of the warp's rows, which go through shared memory, one step later. One barrier per plane.
/// Cells near the edge of the tile are wrong by then; tiles overlap by that many.
/// `slab`: the level is a rank's planes, and those of other ranks that are read stand before and after them.
template <class Real, int half_sweeps, After after, bool correct, bool periodic, bool slab, int rows, int warps>
struct Sweep {
  static_assert(rows % 2 == 0 && half_sweeps % 2 == 0 && half_sweeps <= 4);
  static constexpr int halo = half_sweeps + (after == After::nothing ? 0 : 1);
  static constexpr int margin = (halo + 1) / 2 * 2;  // along x and y, even: pairs of cells stay together
  static constexpr int out_x = 64 - 2 * margin, out_y = rows * warps - 2 * margin;
  static constexpr int planes = half_sweeps + 3;                                 // of the potential that are in work
  static constexpr int slots = half_sweeps == 0 ? 2 : half_sweeps == 2 ? 4 : 8;  // for planes of the source in work
  static constexpr int exchanges = half_sweeps + 2;
  static constexpr int threads = 32 * warps;
  static constexpr int coarse_rows = correct ? rows / 2 + 2 : 1;  // all axes are halved

  struct Shared {
    Real source[slots][rows][2][threads];
    Real edge[2][exchanges][2][warps][32];  // by parity of the step; lowest and highest row of a warp
    Real coarse[2][coarse_rows][threads];   // cells of the next level, in the plane of the next cell and beside it
    Real diagonal[8], weight[8];            // isolated: by the walls that a cell touches, 1 along x, 2 y, 4 z
  };

  const SweepArguments<Real>& a;
  Shared& shared;
  int lane, warp, x, y;  // of the first cell, maybe outside of the grid
  // By pairs of rows, which no edge parts: all axes of a level that is swept are even.
  int offset[rows / 2];   // within a plane, of the first
  bool inside[rows / 2];  // isolated: the grid ends here
  bool writes[rows / 2];
  int next_plane;      // the one to be read next, wrapped
  unsigned walls = 0;  // isolated: bit c: cell c of every row touches a face along x, bit 2 + r: row r one along y
  Real value[planes][rows][2] = {};
  Pair<Real> next_value[rows] = {}, next_source[rows];
  int coarse_offset[coarse_rows];  // of the coarse rows that the rows of this warp lie in or beside
  Real held[rows / 2];             // After::average: of the lower plane of two
  Real squares[3] = {0, 0, 0};

  __device__ __forceinline__ Sweep(const SweepArguments<Real>& arguments, Shared& memory)
      : a(arguments), shared(memory) {
    const Level<Real>& g = a.level;
    lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    const int tile_x = 2 * lane - margin, tile_y = warp * rows - margin;
    x = static_cast<int>(blockIdx.x) * out_x + tile_x;
    y = static_cast<int>(blockIdx.y) * out_y + tile_y;
    const bool writes_x = tile_x >= 0 && tile_x < out_x && x < g.nx;
    const bool inside_x = periodic || (x >= 0 && x < g.nx);
    if (g.walls(x, g.nx)) walls |= 1;
    if (g.walls(x + 1, g.nx)) walls |= 2;
    if (!periodic && warp == 0 && lane < 8) {
      shared.diagonal[lane] = g.stencil.diagonal(lane & 1, lane >> 1 & 1, lane >> 2);
      shared.weight[lane] = g.stencil.relaxation_weight(shared.diagonal[lane]);
    }
    if (!periodic) __syncthreads();
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (g.walls(y + r, g.ny)) walls |= 4u << r;
      if (r % 2 == 1) continue;
      inside[r / 2] = inside_x && (periodic || (y + r >= 0 && y + r < g.ny));
      writes[r / 2] = writes_x && tile_y + r >= 0 && tile_y + r < out_y && y + r < g.ny;
      offset[r / 2] = inside[r / 2] ? wrapped(y + r, g.ny) * g.nx + wrapped(x, g.nx) : 0;
    }
    if constexpr (correct)
#pragma unroll
      for (int k = 0; k < coarse_rows; ++k)
        coarse_offset[k] = folded((y >> 1) + k - 1, a.coarse.ny) * a.coarse.nx + folded(x >> 1, a.coarse.nx);
  }

  /// Index within an axis of n cells, for one beyond it too: wrapped, or the cell at the wall.
  __device__ static int folded(int i, int n) { return periodic ? wrapped(i, n) : i < 0 ? 0 : i < n ? i : n - 1; }
  __device__ static int wrapped(int i, int n) { return periodic ? ((i % n) + n) % n : i; }
  __device__ int place(int r) const { return offset[r / 2] + r % 2 * a.level.nx; }
  __device__ int first_plane() const { return slab ? a.first : 0; }
  __device__ bool plane_inside(int z) const { return periodic || (z >= 0 && z < a.level.nz); }

  /// Reads the next plane ahead.
  __device__ __forceinline__ void fetch() {
    const bool there = plane_inside(next_plane);
    const std::int64_t plane = std::int64_t{next_plane - first_plane()} * (a.level.nx * a.level.ny);
    const auto read = [&](const Real* values, Pair<Real>(&to)[rows]) {
#pragma unroll
      for (int r = 0; r < rows; ++r)
        to[r] = periodic || (there && inside[r / 2]) ? *reinterpret_cast<const Pair<Real>*>(values + plane + place(r))
                                                     : Pair<Real>{};
    };
    read(a.source, next_source);
    if (a.potential) read(a.potential, next_value);
    if constexpr (correct) fetch_coarse();
    if (!slab || next_plane < a.first + a.planes + halo - 1) ++next_plane;  // what is read after the last goes unseen
    if (periodic && !slab && next_plane == a.level.nz) next_plane = 0;
  }

  /// Where a plane of the next level stands.
  __device__ int coarse_place(int plane) const {
    if (!periodic || (slab && !a.coarse_slab)) plane = folded(plane, a.coarse.nz);
    return slab ? plane - a.coarse_first : plane;
  }
  __device__ __forceinline__ void fetch_coarse() {
    const Level<Real>& c = a.coarse;
    const int near = next_plane >> 1;
    int beside = near + (next_plane & 1 ? 1 : -1);
    if (periodic && !slab) beside = beside < 0 ? c.nz - 1 : beside == c.nz ? 0 : beside;
    const Real* const planes_of_two[2] = {a.correction + std::int64_t{coarse_place(near)} * (c.nx * c.ny),
                                          a.correction + std::int64_t{coarse_place(beside)} * (c.nx * c.ny)};
#pragma unroll
    for (int k = 0; k < coarse_rows; ++k)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        __pipeline_memcpy_async(&shared.coarse[i][k][warp * 32 + lane], planes_of_two[i] + coarse_offset[k],
                                sizeof(Real));
    __pipeline_commit();
  }

  /// Adds the linear interpolation of the coarse potential to plane z, which was read ahead. Beyond the faces of an
  /// isolated box it is the mirror image with the other sign.
  __device__ __forceinline__ void add_correction(int z) {
    constexpr unsigned all = 0xffffffffu;
    const auto sign = [](int i, int n) { return !periodic && (i < 0 || i >= n) ? Real(-1) : Real(1); };
    const Real sign_x = sign(x >> 1, a.coarse.nx), sign_z = sign((z >> 1) + (z & 1 ? 1 : -1), a.coarse.nz);
    __pipeline_wait_prior(0);
    Real row[coarse_rows][2];
#pragma unroll
    for (int k = 0; k < coarse_rows; ++k) {
      const int thread = warp * 32 + lane;
      Real middle = interpolated(shared.coarse[0][k][thread], sign_z * shared.coarse[1][k][thread]);
      if (!periodic) middle *= sign_x * sign((y >> 1) + k - 1, a.coarse.ny);
      row[k][0] = interpolated(middle, __shfl_up_sync(all, middle, 1));
      row[k][1] = interpolated(middle, __shfl_down_sync(all, middle, 1));
    }
    const bool there = plane_inside(z);
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int c = 0; c < 2; ++c)
        if (periodic || (there && inside[r / 2])) {
          const Real added = interpolated(row[r / 2 + 1][c], row[r / 2 + (r % 2 ? 2 : 0)][c]);
          next_value[r].v[c] = (a.potential ? next_value[r].v[c] : Real(0)) + added;
        }
  }

  __device__ static int slot(int z) { return z & (slots - 1); }
  __device__ Real& source_at(int z, int r, int c) const { return shared.source[slot(z)][r][c][warp * 32 + lane]; }

  /// Neighbours of cell c in row r of the plane `age` steps old, from what was exchanged in `exchange` one step ago.
  template <int age>
  __device__ __forceinline__ Real neighbours(int r, int c, Real south, Real north) const {
    constexpr unsigned all = 0xffffffffu;
    const Real west = c == 1 ? value[age][r][0] : __shfl_up_sync(all, value[age][r][1], 1);
    const Real east = c == 0 ? value[age][r][1] : __shfl_down_sync(all, value[age][r][0], 1);
    return a.level.stencil.neighbours(west, east, south, north, value[age + 1][r][c], value[age - 1][r][c]);
  }
  /// The walls that a cell touches, as a place in the tables.
  __device__ __forceinline__ int touched(int z, int r, int c) const {
    return (walls >> c & 1) | (walls >> (1 + r) & 2) | (a.level.walls(z, a.level.nz) ? 4 : 0);
  }

  /// The lowest and highest row of the warps beside, `exchange` of the step before.
  template <int odd>
  __device__ __forceinline__ Real from_below(int exchange) const {
    return shared.edge[1 - odd][exchange][1][warp > 0 ? warp - 1 : 0][lane];
  }
  template <int odd>
  __device__ __forceinline__ Real from_above(int exchange) const {
    return shared.edge[1 - odd][exchange][0][warp + 1 < warps ? warp + 1 : warp][lane];
  }
  /// Puts the lowest and highest row of the warp into shared memory for its neighbours in the next step.
  template <int odd>
  __device__ __forceinline__ void send(int exchange, int age, bool other) const {
    shared.edge[odd][exchange][0][warp][lane] = value[age][0][other ? odd : 1 - odd];
    shared.edge[odd][exchange][1][warp][lane] = value[age][rows - 1][other ? 1 - odd : odd];
  }

  /// Half-sweep s of step t: relaxes one cell of each pair in plane t - s.
  template <int odd, int s>
  __device__ __forceinline__ void half_sweep(int t) {
    const auto& stencil = a.level.stencil;
    const int z = t - s;
    const Real inner_weight = stencil.relaxation_weight(stencil.diagonal(0, 0, 0));
    const Real south_edge = from_below<odd>(s - 1), north_edge = from_above<odd>(s - 1);
    const bool there = plane_inside(z), at_wall = !periodic && (walls || a.level.walls(z, a.level.nz));
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int c = (r + odd + 1) % 2;
      const Real south = r > 0 ? value[s][r > 0 ? r - 1 : 0][c] : south_edge;
      const Real north = r + 1 < rows ? value[s][r + 1 < rows ? r + 1 : 0][c] : north_edge;
      Real weight = inner_weight;
      if (at_wall) weight = shared.weight[touched(z, r, c)];
      const Real relaxed =
          stencil.relaxed(value[s][r][c], neighbours<s>(r, c, south, north), source_at(z, r, c), weight);
      if (periodic || (there && inside[r / 2])) value[s][r][c] = relaxed;
    }
    send<odd>(s, s, false);
    if constexpr (s == half_sweeps && after != After::nothing) send<odd>(s + 1, s, true);
  }

  /// Half-sweeps s, s + 1 … of a step, unrolled at compile time.
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
    const bool at_wall = !periodic && (walls || a.level.walls(z, a.level.nz));
#pragma unroll
    for (int pair = 0; pair < rows; pair += 2) {
      Real residual[2][2];
#pragma unroll
      for (int r = pair; r < pair + 2; ++r)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const Real south = r > 0 ? value[age][r > 0 ? r - 1 : 0][c] : c == 1 - odd ? first_below : other_below;
          const Real north = r + 1 < rows ? value[age][r + 1 < rows ? r + 1 : 0][c]
                             : c == odd   ? first_above
                                          : other_above;
          Real diagonal = stencil.diagonal(0, 0, 0);
          if (at_wall) diagonal = shared.diagonal[touched(z, r, c)];
          residual[r - pair][c] =
              stencil.residual(value[age][r][c], neighbours<age>(r, c, south, north), source_at(z, r, c), diagonal);
        }
      if (after == After::average) average(z, pair, residual);
      if (after == After::measure && writes[pair / 2]) measure(z, pair, residual);
    }
  }

  /// The residuals of two rows, into the source of the next level.
  __device__ __forceinline__ void average(int z, int r, const Real (&residual)[2][2]) {
    const Level<Real>& g = a.level;
    const auto cell = [&](int row, int c) -> Real& {
      return a.coarse_source[a.coarse.index((x + c) / g.fx, (y + row) / g.fy, z / g.fz - (slab ? a.coarse_first : 0))];
    };
    if (g.fx * g.fy * g.fz == 8) {
      const Real sum = (residual[0][0] + residual[0][1]) + (residual[1][0] + residual[1][1]);
      if (z % 2 == 0)
        held[r / 2] = sum;
      else if (writes[r / 2])
        cell(r, 0) = Real(0.125) * (held[r / 2] + sum);
    } else if (writes[r / 2]) {
      // Some axes are not halved. The first of a coarse cell's parts overwrites what was there.
      const Real share = Real(1) / static_cast<Real>(g.fx * g.fy * g.fz);
      for (int row = 0; row < 2; ++row)
        for (int c = 0; c < 2; ++c) {
          const bool first = z % g.fz == 0 && (row == 0 || g.fy == 1) && (c == 0 || g.fx == 1);
          Real& to = cell(r + row, c);
          to = physics::mul_add(share, residual[row][c], first ? Real(0) : to);
        }
    }
  }

  /// Adds the squares of two rows to the lane's sums: residual, source, potential.
  __device__ __forceinline__ void measure(int z, int r, const Real (&residual)[2][2]) {
    Real sum[3] = {0, 0, 0};
#pragma unroll
    for (int row = 0; row < 2; ++row)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const Real source = source_at(z, r + row, c), potential = value[half_sweeps + 1][r + row][c];
        sum[0] = physics::mul_add(residual[row][c], residual[row][c], sum[0]);
        sum[1] = physics::mul_add(source, source, sum[1]);
        sum[2] = physics::mul_add(potential, potential, sum[2]);
      }
    for (int k = 0; k < 3; ++k) squares[k] += sum[k];
  }

  /// Step t: (1) plane t enters the registers, (2) the next plane is read, (3) half-sweeps on the planes behind it,
  /// (4) the oldest relaxed plane is written, (5) its residual one step later, (6) planes move one place on.
  template <int odd>
  __device__ __forceinline__ void step(int t, int begin, int end) {
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        value[0][r][c] = next_value[r].v[c];
        source_at(t, r, c) = next_source[r].v[c];
      }
    fetch();
    send<odd>(0, 0, false);
    if constexpr (half_sweeps == 0 && after != After::nothing) send<odd>(1, 0, true);
    half_sweeps_from<odd, 1>(t);
    if (const int z = t - half_sweeps; half_sweeps > 0 && z >= begin && z < end)
#pragma unroll
      for (int r = 0; r < rows; ++r)
        if (writes[r / 2])
          *reinterpret_cast<Pair<Real>*>(a.out + std::int64_t{z - first_plane()} * a.level.nx * a.level.ny +
                                         place(r)) = {value[half_sweeps][r][0], value[half_sweeps][r][1]};
    if (const int z = t - half_sweeps - 1; after != After::nothing && z >= begin && z < end) finish_plane<odd>(z);
    if constexpr (correct) add_correction(t + 1);
#pragma unroll
    for (int age = planes - 1; age > 0; --age)
#pragma unroll
      for (int r = 0; r < rows; ++r)
        for (int c = 0; c < 2; ++c) value[age][r][c] = value[age - 1][r][c];
    if constexpr (after == After::measure && odd == 0)  // of these two planes the upper one has been finished
      if (const int z = t - half_sweeps - 1; z >= begin && z < end) add_up(z);
    __syncthreads();
  }

  /// All planes of the block, with `halo` planes before and after them for the half-sweeps.
  __device__ __forceinline__ void march() {
    const int begin = first_plane() + static_cast<int>(blockIdx.z) * a.chunk;
    const int end = min(begin + a.chunk, first_plane() + a.planes);
    next_plane = slab ? begin - halo : wrapped(begin - halo, a.level.nz);
    fetch();
    if constexpr (correct) add_correction(begin - halo);
    for (int t = begin - halo; t < end + halo; t += 2) {
      step<halo % 2>(t, begin, end);
      step<1 - halo % 2>(t + 1, begin, end);
    }
  }

  /// The warp's sums of planes z − 1 and z, whatever planes the block or the rank has. At each exchange a lane gives
  /// away the sums that it does not go on with: in the end lanes 0, 8 and 16 have one each.
  __device__ __forceinline__ void add_up(int z) {
    constexpr unsigned all = 0xffffffffu;
    const bool upper = lane & 16, odd_half = lane & 8;
    const Real first = (upper ? squares[2] : squares[0]) + __shfl_xor_sync(all, upper ? squares[0] : squares[2], 16);
    const Real second = (upper ? Real(0) : squares[1]) + __shfl_xor_sync(all, upper ? squares[1] : Real(0), 16);
    Real sum = (odd_half ? second : first) + __shfl_xor_sync(all, odd_half ? first : second, 8);
#pragma unroll
    for (int half = 4; half > 0; half /= 2) sum += __shfl_xor_sync(all, sum, half);
    const unsigned tile =
        (static_cast<unsigned>(z - first_plane()) / 2 * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (lane % 8 == 0 && lane < 24)
      a.squares[(tile * warps + static_cast<unsigned>(warp)) * 3 + static_cast<unsigned>(lane) / 8] =
          static_cast<double>(sum);
    squares[0] = squares[1] = squares[2] = 0;
  }
};

/// Blocks of 32 × warps threads; the grid's z counts chunks of planes.
template <class S, class Real>
__global__ void __launch_bounds__(S::threads) sweep_kernel(const __grid_constant__ SweepArguments<Real> arguments) {
  extern __shared__ __align__(16) char memory[];
  S(arguments, *reinterpret_cast<typename S::Shared*>(memory)).march();
}

/// A compiled Sweep and its shape.
template <class Real>
struct SweepKernel {
  void (*kernel)(SweepArguments<Real>) = nullptr;
  int half_sweeps = 0, halo = 0, out_x = 0, out_y = 0, warps = 0;
  std::size_t shared_bytes = 0;
  int blocks_at_once = 0;   // on the whole device
  std::vector<int> chunks;  // by level

  template <class S>
  static SweepKernel of() {
    SweepKernel result;
    result.kernel = sweep_kernel<S, Real>;
    result.half_sweeps = S::planes - 3, result.halo = S::halo;
    result.out_x = S::out_x, result.out_y = S::out_y, result.warps = S::threads / 32;
    result.shared_bytes = sizeof(typename S::Shared);
    cuda::check(cudaFuncSetAttribute(result.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(result.shared_bytes)),
                "multigrid sweep");
    int device = 0, units = 0, per_unit = 0;
    cuda::check(cudaGetDevice(&device), "cudaGetDevice");
    cuda::check(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    cuda::check(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_unit, result.kernel, S::threads, result.shared_bytes),
        "multigrid sweep");
    result.blocks_at_once = units * per_unit;
    return result;
  }

  /// For `count` planes of a level, `planes` to a block.
  dim3 grid(const Level<Real>& g, int count, int planes) const {
    const auto parts = [](int cells, int size) { return static_cast<unsigned>((cells + size - 1) / size); };
    return {parts(g.nx, out_x), parts(g.ny, out_y), parts(count, planes)};
  }
  static int blocks(dim3 grid) { return static_cast<int>(grid.x * grid.y * grid.z); }
  /// Sums of squares that are made of every two planes.
  int sums_of_two(const Level<Real>& g) const { return blocks(grid(g, 2, 2)) * warps; }
  /// Planes per block: few enough to have all of the device at work, many enough to keep the overlap small.
  int chunk(const Level<Real>& g, int count) const {
    int best = count;
    std::int64_t least = -1;
    for (int parts = 1; parts <= count / 2; ++parts) {
      const int planes = (count / 2 + parts - 1) / parts * 2;
      const std::int64_t rounds = (blocks(grid(g, count, planes)) + blocks_at_once - 1) / blocks_at_once;
      const std::int64_t steps = rounds * (planes + 2 * halo);
      if (least < 0 || steps < least) best = planes, least = steps;
    }
    return best;
  }

  void launch(Stream stream, SweepArguments<Real> arguments, int planes) const {
    if (arguments.planes == 0) return;
    arguments.chunk = planes;
    const dim3 size = grid(arguments.level, arguments.planes, planes);
    kernel<<<size, dim3(32, static_cast<unsigned>(warps)), shared_bytes, cuda::handle(stream)>>>(arguments);
    cuda::check(cudaGetLastError(), "multigrid sweep");
  }
};

/// The sweeps that one pass can do, with and without correction, by After and from the fewest to the most half-sweeps.
template <class Real>
struct SweepKernels {
  std::array<std::array<std::vector<SweepKernel<Real>>, 3>, 2> choices;

  /// The variant with the most half-sweeps that are not more than wanted.
  const SweepKernel<Real>& most(bool correct, After after, int half_sweeps) const {
    const auto& choice = choices[correct][static_cast<std::size_t>(after)];
    auto found = choice.begin();
    while (found + 1 != choice.end() && (found + 1)->half_sweeps <= half_sweeps) ++found;
    return *found;
  }

  template <class Body>
  void each(const Body& body) {
    for (auto& of : choices)
      for (auto& choice : of)
        for (SweepKernel<Real>& kernel : choice) body(kernel);
  }

  /// All variants of a boundary and a shape. Doubles have too few registers for four half-sweeps at once.
  template <bool periodic, bool slab, int rows, int warps>
  static SweepKernels make() {
    SweepKernels result;
    const auto add = [&]<int half_sweeps, After after, bool correct>() {
      result.choices[correct][static_cast<std::size_t>(after)].push_back(
          SweepKernel<Real>::template of<Sweep<Real, half_sweeps, after, correct, periodic, slab, rows, warps>>());
    };
    add.template operator()<0, After::average, false>();
    add.template operator()<0, After::measure, false>();
    const auto add_all = [&]<int half_sweeps>() {
      add.template operator()<half_sweeps, After::nothing, false>();
      add.template operator()<half_sweeps, After::nothing, true>();
      add.template operator()<half_sweeps, After::average, false>();
      if constexpr (periodic) add.template operator()<half_sweeps, After::average, true>();
      add.template operator()<half_sweeps, After::measure, false>();
      add.template operator()<half_sweeps, After::measure, true>();
    };
    add_all.template operator()<2>();
    if constexpr (sizeof(Real) == 4) add_all.template operator()<4>();
    return result;
  }
};

}  // namespace pergola::multigrid

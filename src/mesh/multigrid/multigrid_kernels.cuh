#pragma once
// CUDA only: the kernels of multigrid other than the sweeps (multigrid_sweep.cuh): sums over planes for the mean, the
// multipole expansion and the norms, averages between levels, walls, and the direct solution of the coarsest level by
// one block. Sums are added in a fixed order: the result depends neither on the number of blocks at work nor on how
// ranks share out the planes.
#include <numbers>

#include "device/launch.cuh"
#include "mesh/multigrid/multigrid_levels.hpp"

namespace pergola::multigrid {

constexpr int moment_powers = physics::multipole_order + 1;

/// body(x, y, z) for all x < nx, y < ny, z < nz.
template <class Body>
__global__ void __launch_bounds__(256) each_place(int nx, int ny, Body body) {
  const int x = static_cast<int>(blockIdx.x * 32 + threadIdx.x), y = static_cast<int>(blockIdx.y * 8 + threadIdx.y);
  if (x < nx && y < ny) body(x, y, static_cast<int>(blockIdx.z));
}
/// A thread per place: blocks of 32 by 8 places of a plane, so that lanes follow x.
template <class Body>
void launch_places(const char* name, int nx, int ny, int nz, Stream stream, const Body& body) {
  const dim3 grid(static_cast<unsigned>((nx + 31) / 32), static_cast<unsigned>((ny + 7) / 8),
                  static_cast<unsigned>(nz));
  each_place<<<grid, dim3(32, 8), 0, cuda::handle(stream)>>>(nx, ny, body);
  cuda::check(cudaGetLastError(), name);
}

/// Two neighbouring values, read and written at once.
template <class Real>
struct alignas(2 * sizeof(Real)) Pair {
  Real v[2];
};

/// The sum of one value per thread, in a fixed order, in thread 0.
template <int threads>
__device__ double block_sum(double value, double* shared) {
  const int thread = static_cast<int>(threadIdx.x);
  shared[thread] = value;
  __syncthreads();
#pragma unroll
  for (int half = threads / 2; half > 0; half /= 2) {
    if (thread < half) shared[thread] += shared[thread + half];
    __syncthreads();
  }
  const double sum = shared[0];
  __syncthreads();
  return sum;
}

/// Sums over the cells are made plane by plane, each by several blocks of 256 threads, and their parts added in order.
constexpr int plane_parts = 4;

/// Block (z, part) adds up some of the pairs of values of plane z.
template <class Real>
__global__ void __launch_bounds__(256) add_planes(std::int64_t pairs, const Pair<Real>* values, double* parts) {
  __shared__ double shared[256];
  const Pair<Real>* const plane = values + std::int64_t{blockIdx.x} * pairs;
  double sum[4] = {0, 0, 0, 0};
  constexpr std::int64_t stride = plane_parts * 256;
  std::int64_t i = std::int64_t{blockIdx.y} * 256 + threadIdx.x;
  for (; i + 3 * stride < pairs; i += 4 * stride) {
    Pair<Real> four[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) four[k] = plane[i + k * stride];
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] += static_cast<double>(four[k].v[0]) + static_cast<double>(four[k].v[1]);
  }
  for (; i < pairs; i += stride) sum[0] += static_cast<double>(plane[i].v[0]) + static_cast<double>(plane[i].v[1]);
  const double total = block_sum<256>((sum[0] + sum[1]) + (sum[2] + sum[3]), shared);
  if (threadIdx.x == 0) parts[std::int64_t{blockIdx.x} * plane_parts + blockIdx.y] = total;
}

/// One block: the mean from the parts of all planes.
static __global__ void __launch_bounds__(256) find_mean(const double* parts, int count, double cells, double* mean) {
  __shared__ double shared[256];
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 256) sum += parts[i];
  const double total = block_sum<256>(sum, shared);
  if (threadIdx.x == 0) *mean = total / cells;
}

/// The same for some rows of plane z: Σ value x^a y^b, a + b ≤ 4, at b powers + a of its powers² sums.
constexpr int moment_sums = moment_powers * moment_powers;
template <class Real>
__global__ void __launch_bounds__(256) plane_moments(Level<Real> g, const Real* values, double* parts) {
  __shared__ double shared[256];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const Real* const plane = values + g.index(0, 0, static_cast<int>(blockIdx.x));
  double sums[moment_sums] = {};
  for (int y = static_cast<int>(blockIdx.y) * 8 + warp; y < g.ny; y += plane_parts * 8) {
    double row[moment_powers] = {};
    for (int x = lane; x < g.nx; x += 32) {
      double value = static_cast<double>(plane[std::int64_t{y} * g.nx + x]);
      const double place = g.place(x, g.nx, g.hx);
#pragma unroll
      for (int a = 0; a < moment_powers; ++a, value *= place) row[a] += value;
    }
    double power = 1;
    const double place = g.place(y, g.ny, g.hy);
#pragma unroll
    for (int b = 0; b < moment_powers; ++b, power *= place)
#pragma unroll
      for (int a = 0; a + b < moment_powers; ++a)
        sums[b * moment_powers + a] = physics::mul_add(row[a], power, sums[b * moment_powers + a]);
  }
#pragma unroll
  for (int k = 0; k < moment_sums; ++k)
    if (k % moment_powers + k / moment_powers < moment_powers) {
      const double sum = block_sum<256>(sums[k], shared);
      if (threadIdx.x == 0) parts[(std::int64_t{blockIdx.x} * plane_parts + blockIdx.y) * moment_sums + k] = sum;
    }
}

/// One block of moment_count × 16 threads: the multipole expansion of the potential, −factor/4π ∫ρ/|r − x|, from the
/// planes' moments.
template <class Real>
__global__ void __launch_bounds__(1024)
    expand_moments(Level<Real> g, const double* parts, double factor, physics::Multipole* far) {
  __shared__ double part[physics::moment_count][16], moments[physics::moment_count], central[physics::moment_count];
  const int moment = static_cast<int>(threadIdx.y), slice = static_cast<int>(threadIdx.x);
  int a = 0, b = 0, c = 0;
  for (int n = 0; n < moment_powers; ++n)
    physics::each_exponent(n, [&](int i, int j, int k) {
      if (physics::moment_index(i, j, k) == moment) a = i, b = j, c = k;
    });
  double sum = 0;
  for (int i = slice; i < g.nz * plane_parts; i += 16) {
    double term = parts[i * moment_sums + b * moment_powers + a];
    for (int k = 0; k < c; ++k) term *= g.place(i / plane_parts, g.nz, g.hz);
    sum += term;
  }
  part[moment][slice] = sum;
  __syncthreads();
  if (slice == 0) {
    double total = 0;
    for (int k = 0; k < 16; ++k) total += part[moment][k];
    moments[moment] = total;
  }
  __syncthreads();
  const Vec3<double> centre = physics::Multipole::centre_of(moments);
  const double strength = -factor * g.hx * g.hy * g.hz / (4 * std::numbers::pi);
  if (slice == 0) central[moment] = strength * physics::central_moment(moments, centre, a, b, c);
  __syncthreads();
  if (slice == 0) far->coefficient[moment] = physics::multipole_coefficient(central, a, b, c);
  if (slice == 0 && moment == 0) far->centre = centre;
}

/// to = factor (from − mean), two at a time; no mean: null.
template <class Real>
struct Scale {
  double factor;
  const double* mean;
  const Pair<Real>* from;
  Pair<Real>* to;
  __device__ void operator()(std::int64_t i) const {
    const double offset = mean ? *mean : 0.0;
    const Pair<Real> in = from[i];
    to[i] = {static_cast<Real>(factor * (static_cast<double>(in.v[0]) - offset)),
             static_cast<Real>(factor * (static_cast<double>(in.v[1]) - offset))};
  }
};

/// For the i-th entry of the list of all cells of the six faces: what the potential on the walls adds to the source. A
/// cell at several walls is done by its first entry. Of a rank's planes those are done that it has.
template <class Real>
struct AddWalls {
  Level<Real> g;
  const physics::Multipole* far;
  Real* source;
  int first, planes;

  std::int64_t count() const {
    return 2 * (std::int64_t{g.ny} * planes + std::int64_t{g.nx} * planes + std::int64_t{g.nx} * g.ny);
  }
  __device__ void operator()(std::int64_t entry) const {
    int i = static_cast<int>(entry), axis = 0;
    for (const int faces : {2 * g.ny * planes, 2 * g.nx * planes}) {
      if (i < faces) break;
      i -= faces;
      ++axis;
    }
    const int width = axis == 0 ? g.ny : g.nx, height = axis == 2 ? g.ny : planes;
    const bool upper = i >= width * height;
    if (upper) i -= width * height;
    const int u = i % width, v = i / width;
    const int x = axis == 0 ? (upper ? g.nx - 1 : 0) : u;
    const int y = axis == 1 ? (upper ? g.ny - 1 : 0) : axis == 0 ? u : v;
    const int z = axis == 2 ? (upper ? g.nz - 1 : 0) : first + v;
    if (z < first || z >= first + planes) return;
    if ((axis > 0 && g.walls(x, g.nx)) || (axis > 1 && g.walls(y, g.ny))) return;
    add(x, y, z);
  }
  __device__ void add(int x, int y, int z) const {
    const double px = g.place(x, g.nx, g.hx), py = g.place(y, g.ny, g.hy), pz = g.place(z, g.nz, g.hz);
    double sum = 0;
    const auto wall = [&](Real weight, double fx, double fy, double fz) {
      sum += physics::PoissonStencil<double>::wall_source(static_cast<double>(weight), (*far)(fx, fy, fz));
    };
    if (g.walls(x, g.nx)) wall(g.stencil.wx, x == 0 ? -0.5 * g.nx * g.hx : 0.5 * g.nx * g.hx, py, pz);
    if (g.walls(y, g.ny)) wall(g.stencil.wy, px, y == 0 ? -0.5 * g.ny * g.hy : 0.5 * g.ny * g.hy, pz);
    if (g.walls(z, g.nz)) wall(g.stencil.wz, px, py, z == 0 ? -0.5 * g.nz * g.hz : 0.5 * g.nz * g.hz);
    source[g.index(x, y, z - first)] += static_cast<Real>(sum);
  }
};

/// The mean of a level's values over a cell of the next level.
template <class Real>
struct Average {
  Level<Real> fine, coarse;
  const Real* from;
  Real* to;
  __device__ void operator()(int x, int y, int z) const {
    Real sum = 0;
    for (int dz = 0; dz < fine.fz; ++dz)
      for (int dy = 0; dy < fine.fy; ++dy) {
        const Real* const row = from + fine.index(fine.fx * x, fine.fy * y + dy, fine.fz * z + dz);
        if (fine.fx == 2) {
          const Pair<Real> pair = *reinterpret_cast<const Pair<Real>*>(row);
          sum += pair.v[0] + pair.v[1];
        } else {
          sum += row[0];
        }
      }
    to[coarse.index(x, y, z)] = sum / static_cast<Real>(fine.fx * fine.fy * fine.fz);
  }
};

/// Linear interpolation to the cells of a level within the part-th column of `height` cells of the next: of a
/// correction, onto what is there, or of the whole potential, in its place. Of a rank's planes: `to` begins with that
/// in plane `lowest` of the next level, and `planes` of these are gone through.
template <class Real, bool whole>
struct Interpolate {
  Level<Real> fine;
  CoarseValues<Real> coarse;
  Real* to;
  int height, lowest, planes;

  struct Layer {  // of the coarse level, interpolated along x and y
    Real v[2][2];
  };

  /// The two values within the middle one of three cells; the first only where the axis is not halved.
  __device__ static void split(int factor, Real below, Real middle, Real above, Real& first, Real& second) {
    first = factor == 2 ? interpolated(middle, below) : middle;
    second = interpolated(middle, above);
  }

  __device__ Layer layer(int x, int y, int z) const {
    const Level<Real>& c = coarse.level;
    const bool inner = x > 0 && x + 1 < c.nx && y > 0 && y + 1 < c.ny && z >= 0 && z < c.nz;
    Real row[3][2];
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy) {
      Real v[3];
      if (inner) {
        const Real* const at = coarse.data + coarse.index(x, y + dy, z);
        for (int dx = 0; dx < 3; ++dx) v[dx] = at[dx - 1];
      } else {
        for (int dx = 0; dx < 3; ++dx)
          v[dx] = whole ? coarse(x + dx - 1, y + dy, z) : coarse.mirrored(x + dx - 1, y + dy, z);
      }
      split(fine.fx, v[0], v[1], v[2], row[dy + 1][0], row[dy + 1][1]);
    }
    Layer result;
#pragma unroll
    for (int dx = 0; dx < 2; ++dx) split(fine.fy, row[0][dx], row[1][dx], row[2][dx], result.v[0][dx], result.v[1][dx]);
    return result;
  }

  __device__ void put(int x, int y, int z, Real first, Real second) const {
    Real* const at = to + fine.index(fine.fx * x, y, z - fine.fz * lowest);
    if (fine.fx == 2) {
      auto* const pair = reinterpret_cast<Pair<Real>*>(at);
      const Pair<Real> old = whole ? Pair<Real>{} : *pair;
      *pair = {old.v[0] + first, old.v[1] + second};
    } else {
      *at = (whole ? Real(0) : *at) + first;
    }
  }

  __device__ void operator()(int x, int y, int part) const {
    const int begin = lowest + part * height, end = min(begin + height, lowest + planes);
    Layer below = layer(x, y, begin - 1), middle = layer(x, y, begin);
    for (int z = begin; z < end; ++z) {
      const Layer above = layer(x, y, z + 1);
      for (int dy = 0; dy < fine.fy; ++dy) {
        Real low[2], high[2];
        for (int dx = 0; dx < 2; ++dx)
          split(fine.fz, below.v[dy][dx], middle.v[dy][dx], above.v[dy][dx], low[dx], high[dx]);
        put(x, fine.fy * y + dy, fine.fz * z, low[0], low[1]);
        if (fine.fz == 2) put(x, fine.fy * y + dy, fine.fz * z + 1, high[0], high[1]);
      }
      below = middle, middle = above;
    }
  }
};

/// To or back from the eigenvectors of a level along one axis; divides by the eigenvalues where they are given.
template <class Real>
struct TransformAxis {
  Level<Real> g;
  int axis;
  const Real* matrix;      // value(k, j) at k n + j
  const Real* transposed;  // at j n + k
  const Real *eigen_x, *eigen_y, *eigen_z;
  const Real* from;
  Real* to;
  __device__ void operator()(int x, int y, int z) const {
    const std::int64_t i = g.index(x, y, z);
    const int n = axis == 0 ? g.nx : axis == 1 ? g.ny : g.nz;
    const std::int64_t stride = axis == 0 ? 1 : axis == 1 ? g.nx : std::int64_t{g.nx} * g.ny;
    const int k = axis == 0 ? x : axis == 1 ? y : z;
    const Real* const line = from + (i - k * stride);
    Real sum = 0;
    for (int j = 0; j < n; ++j)
      sum = physics::mul_add(axis == 0 ? transposed[std::int64_t{j} * n + k] : matrix[std::int64_t{k} * n + j],
                             line[j * stride], sum);
    to[i] = eigen_x ? sum * inverse_eigenvalue(eigen_x[x], eigen_y[y], eigen_z[z]) : sum;
  }
};

/// Block p adds up three sums over the entries of the p-th pair of planes, in a fixed order.
static __global__ void __launch_bounds__(256) add_squares(const double* entries, int count, double* sums) {
  __shared__ double shared[256];
  const double* const pair = entries + std::int64_t{blockIdx.x} * count * 3;
  double mine[3] = {0, 0, 0};
  for (int i = static_cast<int>(threadIdx.x); i < count; i += 256)
    for (int k = 0; k < 3; ++k) mine[k] += pair[3 * i + k];
  for (int k = 0; k < 3; ++k) {
    const double sum = block_sum<256>(mine[k], shared);
    if (threadIdx.x == 0) sums[3 * blockIdx.x + static_cast<unsigned>(k)] = sum;
  }
}

/// A level with at most 16 cells per axis: to its eigenvectors, divided by the eigenvalues and back, all in shared
/// memory. A thread makes four values of a line at a time.
/// `full`: all axes have the most cells.
template <class Real, bool full>
struct SolveDirectly {
  static constexpr int most = 16, threads = 1024;
  struct alignas(16) Four {
    Real v[4];
  };
  struct Shared {
    Real values[2][most * most * (most + 1)];   // rows are one longer than needed: no bank conflicts along x
    alignas(16) Real matrix[2][3][most][most];  // (j, k) of the way to the eigenvectors, and of the way back
    Real eigenvalue[3][most];
  };

  Level<Real> g;
  const Real* modes[3];
  const Real* eigenvalues[3];
  const Real* source;
  Real* potential;

  static bool fills(const Level<Real>& g) { return g.nx == most && g.ny == most && g.nz == most; }
  static bool fits(const Level<Real>& g) { return g.nx <= most && g.ny <= most && g.nz <= most; }

  __device__ int nx() const { return full ? most : g.nx; }
  __device__ int ny() const { return full ? most : g.ny; }
  __device__ int nz() const { return full ? most : g.nz; }
  __device__ int cells(int axis) const { return axis == 0 ? nx() : axis == 1 ? ny() : nz(); }
  __device__ int place(int i) const {
    const int row = i / nx();
    return row * (most + 1) + i - row * nx();
  }

  /// Steps: (1) matrices, eigenvalues and source into shared memory, (2) x, y, z to the eigenvectors, (3) division,
  /// (4) z, y, x back, (5) the potential to device memory. values[0] and values[1] take turns.
  __device__ void operator()(Shared& shared, int thread) const {
    const int count = nx() * ny() * nz();
    for (int i = thread; i < 6 * most * most; i += threads) {
      const int back = i / (3 * most * most), axis = i / (most * most) % 3, j = i / most % most, k = i % most;
      const int n = cells(axis);
      shared.matrix[back][axis][j][k] = j < n && k < n ? modes[axis][back ? j * n + k : k * n + j] : Real(0);
    }
    if (thread < 3 * most && thread % most < cells(thread / most))
      shared.eigenvalue[thread / most][thread % most] = eigenvalues[thread / most][thread % most];
    for (int i = thread; i < count; i += threads) shared.values[0][place(i)] = source[i];
    __syncthreads();
    for (int axis = 0; axis < 3; ++axis) transform(shared, axis, 0, axis % 2, thread);
    for (int i = thread; i < count; i += threads)
      shared.values[1][place(i)] *= inverse_eigenvalue(
          shared.eigenvalue[0][i % nx()], shared.eigenvalue[1][i / nx() % ny()], shared.eigenvalue[2][i / nx() / ny()]);
    __syncthreads();
    for (int axis = 2; axis >= 0; --axis) transform(shared, axis, 1, 1 - axis % 2, thread);
    for (int i = thread; i < count; i += threads) potential[i] = shared.values[0][place(i)];
  }

  /// Σ_j matrix(j) in(j) over `fixed` terms, or n where that is 0.
  template <int fixed>
  __device__ static Four product(const Four* matrix, const Real* in, int n, int stride) {
    Four sum = {};
#pragma unroll
    for (int j = 0; j < (fixed ? fixed : n); ++j) {
      const Four row = matrix[j * (most / 4)];
      const Real value = in[j * stride];
#pragma unroll
      for (int m = 0; m < 4; ++m) sum.v[m] = physics::mul_add(row.v[m], value, sum.v[m]);
    }
    return sum;
  }

  /// All lines along an axis, from values[from] to the other array.
  __device__ void transform(Shared& shared, int axis, int back, int from, int thread) const {
    const int n = cells(axis), lines = nx() * ny() * nz() / n, pitch = most + 1;
    const int stride = axis == 0 ? 1 : axis == 1 ? pitch : ny() * pitch;
    for (int task = thread; task < lines * ((n + 3) / 4); task += threads) {
      const int line = task % lines, k = task / lines * 4;
      const int begin = axis == 0   ? line * pitch
                        : axis == 1 ? line / nx() * ny() * pitch + line % nx()
                                    : line / nx() * pitch + line % nx();
      const Real* const in = shared.values[from] + begin;
      const auto* const matrix = reinterpret_cast<const Four*>(&shared.matrix[back][axis][0][k]);
      const Four sum = n == most ? product<most>(matrix, in, most, stride) : product<0>(matrix, in, n, stride);
      Real* const out = shared.values[1 - from] + begin;
      for (int m = 0; m < 4; ++m)
        if (k + m < n) out[(k + m) * stride] = sum.v[m];
    }
    __syncthreads();
  }
};

template <class Body>
__global__ void __launch_bounds__(Body::threads) solve_directly(Body body) {
  extern __shared__ __align__(16) char memory[];
  body(*reinterpret_cast<typename Body::Shared*>(memory), static_cast<int>(threadIdx.x));
}

}  // namespace pergola::multigrid

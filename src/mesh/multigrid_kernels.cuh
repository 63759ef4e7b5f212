#pragma once
// CUDA only: the loops of multigrid other than the sweeps (mesh/multigrid_sweep.cuh).
#include <numbers>

#include "device/launch.cuh"
#include "mesh/multigrid_levels.hpp"

namespace pergola::multigrid {

constexpr int moment_powers = physics::multipole_order + 1;

/// Block z adds up plane z: Σ value x^a y^b at b powers + a of its powers² sums, in a fixed order. The sum only where
/// powers = 1.
template <int powers, class Real>
__global__ void __launch_bounds__(256) plane_moments(Level<Real> g, const Real* values, double* planes) {
  constexpr int threads = 256;
  __shared__ double part[threads];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const Real* const plane = values + g.index(0, 0, static_cast<int>(blockIdx.x));
  double sums[powers * powers] = {};
  for (int y = warp; y < g.ny; y += threads / 32) {
    double row[powers] = {};
    for (int x = lane; x < g.nx; x += 32) {
      double value = static_cast<double>(plane[std::int64_t{y} * g.nx + x]);
#pragma unroll
      for (int a = 0; a < powers; ++a, value *= g.place(x, g.nx, g.hx)) row[a] += value;
    }
    double power = 1;
#pragma unroll
    for (int b = 0; b < powers; ++b, power *= g.place(y, g.ny, g.hy))
#pragma unroll
      for (int a = 0; a + b < powers; ++a) sums[b * powers + a] += row[a] * power;
  }
#pragma unroll
  for (int k = 0; k < powers * powers; ++k) {
    if (k % powers + k / powers >= powers) continue;
    part[thread] = sums[k];
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
      if (thread < half) part[thread] += part[thread + half];
      __syncthreads();
    }
    if (thread == 0) planes[std::int64_t{blockIdx.x} * powers * powers + k] = part[0];
    __syncthreads();
  }
}

/// One thread: the mean over all cells from the planes' sums.
struct Mean {
  const double* planes;
  int count;
  double cells;
  double* mean;
  __device__ void operator()(std::int64_t) const {
    double sum = 0;
    for (int z = 0; z < count; ++z) sum += planes[z];
    *mean = sum / cells;
  }
};

/// One block of 64 threads: the multipole expansion of the potential, −factor/4π ∫ρ/|r − x|, from the planes' moments.
template <class Real>
__global__ void expand_moments(Level<Real> g, const double* planes, double factor, physics::Multipole* far) {
  __shared__ double moments[physics::moment_count], central[physics::moment_count];
  int a = 0, b = 0, c = 0;
  for (int n = 0; n < moment_powers; ++n)
    physics::each_exponent(n, [&](int i, int j, int k) {
      if (physics::moment_index(i, j, k) == static_cast<int>(threadIdx.x)) a = i, b = j, c = k;
    });
  const bool mine = threadIdx.x < physics::moment_count;
  if (mine) {
    double sum = 0;
    for (int z = 0; z < g.nz; ++z) {
      double term = planes[z * moment_powers * moment_powers + b * moment_powers + a];
      for (int k = 0; k < c; ++k) term *= g.place(z, g.nz, g.hz);
      sum += term;
    }
    moments[threadIdx.x] = sum;
  }
  __syncthreads();
  const Vec3<double> centre = physics::Multipole::centre_of(moments);
  const double strength = -factor * g.hx * g.hy * g.hz / (4 * std::numbers::pi);
  if (mine) central[threadIdx.x] = strength * physics::central_moment(moments, centre, a, b, c);
  __syncthreads();
  if (mine) far->coefficient[threadIdx.x] = physics::multipole_coefficient(central, a, b, c);
  if (threadIdx.x == 0) far->centre = centre;
}

/// to = factor (from − mean); no mean: null.
template <class Real>
struct Scale {
  double factor;
  const double* mean;
  const Real* from;
  Real* to;
  __device__ void operator()(std::int64_t i) const {
    to[i] = static_cast<Real>(factor * (static_cast<double>(from[i]) - (mean ? *mean : 0.0)));
  }
};

/// For the i-th entry of the list of all cells of the six faces: what the potential on the walls adds to the source. A
/// cell at several walls is done by its first entry.
template <class Real>
struct AddWalls {
  Level<Real> g;
  const physics::Multipole* far;
  Real* source;

  std::int64_t count() const {
    return 2 * (std::int64_t{g.ny} * g.nz + std::int64_t{g.nx} * g.nz + std::int64_t{g.nx} * g.ny);
  }
  __device__ void operator()(std::int64_t entry) const {
    int i = static_cast<int>(entry), axis = 0;
    for (const int faces : {2 * g.ny * g.nz, 2 * g.nx * g.nz}) {
      if (i < faces) break;
      i -= faces;
      ++axis;
    }
    const int width = axis == 0 ? g.ny : g.nx, height = axis == 2 ? g.ny : g.nz;
    const bool upper = i >= width * height;
    if (upper) i -= width * height;
    const int u = i % width, v = i / width;
    const int x = axis == 0 ? (upper ? g.nx - 1 : 0) : u;
    const int y = axis == 1 ? (upper ? g.ny - 1 : 0) : axis == 0 ? u : v;
    const int z = axis == 2 ? (upper ? g.nz - 1 : 0) : v;
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
    source[g.index(x, y, z)] += static_cast<Real>(sum);
  }
};

/// The mean of a level's values over cell i of the next level.
template <class Real>
struct Average {
  Level<Real> fine, coarse;
  const Real* from;
  Real* to;
  __device__ void operator()(std::int64_t i) const {
    const int x = static_cast<int>(i % coarse.nx) * fine.fx;
    const int y = static_cast<int>(i / coarse.nx % coarse.ny) * fine.fy;
    const int z = static_cast<int>(i / coarse.nx / coarse.ny) * fine.fz;
    Real sum = 0;
    for (int dz = 0; dz < fine.fz; ++dz)
      for (int dy = 0; dy < fine.fy; ++dy)
        for (int dx = 0; dx < fine.fx; ++dx) sum += from[fine.index(x + dx, y + dy, z + dz)];
    to[i] = sum / static_cast<Real>(fine.fx * fine.fy * fine.fz);
  }
};

/// Linear interpolation to the cells of a level within cell i of the next: onto what is there or in its place.
template <class Real>
struct Interpolate {
  Level<Real> fine;
  CoarseValues<Real> coarse;
  bool onto;
  Real* to;

  /// Towards the lower or the upper neighbour.
  __device__ static Real between(Real near, Real next) { return Real(0.75) * near + Real(0.25) * next; }
  /// The two values within the middle one of three cells; the first only where the axis is not halved.
  __device__ static void split(int factor, Real below, Real middle, Real above, Real& first, Real& second) {
    first = factor == 2 ? between(middle, below) : middle;
    second = between(middle, above);
  }

  __device__ void operator()(std::int64_t i) const {
    const Level<Real>& c = coarse.level;
    const int x = static_cast<int>(i % c.nx), y = static_cast<int>(i / c.nx % c.ny);
    const int z = static_cast<int>(i / c.nx / c.ny);
    Real plane[3][2][2];  // interpolated along x and y
#pragma unroll
    for (int dz = -1; dz <= 1; ++dz) {
      if (fine.fz == 1 && dz != 0) continue;
      Real row[3][2];
#pragma unroll
      for (int dy = -1; dy <= 1; ++dy) {
        if (fine.fy == 1 && dy != 0) continue;
        const Real middle = coarse(x, y + dy, z + dz);
        const Real below = fine.fx == 2 ? coarse(x - 1, y + dy, z + dz) : middle;
        const Real above = fine.fx == 2 ? coarse(x + 1, y + dy, z + dz) : middle;
        split(fine.fx, below, middle, above, row[dy + 1][0], row[dy + 1][1]);
      }
#pragma unroll
      for (int dx = 0; dx < 2; ++dx)
        split(fine.fy, row[0][dx], row[1][dx], row[2][dx], plane[dz + 1][0][dx], plane[dz + 1][1][dx]);
    }
#pragma unroll
    for (int dy = 0; dy < 2; ++dy)
#pragma unroll
      for (int dx = 0; dx < 2; ++dx) {
        Real value[2];
        split(fine.fz, plane[0][dy][dx], plane[1][dy][dx], plane[2][dy][dx], value[0], value[1]);
#pragma unroll
        for (int dz = 0; dz < 2; ++dz)
          if (dx < fine.fx && dy < fine.fy && dz < fine.fz) {
            Real& cell = to[fine.index(fine.fx * x + dx, fine.fy * y + dy, fine.fz * z + dz)];
            cell = (onto ? cell : Real(0)) + value[dz];
          }
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
  __device__ void operator()(std::int64_t i) const {
    const int x = static_cast<int>(i % g.nx), y = static_cast<int>(i / g.nx % g.ny);
    const int z = static_cast<int>(i / g.nx / g.ny);
    const int n = axis == 0 ? g.nx : axis == 1 ? g.ny : g.nz;
    const std::int64_t stride = axis == 0 ? 1 : axis == 1 ? g.nx : std::int64_t{g.nx} * g.ny;
    const int k = axis == 0 ? x : axis == 1 ? y : z;
    const Real* const line = from + (i - k * stride);
    Real sum = 0;
    for (int j = 0; j < n; ++j)
      sum += (axis == 0 ? transposed[std::int64_t{j} * n + k] : matrix[std::int64_t{k} * n + j]) * line[j * stride];
    to[i] = eigen_x ? sum * inverse_eigenvalue(eigen_x[x], eigen_y[y], eigen_z[z]) : sum;
  }
};

/// One block adds up three sums per entry, in a fixed order.
static __global__ void __launch_bounds__(256) add_squares(const double* entries, int count, double* sums) {
  __shared__ double part[3][256];
  const int thread = static_cast<int>(threadIdx.x);
  double mine[3] = {0, 0, 0};
  for (int i = thread; i < count; i += 256)
    for (int k = 0; k < 3; ++k) mine[k] += entries[3 * i + k];
  for (int k = 0; k < 3; ++k) part[k][thread] = mine[k];
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (thread < half)
      for (int k = 0; k < 3; ++k) part[k][thread] += part[k][thread + half];
    __syncthreads();
  }
  if (thread < 3) sums[thread] = part[thread][0];
}

}  // namespace pergola::multigrid

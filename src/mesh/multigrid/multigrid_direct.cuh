#pragma once
// CUDA only: the direct solution of a small coarsest level by one block.
#include "device/launch.cuh"
#include "mesh/multigrid/multigrid_levels.hpp"

namespace pergola::multigrid {

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

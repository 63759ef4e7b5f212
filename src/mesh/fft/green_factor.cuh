#pragma once
// CUDA only: what a mode is multiplied by.
#include <cstdint>

#include "physics/green.hpp"
#include "physics/split.hpp"

namespace pergola::cuda {

/// A quotient to two units in the last place, without the slow path of the exact one.
struct FastQuotient {
  __device__ float operator()(float a, float b) const { return __fdividef(a, b); }
  __device__ double operator()(double a, double b) const { return a / b; }
};

template <class Real>
struct AxisTable {
  const Real *eigenvalue, *window, *wave_number;  // of all modes of the axis
};

/// Green factors of a periodic box from tables per axis; column(kx, ky)(kz) gives one.
template <class Real>
struct PeriodicFactor {
  static constexpr bool padded = false, turns = false;
  AxisTable<Real> x, y, z;
  Real scale;
  physics::SoftenedSplit<Real> softened{};

  struct Column {
    const Real *eigenvalues, *windows;  // along z
    Real eigenvalue, window;
    physics::SoftenedSplit<Real> softened;
    __device__ Real operator()(int kz) const {
      const Real whole = eigenvalue + __ldg(eigenvalues + kz);
      Real filter = window * __ldg(windows + kz);
      if (softened.q > 0) filter *= softened.factor(-whole);
      return physics::green_factor(whole, filter, FastQuotient());
    }
  };
  __device__ Column column(int kx, int ky) const {
    return {z.eigenvalue, z.window, x.eigenvalue[kx] + y.eigenvalue[ky], scale * x.window[kx] * y.window[ky], softened};
  }
};

/// Those of an isolated box from the transform of the open-space Green function, [kz][ky][kx] for modes 0 … n of each
/// axis of length 2 n, along y for `rows` of them from first_row on.
template <class Real>
struct OpenSpaceFactor {
  static constexpr bool padded = true, turns = false;
  const Real* green;
  int nx, ny, nz;  // cells
  Real scale;
  int first_row, rows;

  struct Column {
    const Real* first;
    std::int64_t plane;
    int nz;
    Real scale;
    __device__ Real operator()(int kz) const { return scale * __ldg(first + min(kz, 2 * nz - kz) * plane); }
  };
  __device__ Column column(int kx, int ky) const {
    const std::int64_t row = nx + 1;
    return {green + (min(ky, 2 * ny - ky) - first_row) * row + kx, rows * row, nz, scale};
  }
};

/// Of −∂/∂z for lines along z in a periodic box, there and back: −i times this.
template <class Real>
struct SlopeFactor {
  static constexpr bool padded = false, turns = true;
  const Real* wave_number;
  Real scale;  // 1 / length of a line

  struct Column {
    const Real* wave_number;
    Real scale;
    __device__ Real operator()(int kz) const { return scale * __ldg(wave_number + kz); }
  };
  __device__ Column column(int, int) const { return {wave_number, scale}; }
};

}  // namespace pergola::cuda

#pragma once
// CUDA only: what a mode is multiplied by.
#include <cstdint>

#include "physics/green.hpp"

namespace pergola::cuda {

template <class Real>
struct AxisTable {
  const Real *eigenvalue, *window, *wave_number;  // of all modes of the axis
};

/// Green factors; column(kx, ky)(kz) gives one. In a periodic box from tables per axis; in an isolated one from the
/// transform of the open-space Green function, [kz][ky][kx] for modes 0 … n of each axis of length 2 n.
template <class Real>
struct GreenFactor {
  AxisTable<Real> axis[3];
  const Real* open_space = nullptr;  // null: periodic
  int cells[3] = {};

  struct Column {
    AxisTable<Real> z;
    Real eigenvalue, window;
    const Real* first;
    std::int64_t plane;
    int nz;
    __device__ Real operator()(int kz) const {
      if (first) return __ldg(first + min(kz, 2 * nz - kz) * plane);
      return physics::green_factor(eigenvalue + __ldg(z.eigenvalue + kz), window * __ldg(z.window + kz));
    }
  };
  __device__ Column column(int kx, int ky) const {
    const auto& [x, y, z] = axis;
    if (!open_space) return {z, x.eigenvalue[kx] + y.eigenvalue[ky], x.window[kx] * y.window[ky], nullptr, 0, 0};
    const std::int64_t row = cells[0] + 1;
    return {z, 0, 0, open_space + min(ky, 2 * cells[1] - ky) * row + kx, (cells[1] + 1) * row, cells[2]};
  }
};

}  // namespace pergola::cuda

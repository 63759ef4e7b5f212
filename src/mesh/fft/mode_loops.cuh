#pragma once
// CUDA only: loops over the modes of a field, and what is done with each.
//
// A body has column(kx, ky), which reads what all modes of a column share, and the column's call with kz and the index.
// Lanes follow kx, the fastest index. AxisTables hold eigenvalues, windows and wave numbers of each axis.
#include <algorithm>
#include <vector>

#include "device/buffer.hpp"
#include "mesh/fft/cufft_plan.cuh"
#include "mesh/fft/green_factor.cuh"
#include "mesh/fft/poisson_fft.hpp"

namespace pergola::cuda {

/// The modes of a field: [kz][ky][kx].
struct ModeShape {
  int nx, ny, nz;
};

/// A thread takes one (kx, ky) and several kz.
template <class Body>
__global__ void each_mode_kernel(ModeShape modes, int planes_per_block, Body body) {
  const unsigned in_plane = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned plane = static_cast<unsigned>(modes.nx) * static_cast<unsigned>(modes.ny);
  if (in_plane >= plane) return;
  const auto at = body.column(static_cast<int>(in_plane % static_cast<unsigned>(modes.nx)),
                              static_cast<int>(in_plane / static_cast<unsigned>(modes.nx)));
  const int begin = static_cast<int>(blockIdx.y) * planes_per_block;
  const int end = min(begin + planes_per_block, modes.nz);
#pragma unroll 4
  for (int kz = begin; kz < end; ++kz) at(kz, std::int64_t{kz} * plane + in_plane);
}

/// body.column(kx, ky)(kz, index) for all modes of a field.
template <class Body>
void each_mode(const char* name, ModeShape modes, Stream stream, const Body& body) {
  constexpr int threads = 256, planes_per_block = 8;
  const dim3 grid(static_cast<unsigned>((modes.nx * modes.ny + threads - 1) / threads),
                  static_cast<unsigned>((modes.nz + planes_per_block - 1) / planes_per_block));
  each_mode_kernel<<<grid, threads, 0, handle(stream)>>>(modes, planes_per_block, body);
  check(cudaGetLastError(), name);
}

/// Multiplies modes by Green factors and keeps a copy where one is wanted.
template <class Real, class Factor>
struct MultiplyModes {
  typename Cufft<Real>::Complex *field, *kept;
  Factor factor;

  struct Column {
    MultiplyModes all;
    typename Factor::Column factor;
    __device__ void operator()(int kz, std::int64_t index) const {
      const Real f = factor(kz);
      auto value = all.field[index];
      value.x *= f;
      value.y *= f;
      all.field[index] = value;
      if (all.kept) all.kept[index] = value;
    }
  };
  __device__ Column column(int kx, int ky) const { return {*this, factor.column(kx, ky)}; }
};

/// −∂/∂axis: −i k; axis 3: the modes themselves.
template <class Real>
struct DifferentiateModes {
  const typename Cufft<Real>::Complex* kept;
  typename Cufft<Real>::Complex* force;
  const Real* wave_number;
  int axis;

  struct Column {
    DifferentiateModes all;
    int in_plane;  // kx or ky
    __device__ void operator()(int kz, std::int64_t index) const {
      const auto value = all.kept[index];
      if (all.axis == 3) {
        all.force[index] = value;
        return;
      }
      const Real k = all.wave_number[all.axis == 2 ? kz : in_plane];
      all.force[index] = {k * value.y, -k * value.x};
    }
  };
  __device__ Column column(int kx, int ky) const { return {*this, axis == 0 ? kx : ky}; }
};

/// The tables of the three axes in memory of a device.
template <class Real>
class AxisTables {
 public:
  AxisTables() = default;
  AxisTables(const Device& device, const FftAxes& axes) {
    std::vector<Real> values;
    for (int axis = 0; axis < 3; ++axis) {
      const FftAxis& a = axes.axis[axis];
      start_[axis] = static_cast<std::int64_t>(values.size()), length_[axis] = a.length;
      const auto even = [&](const std::vector<double>& half) {
        for (int m = 0; m < a.length; ++m) values.push_back(static_cast<Real>(half[std::min(m, a.length - m)]));
      };
      even(a.eigenvalue);
      even(a.window);
      for (const double k : a.wave_number) values.push_back(static_cast<Real>(k));
    }
    values_ = Buffer<Real>(device, values);
  }
  AxisTable<Real> operator[](int axis) const {
    const Real* first = values_.data() + start_[axis];
    return {first, first + length_[axis], first + 2 * length_[axis]};
  }
  /// The Green factors of a periodic box.
  PeriodicFactor<Real> green(const FftAxes& axes, double scale) const {
    const AxisTables& all = *this;
    return {all[0],
            all[1],
            all[2],
            static_cast<Real>(scale / axes.modes()),
            {static_cast<Real>(axes.softened.per_square), static_cast<Real>(axes.softened.q)}};
  }
  std::size_t bytes() const { return values_.bytes(); }

 private:
  std::int64_t start_[3] = {};
  int length_[3] = {};
  Buffer<Real> values_;
};

}  // namespace pergola::cuda

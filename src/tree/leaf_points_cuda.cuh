#pragma once
// CUDA only: the particles of leaves, from where they are given.
#include <type_traits>

#include "device/launch.cuh"
#include "tree/moments_cuda.cuh"

namespace pergola::tree {

/// Whether particles are brought into the order of the tree before leaves are made of them: a thread for each waits for
/// memory once and with many beside it, the warp of a leaf would twice. They lie, as they are given, where their places
/// about the leaf's centre will.
template <class T, class Real>
inline constexpr bool is_fetched = std::is_same_v<T, float>&& std::is_same_v<Real, float>;

inline __global__ void __launch_bounds__(256)
    fetch_kernel(const std::uint32_t* place, const __grid_constant__ Points<float> points, PlacedMass<float>* to) {
  const std::int64_t k = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k >= points.count) return;
  const std::uint32_t i = place[k];
  to[k] = {points.x[i], points.y[i], points.z[i], points.mass[i]};
}

/// Particle k in the order of the tree, in its units.
template <class T, class Real>
__device__ Vec3<double> find_point(const UpwardPassCuda<T>& pass, const Points<Real>& points, std::uint32_t k,
                                   double& mass) {
  Points<Real> from = points;
  PlacedMass<T> fetched;
  std::uint32_t i = 0;
  if constexpr (is_fetched<T, Real>) {
    fetched = pass.particle[k];
    from.x = &fetched.x, from.y = &fetched.y, from.z = &fetched.z, from.mass = &fetched.mass;
  } else {
    i = pass.place[k];
  }
  mass = static_cast<double>(from.mass[i]) / pass.frame.mass;
  return unit_position(from, pass.frame, i);
}

template <class T, class Real>
void fetch_points(const UpwardPassCuda<T>& pass, const Points<Real>& points, Stream stream) {
  if constexpr (is_fetched<T, Real>) {
    constexpr std::int64_t threads = 256;
    const auto blocks = static_cast<unsigned>((points.count + threads - 1) / threads);
    if (blocks > 0) fetch_kernel<<<blocks, threads, 0, cuda::handle(stream)>>>(pass.place, points, pass.particle);
  }
}

}  // namespace pergola::tree

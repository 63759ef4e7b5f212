#pragma once
// CUDA only. The route "host": cells found on the GPU, counted on the CPU (the mixed histogram of Aubert, Amini &
// David, section III B).
#include <atomic>
#include <vector>

#include "device/parallel.hpp"
#include "mesh/coupling/deposit_cuda.cuh"

namespace pergola::cuda {

/// What the CPU needs to know of a particle: its place in cells along each axis (not a number: left out) and its mass.
template <class Real>
struct alignas(16) PlacedMass {
  Real place[3];
  Real mass;
};

template <int dimensions, class Real>
struct FindPlaces {
  SlabFrame<Real> frame;
  MeshParticles<Real> particles;
  std::int64_t first;
  PlacedMass<Real>* to;

  __device__ void operator()(std::int64_t k) const {
    const std::int64_t i = first + k;
    const Real position[3] = {particles.x[i], particles.y[i], dimensions == 3 ? particles.z[i] : Real(0)};
    PlacedMass<Real> found{{0, 0, 0}, particles.mass[i]};
    if (!find_place<dimensions>(frame, position, found.place)) found.place[0] = Real(NAN);
    to[k] = found;
  }
};

/// Adds the clouds of `count` particles to sums in the host's memory; returns how many were left out. Whole numbers are
/// added, so that the order in which the threads do it does not matter.
template <int dimensions, int order, class Real>
std::int64_t count_on_host(int threads, const SlabFrame<Real>& frame, const PlacedMass<Real>* found, std::int64_t count,
                           double per_quantum, std::int64_t* sums) {
  std::atomic<std::int64_t> outside{0};
  parallel_chunks(threads, count, 16384, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t left_out = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const auto& one = found[k];
      if (std::isnan(one.place[0])) {
        ++left_out;
        continue;
      }
      physics::AxisWeights<order, Real> axis[3];
      for (int a = 0; a < dimensions; ++a) axis[a] = physics::axis_weights<order, Real>(one.place[a]);
      if (dimensions == 3) axis[2].first = frame.layer_of(axis[2].first);
      share_out<dimensions, order>(axis[0], axis[1], axis[2], physics::quanta(one.mass, per_quantum),
                                   [&](int kx, int ky, int kz, std::int64_t share) {
                                     const std::int64_t ix = frame.wrapped(0, axis[0].first + kx),
                                                        iy = frame.wrapped(1, axis[1].first + ky);
                                     const std::int64_t iz = dimensions == 3 ? frame.wrapped(2, axis[2].first + kz) : 0;
                                     std::int64_t& sum = sums[(iz * frame.cells[1] + iy) * frame.cells[0] + ix];
                                     if (threads > 1)
                                       std::atomic_ref(sum).fetch_add(share, std::memory_order_relaxed);
                                     else
                                       sum += share;
                                   });
    }
    outside.fetch_add(left_out, std::memory_order_relaxed);
  });
  return outside;
}

}  // namespace pergola::cuda

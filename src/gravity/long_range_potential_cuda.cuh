#pragma once
// CUDA only.
#include "device/launch.cuh"
#include "gravity/treepm.hpp"

namespace pergola {

/// From the mesh's potentials at targets to those of the long range. `mass`: of the sources.
template <class State>
void complete_potentials_cuda(const Device& device, const LongRangePotential& correction, const Targets& targets,
                              const State* mass, State* potential) {
  cuda::launch("treepm potential", targets.count, device.stream(),
               [correction, potential, targets, mass] __device__(std::int64_t k) {
                 const std::int64_t i = targets.index ? targets.index[k] : targets.first + k;
                 potential[k] =
                     static_cast<State>(correction.of(static_cast<double>(potential[k]), static_cast<double>(mass[i])));
               });
}

}  // namespace pergola

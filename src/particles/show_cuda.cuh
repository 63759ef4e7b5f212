#pragma once
// CUDA only: the loop over shown particles.
#include "device/launch.cuh"
#include "particles/shown_state.hpp"

namespace pergola {

template <class Real, class Out, class Rule>
void show_cuda(const Device& device, std::int64_t n, const ShowParticle<Real, Out, Rule>& body) {
  device.make_current();
  cuda::launch("show particles", n, device.stream(), body);
}

}  // namespace pergola

#include "gravity/direct_kernel.cuh"
#include "gravity/pair_laws.hpp"

namespace pergola::cuda {

template <>
const ForceLoops<Precision::mixed>* spline_loops() {
  return force_loops<Precision::mixed, physics::SplineLaw>();
}

}  // namespace pergola::cuda

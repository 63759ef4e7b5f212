#include "gravity/direct_kernel.cuh"
#include "gravity/pair_laws.hpp"

namespace pergola::cuda {

template <>
const ForceLoops<Precision::full>* spline_loops() {
  return force_loops<Precision::full, physics::SplineLaw>();
}

}  // namespace pergola::cuda

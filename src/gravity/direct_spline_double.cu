#include "gravity/direct_kernel.cuh"
#include "gravity/pair_laws.hpp"

namespace pergola::cuda {

template <>
const ForceLoops<Precision::double_>* spline_loops() {
  return force_loops<Precision::double_, physics::SplineLaw>();
}

}  // namespace pergola::cuda

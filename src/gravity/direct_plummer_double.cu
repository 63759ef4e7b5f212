#include "gravity/direct_kernel.cuh"
#include "gravity/pair_laws.hpp"

namespace pergola::cuda {

template <>
const ForceLoops<Precision::double_>* plummer_loops() {
  return force_loops<Precision::double_, physics::PlummerLaw>();
}

}  // namespace pergola::cuda

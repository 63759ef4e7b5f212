#include "gravity/direct_kernel.cuh"
#include "gravity/pair_laws.hpp"

namespace pergola::cuda {

template <>
const ForceLoops<Precision::single>* plummer_loops() {
  return force_loops<Precision::single, physics::PlummerLaw>();
}

}  // namespace pergola::cuda

#include "gravity/direct_kernel.cuh"
#include "gravity/pair_laws.hpp"

namespace pergola::cuda {

template <>
const ForceLoops<Precision::full>* plummer_loops() {
  return force_loops<Precision::full, physics::PlummerLaw>();
}

}  // namespace pergola::cuda

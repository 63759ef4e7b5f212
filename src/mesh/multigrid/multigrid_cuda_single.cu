#include "mesh/multigrid/multigrid_cuda.cuh"

namespace pergola::multigrid {

template <>
std::unique_ptr<Loops<float>> make_loops_cuda(const Device& device, const std::vector<Level<float>>& levels) {
  return std::make_unique<LoopsCuda<float>>(device, levels);
}

}  // namespace pergola::multigrid

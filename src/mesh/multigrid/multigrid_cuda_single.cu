#include "mesh/multigrid/multigrid_cuda.cuh"

namespace pergola::multigrid {

template <>
std::unique_ptr<Loops<float>> make_loops_cuda(const Device& device, const std::vector<Level<float>>& levels,
                                              std::shared_ptr<Communicator> ranks) {
  return std::make_unique<LoopsCuda<float>>(device, levels, ranks);
}

}  // namespace pergola::multigrid

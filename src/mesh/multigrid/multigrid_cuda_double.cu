#include "mesh/multigrid/multigrid_cuda.cuh"

namespace pergola::multigrid {

template <>
std::unique_ptr<Loops<double>> make_loops_cuda(const Device& device, const std::vector<Level<double>>& levels) {
  return std::make_unique<LoopsCuda<double>>(device, levels);
}

}  // namespace pergola::multigrid

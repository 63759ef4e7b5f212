#include "tree/far_kernel.cuh"
#include "tree/leaf_kernel.cuh"

namespace pergola::tree {

template void sum_far(const SumJob<float>&, int, Stream);
template void sum_leaves(const SumJob<float>&, int, Stream);

}  // namespace pergola::tree

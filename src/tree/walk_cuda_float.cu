#include "tree/far_kernel.cuh"
#include "tree/field_kernel.cuh"
#include "tree/pair_kernel.cuh"

namespace pergola::tree {

template void sum_far(const SumJob<float>&, int, Stream);
template void inherit(const SumJob<float>&, int, Stream);
template void sum_fields(const SumJob<float>&, int, Stream);
template void sum_pairs(const SumJob<float>&, Stream);

}  // namespace pergola::tree

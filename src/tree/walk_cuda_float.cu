#include "tree/walk_kernels.cuh"

namespace pergola::tree {

template void sum_far(const SumJob<float, OpenSpace>&, int, Stream);
template void inherit(const SumJob<float, OpenSpace>&, int, Stream);
template void sum_fields(const SumJob<float, OpenSpace>&, int, Stream);
template void sum_pairs(const SumJob<float, OpenSpace>&, Stream);

}  // namespace pergola::tree

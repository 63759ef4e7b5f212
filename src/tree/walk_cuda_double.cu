#include "tree/walk_kernels.cuh"

namespace pergola::tree {

template void sum_far(const SumJob<double, OpenSpace>&, int, Stream);
template void inherit(const SumJob<double, OpenSpace>&, int, Stream);
template void sum_fields(const SumJob<double, OpenSpace>&, int, Stream);
template void sum_pairs(const SumJob<double, OpenSpace>&, Stream);

}  // namespace pergola::tree

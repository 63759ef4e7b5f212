#include "tree/walk_kernels.cuh"

namespace pergola::tree {

template void sum_far(const SumJob<double, ShortRangeBox<double>>&, int, Stream);
template void inherit(const SumJob<double, ShortRangeBox<double>>&, int, Stream);
template void sum_fields(const SumJob<double, ShortRangeBox<double>>&, int, Stream);
template void sum_pairs(const SumJob<double, ShortRangeBox<double>>&, Stream);

}  // namespace pergola::tree

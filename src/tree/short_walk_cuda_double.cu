#include "tree/far_kernel.cuh"
#include "tree/field_kernel.cuh"
#include "tree/pair_kernel.cuh"

namespace pergola::tree {

template void sum_far(const SumJob<double, ShortRangeBox<double>>&, int, Stream);
template void inherit(const SumJob<double, ShortRangeBox<double>>&, int, Stream);
template void sum_fields(const SumJob<double, ShortRangeBox<double>>&, int, Stream);
template void sum_pairs(const SumJob<double, ShortRangeBox<double>>&, Stream);

}  // namespace pergola::tree

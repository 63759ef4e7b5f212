#include "tree/walk_kernel.cuh"

namespace pergola::tree {

template int walk_blocks<double>(int);
template void walk_level(const WalkJob<double>&, int, std::uint32_t, std::uint32_t, int, Stream);

}  // namespace pergola::tree

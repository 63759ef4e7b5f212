#include "tree/walk_kernel.cuh"

namespace pergola::tree {

template int walk_blocks<float>(int);
template void walk_level(const WalkJob<float>&, int, std::uint32_t, std::uint32_t, int, Stream);

}  // namespace pergola::tree

#pragma once
// CUDA only: how the lanes of a warp serve up to 32 particles.
#include <cstdint>

namespace pergola::tree {

/// Lanes serve targets. Where there are few, groups of lanes share the sources: each takes a part of them.
struct LeafLanes {
  int width = 1, part, parts;
  int own;  // the lane's target
  bool is_target;

  __device__ LeafLanes(std::uint32_t count, int lane) {
    while (width < static_cast<int>(count) && width < 32) width *= 2;
    part = lane / width;
    parts = 32 / width;
    own = lane % width;
    is_target = own < static_cast<int>(count);
  }
};

/// How many of `count` targets, up to 64, are served first where that keeps more lanes busy: a power of two, and what
/// is left is at most half of it. 0: all are served together.
__device__ __forceinline__ std::uint32_t served_first(std::uint32_t count) {
  std::uint32_t first = 1;
  while (2 * first < count) first *= 2;
  return count > first && 2 * count <= 3 * first ? first : 0;
}

}  // namespace pergola::tree

#pragma once
// CUDA only: how the lanes of a warp serve up to 32 particles.
#include <cstdint>

namespace pergola::tree {

/// Lanes serve targets. Where there are few, groups of lanes share the sources: each takes a part of them.
struct LeafLanes {
  int width, part, parts;
  int own;  // the lane's target
  bool is_target;

  __device__ LeafLanes(std::uint32_t count, int lane) {
    width = count <= 1 ? 1 : count > 16 ? 32 : 1 << (32 - __clz(static_cast<int>(count) - 1));
    part = lane / width;
    parts = 32 / width;
    own = lane % width;
    is_target = own < static_cast<int>(count);
  }
};

/// How many of `count` targets, up to 64, are served first where that keeps more lanes busy: a power of two, and what
/// is left is at most half of it. 0: all are served together.
__device__ __forceinline__ std::uint32_t served_first(std::uint32_t count) {
  const std::uint32_t first = count <= 2 ? 1 : 1u << (31 - __clz(static_cast<int>(count) - 1));
  return count > first && 2 * count <= 3 * first ? first : 0;
}

}  // namespace pergola::tree

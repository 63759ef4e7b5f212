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

}  // namespace pergola::tree

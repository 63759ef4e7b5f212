#pragma once
// CUDA only: the roots of a forest (tree/forest.hpp) on the device.
#include <cstdint>

#include "tree/forest.hpp"

namespace pergola::tree {

inline constexpr std::uint32_t no_root = 0xffffffffu;

struct RootsView {
  int level = 0;                         // 0: one root, and all else is null
  const std::uint32_t* place = nullptr;  // of each root among all cells of its level
  const std::uint32_t* at = nullptr;     // by place: the root there, or no_root
  const RootsAlong* along = nullptr;     // by index, of the three axes
};

/// The roots around one, which is one of them, in an order that depends on where they are only.
class RootsAround {
 public:
  /// Of no root.
  RootsAround() = default;
  __device__ RootsAround(const RootsView& roots, std::uint32_t root) : at_(roots.at) {
    count_ = 1;
    if (roots.level == 0) return;
    for (int axis = 0; axis < 3; ++axis) {
      along_[axis] = roots.along + (axis << roots.level) + root_index(roots.place[root], axis);
      count_ *= along_[axis]->count;
    }
  }
  /// With those that hold no particles.
  __device__ std::uint32_t count() const { return count_; }
  /// Number k; false where it holds none, or k is too large.
  __device__ bool take(std::uint32_t k, std::uint32_t& root) const {
    if (k >= count_) return false;
    if (!at_) {
      root = 0;
      return true;
    }
    const std::uint32_t z = k % along_[2]->count, rest = k / along_[2]->count;
    const std::uint32_t y = rest % along_[1]->count, x = rest / along_[1]->count;
    const std::uint32_t there = at_[interleave(along_[0]->index[x], along_[1]->index[y], along_[2]->index[z])];
    if (there != no_root) root = there;
    return there != no_root;
  }

 private:
  const std::uint32_t* at_ = nullptr;
  const RootsAlong* along_[3] = {};
  std::uint32_t count_ = 0;
};

}  // namespace pergola::tree

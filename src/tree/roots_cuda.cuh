#pragma once
// CUDA only: the roots of a forest (tree/forest.hpp) on the device.
// A root meets the roots around it only: those within the cut-off radius, along each axis by a table (RootsAlong).
#include <cstdint>

#include "tree/forest.hpp"

namespace pergola::tree {

inline constexpr std::uint32_t no_root = 0xffffffffu;

/// Which cells of the forest's level are roots; arrays lie on the device.
struct RootsView {
  int level = 0;                         // 0: one root, and all else is null
  const std::uint32_t* place = nullptr;  // of each root among all cells of its level
  const std::uint32_t* at = nullptr;     // by place: the root there, or no_root
  const RootsAlong* along = nullptr;     // by index, of the three axes
};

/// The places around one, which is one of them, in an order that depends on where they are only.
class PlacesAround {
 public:
  /// None.
  PlacesAround() = default;
  /// `along` is not asked for where the level is 0.
  __device__ PlacesAround(int level, const RootsAlong* along, std::uint32_t place) : count_(1) {
    if (level == 0) return;
    for (int axis = 0; axis < 3; ++axis) {
      along_[axis] = along + (axis << level) + root_index(place, axis);
      count_ *= along_[axis]->count;
    }
  }
  __device__ std::uint32_t count() const { return count_; }
  /// Number k of them.
  __device__ std::uint32_t place(std::uint32_t k) const {
    if (!along_[0]) return 0;
    const std::uint32_t z = k % along_[2]->count, rest = k / along_[2]->count;
    const std::uint32_t y = rest % along_[1]->count, x = rest / along_[1]->count;
    return static_cast<std::uint32_t>(interleave(along_[0]->index[x], along_[1]->index[y], along_[2]->index[z]));
  }

 private:
  const RootsAlong* along_[3] = {};
  std::uint32_t count_ = 0;
};

/// The roots there.
class RootsAround {
 public:
  RootsAround() = default;
  __device__ RootsAround(const RootsView& roots, std::uint32_t root)
      : places_(roots.level, roots.along, roots.level > 0 ? roots.place[root] : 0), at_(roots.at) {}
  /// With places that hold no particles.
  __device__ std::uint32_t count() const { return places_.count(); }
  /// Number k; false where it holds none, or k is too large.
  __device__ bool take(std::uint32_t k, std::uint32_t& root) const {
    if (k >= count()) return false;
    const std::uint32_t there = at_ ? at_[places_.place(k)] : 0;
    if (there != no_root) root = there;
    return there != no_root;
  }

 private:
  PlacesAround places_;
  const std::uint32_t* at_ = nullptr;
};

}  // namespace pergola::tree

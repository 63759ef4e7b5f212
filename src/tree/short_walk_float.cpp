#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "device/simd_targets.hpp"
#include "physics/multi_index.hpp"
#include "tree/walk.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tree/short_walk_float.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

namespace pergola::tree {
using WalkNumber = float;
using WalkSpace = ShortRangeBox<float>;
}  // namespace pergola::tree
#include "tree/walk_instance.inl"

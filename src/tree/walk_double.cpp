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
#define HWY_TARGET_INCLUDE "tree/walk_double.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

namespace pergola::tree {
using WalkNumber = double;
using WalkSpace = OpenSpace;
}  // namespace pergola::tree
#include "tree/walk_instance.inl"

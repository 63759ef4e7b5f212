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

HWY_BEFORE_NAMESPACE();
namespace pergola::tree::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "tree/walk.inl"

std::vector<WalkTask<float>> begin_short_walk_float(const TreeView<float>& tree, const ShortRangeBox<float>& box,
                                                    const Opening& opening, const ActiveSet& active,
                                                    std::uint32_t grain, const Sink& sink) {
  return begin_walk_any(tree, box, opening, active, grain, sink);
}
void short_walk_float(const TreeView<float>& tree, const ShortRangeBox<float>& box, const Opening& opening,
                      const ActiveSet& active, const WalkTask<float>& task, const Sink& sink) {
  walk_any(tree, box, opening, active, task, sink);
}

}  // namespace pergola::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::tree {

HWY_EXPORT(begin_short_walk_float);
HWY_EXPORT(short_walk_float);

template <>
std::vector<WalkTask<float>> begin_short_walk(const TreeView<float>& tree, const ShortRangeBox<float>& box,
                                              const Opening& opening, const ActiveSet& active, std::uint32_t grain,
                                              const Sink& sink) {
  return HWY_DYNAMIC_DISPATCH(begin_short_walk_float)(tree, box, opening, active, grain, sink);
}
template <>
void short_walk(const TreeView<float>& tree, const ShortRangeBox<float>& box, const Opening& opening,
                const ActiveSet& active, const WalkTask<float>& task, const Sink& sink) {
  HWY_DYNAMIC_DISPATCH(short_walk_float)(tree, box, opening, active, task, sink);
}

}  // namespace pergola::tree
#endif

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

HWY_BEFORE_NAMESPACE();
namespace pergola::tree::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "tree/walk.inl"

std::vector<WalkTask<double>> begin_walk_double(const TreeView<double>& tree, const Opening& opening,
                                                const ActiveSet& active, std::uint32_t grain, const Sink& sink) {
  return begin_walk_any(tree, OpenSpace(), opening, active, grain, sink);
}
void walk_double(const TreeView<double>& tree, const Opening& opening, const ActiveSet& active,
                 const WalkTask<double>& task, const Sink& sink) {
  walk_any(tree, OpenSpace(), opening, active, task, sink);
}

}  // namespace pergola::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::tree {

HWY_EXPORT(begin_walk_double);
HWY_EXPORT(walk_double);

template <>
std::vector<WalkTask<double>> begin_walk(const TreeView<double>& tree, const Opening& opening, const ActiveSet& active,
                                         std::uint32_t grain, const Sink& sink) {
  return HWY_DYNAMIC_DISPATCH(begin_walk_double)(tree, opening, active, grain, sink);
}
template <>
void walk(const TreeView<double>& tree, const Opening& opening, const ActiveSet& active, const WalkTask<double>& task,
          const Sink& sink) {
  HWY_DYNAMIC_DISPATCH(walk_double)(tree, opening, active, task, sink);
}

}  // namespace pergola::tree
#endif

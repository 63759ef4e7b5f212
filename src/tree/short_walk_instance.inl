// The walk in a periodic box, with the short-range law, on the CPU for one number type, WalkNumber. No include guard:
// included by tree/short_walk_float.cpp and tree/short_walk_double.cpp once per instruction set.

HWY_BEFORE_NAMESPACE();
namespace pergola::tree::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "tree/walk.inl"

std::vector<WalkTask<WalkNumber>> begin_short_walk_here(const TreeView<WalkNumber>& tree,
                                                        const ShortRangeBox<WalkNumber>& box, const Opening& opening,
                                                        const ActiveSet& active, std::uint32_t grain, const Sink& sink,
                                                        const Search& search) {
  return begin_walk_any(tree, box, opening, active, grain, sink, search);
}
void short_walk_here(const TreeView<WalkNumber>& tree, const ShortRangeBox<WalkNumber>& box, const Opening& opening,
                     const ActiveSet& active, const WalkTask<WalkNumber>& task, const Sink& sink,
                     const Search& search) {
  walk_any(tree, box, opening, active, task, sink, search);
}

}  // namespace pergola::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::tree {

HWY_EXPORT(begin_short_walk_here);
HWY_EXPORT(short_walk_here);

template <>
std::vector<WalkTask<WalkNumber>> begin_short_walk(const TreeView<WalkNumber>& tree,
                                                   const ShortRangeBox<WalkNumber>& box, const Opening& opening,
                                                   const ActiveSet& active, std::uint32_t grain, const Sink& sink,
                                                   const Search& search) {
  return HWY_DYNAMIC_DISPATCH(begin_short_walk_here)(tree, box, opening, active, grain, sink, search);
}
template <>
void short_walk(const TreeView<WalkNumber>& tree, const ShortRangeBox<WalkNumber>& box, const Opening& opening,
                const ActiveSet& active, const WalkTask<WalkNumber>& task, const Sink& sink, const Search& search) {
  HWY_DYNAMIC_DISPATCH(short_walk_here)(tree, box, opening, active, task, sink, search);
}

}  // namespace pergola::tree
#endif

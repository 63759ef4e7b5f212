// The walk on the CPU for one number type and one space, WalkNumber and WalkSpace. No include guard: included by
// tree/walk_float.cpp, walk_double.cpp, short_walk_float.cpp and short_walk_double.cpp once per instruction set.

HWY_BEFORE_NAMESPACE();
namespace pergola::tree::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "tree/walk.inl"

/// With names that differ from the dispatched ones, for Highway's export tables.
std::vector<WalkTask<WalkNumber>> begin_walk_here(const TreeView<WalkNumber>& tree, const WalkSpace& space,
                                                  const Opening& opening, const ActiveSet& active, std::uint32_t grain,
                                                  const Sink& sink, const Search& search) {
  return begin_walk_any(tree, space, opening, active, grain, sink, search);
}
void walk_here(const TreeView<WalkNumber>& tree, const WalkSpace& space, const Opening& opening,
               const ActiveSet& active, const WalkTask<WalkNumber>& task, const Sink& sink, const Search& search) {
  walk_any(tree, space, opening, active, task, sink, search);
}

}  // namespace pergola::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::tree {

HWY_EXPORT(begin_walk_here);
HWY_EXPORT(walk_here);

template <>
std::vector<WalkTask<WalkNumber>> begin_walk(const TreeView<WalkNumber>& tree, const WalkSpace& space,
                                             const Opening& opening, const ActiveSet& active, std::uint32_t grain,
                                             const Sink& sink, const Search& search) {
  return HWY_DYNAMIC_DISPATCH(begin_walk_here)(tree, space, opening, active, grain, sink, search);
}
template <>
void walk(const TreeView<WalkNumber>& tree, const WalkSpace& space, const Opening& opening, const ActiveSet& active,
          const WalkTask<WalkNumber>& task, const Sink& sink, const Search& search) {
  HWY_DYNAMIC_DISPATCH(walk_here)(tree, space, opening, active, task, sink, search);
}

}  // namespace pergola::tree
#endif

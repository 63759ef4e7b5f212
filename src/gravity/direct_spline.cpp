// The direct sum with the spline law on the CPU, and its entry.
#include <limits>
#include <type_traits>

#include "device/simd_targets.hpp"
#include "gravity/pair_laws.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gravity/direct_spline.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::direct::spline::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "gravity/direct_loops.inl"

using SummedLaw = SplineLaw;
#include "gravity/direct_instances.inl"

}  // namespace pergola::direct::spline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola {

namespace direct::spline {

#include "gravity/direct_dispatch.inl"

}  // namespace direct::spline

PairLawEntry spline_law() {
  PairLawEntry entry = describe_law<physics::SplineLaw>("spline", "Newton's law from 2.8 softening lengths on");
  entry.in_tree = true;
  entry.direct = direct::spline::loops();
  if constexpr (cuda_built)
    entry.cuda = {cuda::spline_loops<Precision::single>(), cuda::spline_loops<Precision::mixed>(),
                  cuda::spline_loops<Precision::double_>()};
  return entry;
}

}  // namespace pergola
#endif

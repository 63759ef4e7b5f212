// The direct sum with Plummer's law on the CPU, and its entry.
#include <limits>
#include <type_traits>

#include "device/simd_targets.hpp"
#include "gravity/pair_laws.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gravity/direct_plummer.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::direct::plummer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "gravity/direct_loops.inl"

using SummedLaw = PlummerLaw;
#include "gravity/direct_instances.inl"

}  // namespace pergola::direct::plummer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola {

namespace direct::plummer {

#include "gravity/direct_dispatch.inl"

}  // namespace direct::plummer

PairLawEntry plummer_law() {
  PairLawEntry entry = describe_law<physics::PlummerLaw>("plummer", "");
  entry.in_tree = true;
  entry.direct = direct::plummer::loops();
  if constexpr (cuda_built)
    entry.cuda = {cuda::plummer_loops<Precision::single>(), cuda::plummer_loops<Precision::mixed>(),
                  cuda::plummer_loops<Precision::double_>()};
  return entry;
}

}  // namespace pergola
#endif

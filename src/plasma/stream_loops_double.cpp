#include "device/simd_targets.hpp"
#include "plasma/stream_scalar.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plasma/stream_loops_double.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::plasma::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "plasma/stream_loops.inl"

StreamLoops<double> double_loops(const PlasmaOptions& options) { return loops_for<double>(options); }

}  // namespace pergola::plasma::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::plasma {

HWY_EXPORT(double_loops);

template <>
StreamLoops<double> choose_stream_loops(const PlasmaOptions& options) {
  return HWY_DYNAMIC_DISPATCH(double_loops)(options);
}

}  // namespace pergola::plasma
#endif

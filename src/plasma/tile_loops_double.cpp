// The loops of tile_loops.inl in double precision, compiled once per instruction set and chosen at run time.
#include "device/simd_targets.hpp"
#include "plasma/tile_loops.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plasma/tile_loops_double.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::plasma::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "plasma/tile_loops.inl"

TileLoops<double> double_loops(const PlasmaOptions& options) { return loops_for<double>(options); }

}  // namespace pergola::plasma::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::plasma {

HWY_EXPORT(double_loops);

template <>
TileLoops<double> choose_tile_loops(const PlasmaOptions& options) {
  return HWY_DYNAMIC_DISPATCH(double_loops)(options);
}

}  // namespace pergola::plasma
#endif

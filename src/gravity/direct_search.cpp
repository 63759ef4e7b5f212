// The nearest source of each block, roughly: by this the search for neighbours rules blocks out.
//
// Squares are computed in the pair's number type, a target per lane. They may be too large or too small by rounding:
// the caller looks closely, in double precision, at each block that could still hold a nearer source.
#include <limits>
#include <type_traits>

#include "device/simd_targets.hpp"
#include "gravity/direct_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gravity/direct_search.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::direct::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "device/simd_pack.inl"
#include "physics/separation.inl"

/// squares[block - first][lane]: the smallest square of a distance from the lane's target to a source of the block. A
/// target finds itself too, with zero: it then looks closely at that block, and leaves itself out there.
template <Precision precision>
HWY_INLINE void nearest_any(const Blocks<precision>& sources, const Tile<precision>& tile, std::int64_t first,
                            std::int64_t last, typename Numbers<precision>::Pair (*squares)[tile_capacity]) {
  using T = typename Numbers<precision>::Pair;
  using P = Pack<T>;
  constexpr bool low_parts = Numbers<precision>::low_parts;
  const auto lane = [&tile](int field) HWY_ATTR { return P::load(tile.field[field]); };
  const Vec3<P> at{lane(x), lane(y), lane(z)};
  Vec3<P> at_low = at;
  if constexpr (low_parts) at_low = {lane(x_low), lane(y_low), lane(z_low)};
  for (std::int64_t block = first; block < last; ++block) {
    const T* const from = sources.field(block, 0);
    const int filled = sources.filled(block);
    P least(std::numeric_limits<T>::infinity());
    for (int j = 0; j < filled; ++j) {
      const auto take = [from, j](int field) HWY_ATTR { return P(from[field * block_size + j]); };
      Vec3<P> d = separation(at, {take(x), take(y), take(z)});
      if constexpr (low_parts) {
        const Vec3<P> low = separation(at_low, {take(x_low), take(y_low), take(z_low)});
        d = {d.x + low.x, d.y + low.y, d.z + low.z};
      }
      least = smaller(least, mul_add(d.x, d.x, mul_add(d.y, d.y, d.z * d.z)));
    }
    least.store(squares[block - first]);
  }
}

void nearest_single(const Blocks<Precision::single>& sources, const Tile<Precision::single>& tile, std::int64_t first,
                    std::int64_t last, float (*squares)[tile_capacity]) {
  nearest_any(sources, tile, first, last, squares);
}
void nearest_mixed(const Blocks<Precision::mixed>& sources, const Tile<Precision::mixed>& tile, std::int64_t first,
                   std::int64_t last, float (*squares)[tile_capacity]) {
  nearest_any(sources, tile, first, last, squares);
}
void nearest_full(const Blocks<Precision::double_>& sources, const Tile<Precision::double_>& tile, std::int64_t first,
                  std::int64_t last, double (*squares)[tile_capacity]) {
  nearest_any(sources, tile, first, last, squares);
}
int lanes_of_floats() { return Pack<float>::size; }
int lanes_of_doubles() { return Pack<double>::size; }

}  // namespace pergola::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::direct {

HWY_EXPORT(nearest_single);
HWY_EXPORT(nearest_mixed);
HWY_EXPORT(nearest_full);
HWY_EXPORT(lanes_of_floats);
HWY_EXPORT(lanes_of_doubles);

template <>
int search_tile_size<Precision::single>() {
  return HWY_DYNAMIC_DISPATCH(lanes_of_floats)();
}
template <>
int search_tile_size<Precision::mixed>() {
  return HWY_DYNAMIC_DISPATCH(lanes_of_floats)();
}
template <>
int search_tile_size<Precision::double_>() {
  return HWY_DYNAMIC_DISPATCH(lanes_of_doubles)();
}

template <>
void nearest_squares(const Blocks<Precision::single>& sources, const Tile<Precision::single>& targets,
                     std::int64_t first, std::int64_t last, float (*squares)[tile_capacity]) {
  HWY_DYNAMIC_DISPATCH(nearest_single)(sources, targets, first, last, squares);
}
template <>
void nearest_squares(const Blocks<Precision::mixed>& sources, const Tile<Precision::mixed>& targets, std::int64_t first,
                     std::int64_t last, float (*squares)[tile_capacity]) {
  HWY_DYNAMIC_DISPATCH(nearest_mixed)(sources, targets, first, last, squares);
}
template <>
void nearest_squares(const Blocks<Precision::double_>& sources, const Tile<Precision::double_>& targets,
                     std::int64_t first, std::int64_t last, double (*squares)[tile_capacity]) {
  HWY_DYNAMIC_DISPATCH(nearest_full)(sources, targets, first, last, squares);
}

}  // namespace pergola::direct
#endif

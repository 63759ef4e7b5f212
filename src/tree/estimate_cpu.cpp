// The acceleration of cells, roughly, once per instruction set.
// The relative opening test needs the size of the acceleration before the walk. It is estimated from monopoles: cells
// below the angle `estimate_angle` act as points, others are opened. Units: masses of the total 1, lengths of the
// cube's side 1. In a periodic box only the short range is summed; the caller gives the rest (of the mesh).
#include <cmath>
#include <limits>
#include <type_traits>

#include "device/simd_targets.hpp"
#include "tree/estimate.hpp"
#include "tree/walk.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tree/estimate_cpu.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::tree::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "device/simd_pack.inl"
#include "physics/pair.inl"
#include "physics/split.inl"
#include "tree/nearest_image.inl"

using D = Pack<double>;

/// split_polynomial() by even and odd powers: half as many operations wait for one before.
template <int n>
HWY_INLINE D split_polynomial_by_halves(const double (&coefficient)[n], D z) {
  const D z2 = z * z;
  D sum[2] = {D(coefficient[n - 1]), D(coefficient[n - 2])};
  for (int p = n - 3; p >= 0; --p) {
    D& half = sum[(n - 1 - p) % 2];
    half = mul_add(half, z2, D(coefficient[p]));
  }
  return n % 2 == 1 ? mul_add(sum[1], z, sum[0]) : mul_add(sum[0], z, sum[1]);
}

/// Cells that are opened for one target; more are taken as points.
constexpr int most_opened = 1024;

/// Sums over cells that are neighbours in memory, one per lane.
/// Breadth first: cells to be opened wait in a queue that is a local array, so that nothing is allocated.
template <class Space>
struct Estimate {
  const Space& space;
  const CellShape* shape;
  const CellLink* link;
  const CellShape& target;
  Vec3<D> sum{D(0.0), D(0.0), D(0.0)};
  int waiting = 0;
  CellLink queue[most_opened];

  Estimate(const Space& box, const CellShape* s, const CellLink* l, std::uint32_t t)
      : space(box), shape(s), link(l), target(s[t]) {}

  /// Adds the cells first … first + count − 1, but for those that are to be opened: these go to the end of the queue.
  HWY_INLINE void add(std::uint32_t first, std::uint32_t count) {
    constexpr int fields = sizeof(CellShape) / sizeof(double);
    using Index = hn::RebindToSigned<D::Tag>;
    for (std::uint32_t begin = 0; begin < count; begin += D::size) {
      const auto filled = static_cast<std::int64_t>(count - begin < D::size ? count - begin : D::size);
      const auto lane = hn::Min(hn::Iota(Index(), 0), hn::Set(Index(), filled - 1));
      const auto place = hn::Mul(lane, hn::Set(Index(), fields));
      const double* const base = &shape[first + begin].x;
      const auto field = [&](int at) HWY_ATTR { return D(hn::GatherIndex(D::Tag(), base + at, place)); };
      Vec3<D> d{field(0) - D(target.x), field(1) - D(target.y), field(2) - D(target.z)};
      if constexpr (Space::periodic) d = nearest_image(d, space.period);
      const D r = field(3), square = softened_square(d, D(0.0));
      const auto far = hn::Le((r * r).raw, (square * D(double{estimate_angle} * estimate_angle)).raw);
      unsigned counted = bits_of(far), beyond = 0;
      if constexpr (Space::periodic)
        beyond = bits_of(hn::Le(((r + D(space.cut_off)) * (r + D(space.cut_off))).raw, square.raw));
      for (unsigned near = ~counted & ~beyond & ((1u << filled) - 1); near != 0; near &= near - 1) {
        const auto k = static_cast<std::uint32_t>(__builtin_ctz(near));
        if (waiting < most_opened && link[first + begin + k].children > 0)
          queue[waiting++] = link[first + begin + k];
        else
          counted |= 1u << k;
      }
      const D softened =
          larger(square + larger(field(6), D(target.epsilon2)) + D(hn::IfThenElseZero(hn::Not(far), (r * r).raw)),
                 D(0x1p-200));
      const D inverse = rsqrt(softened);
      const D mass(hn::IfThenElseZero(mask_of(counted & ~beyond & ((1u << filled) - 1)), field(5).raw));
      D factor = (mass * inverse) * (inverse * inverse);
      if constexpr (Space::periodic) {
        const D z = split_place(space.law, smaller(square, D(space.law.cut_off2)));
        factor = larger(factor - mass * split_polynomial_by_halves(space.law.attraction, z), D(0.0));
      }
      sum = {mul_add(factor, d.x, sum.x), mul_add(factor, d.y, sum.y), mul_add(factor, d.z, sum.z)};
    }
  }

 private:
  static HWY_INLINE unsigned bits_of(hn::Mask<D::Tag> mask) {
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(D::Tag(), mask, bits);
    return bits[0];
  }
  static HWY_INLINE hn::Mask<D::Tag> mask_of(unsigned bits) {
    const std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits)};
    return hn::LoadMaskBits(D::Tag(), bytes);
  }
};

/// Sums the root, then what the queue holds. `rest`: an acceleration that is added to that of the cells.
template <class Space>
double estimate_in(const Space& space, const CellShape* shape, const CellLink* link, std::uint32_t target,
                   const Vec3<double>& rest) {
  Estimate<Space> estimate(space, shape, link, target);
  estimate.add(0, 1);
  for (int next = 0; next < estimate.waiting; ++next) {
    const CellLink& opened = estimate.queue[next];
    if (opened.child == elsewhere) fail_elsewhere(target);
    estimate.add(opened.child, opened.children);
  }
  const auto total = [](D value) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(D::Tag(), value.raw)); };
  const double x = total(estimate.sum.x) + rest.x, y = total(estimate.sum.y) + rest.y,
               z = total(estimate.sum.z) + rest.z;
  return std::sqrt(x * x + y * y + z * z);
}

double estimate(const CellShape* shape, const CellLink* link, std::uint32_t target) {
  return estimate_in(OpenSpace(), shape, link, target, {0, 0, 0});
}
double estimate_short(const CellShape* shape, const CellLink* link, std::uint32_t target,
                      const ShortRangeBox<double>& box, const Vec3<double>& rest) {
  return estimate_in(box, shape, link, target, rest);
}

}  // namespace pergola::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::tree {

HWY_EXPORT(estimate);
HWY_EXPORT(estimate_short);

double estimate_acceleration(const CellShape* shape, const CellLink* link, std::uint32_t target) {
  return HWY_DYNAMIC_DISPATCH(estimate)(shape, link, target);
}
double estimate_acceleration(const CellShape* shape, const CellLink* link, std::uint32_t target,
                             const ShortRangeBox<double>& box, const Vec3<double>& rest) {
  return HWY_DYNAMIC_DISPATCH(estimate_short)(shape, link, target, box, rest);
}

}  // namespace pergola::tree
#endif

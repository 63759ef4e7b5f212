#include "gravity/direct_kernels.hpp"

#include <limits>

#include "device/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gravity/direct_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::direct::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#include "device/simd_pack.inl"
#include "physics/pair.inl"

/// One source in all lanes.
template <class P>
struct SourcePack {
  Vec3<P> x, x_low, v;
  P mass, softening;
};

/// A pack of targets and their sums over a block.
template <class P>
struct TargetPack {
  Vec3<P> x, x_low, v;
  P softening;
  P own;  // the target's own place within the block, or −1
  PairSum<P> sum;
};

/// The pair law: Plummer's with one softening length or with one by source, or the spline's by source.
enum class Law { plummer, plummer_by_source, spline };

/// What a loop is specialised for.
template <Precision precision_, Kind kind_, Law law_, bool with_own_>
struct Loop {
  static constexpr Precision precision = precision_;
  static constexpr Kind kind = kind_;
  static constexpr bool by_source = law_ != Law::plummer;
  static constexpr bool spline = law_ == Law::spline;
  static constexpr bool with_own = with_own_;  // some target's own particle is among the sources
  static constexpr bool low_parts = Numbers<precision>::low_parts;
  static constexpr bool jerk = kind == Kind::acceleration_jerk_potential;
  static constexpr bool potential = kind != Kind::acceleration;
  /// Whether the sums are taken from the rough 1/√ of AVX-512, and what they are then to be multiplied by.
  static constexpr bool rough = HWY_TARGET == HWY_AVX3 && precision != Precision::full && !spline &&
                                (kind == Kind::acceleration || kind == Kind::acceleration_potential);
  static constexpr float five_thirds = 5.0f / 3.0f;
  static constexpr double factor = rough ? 1.0 / (static_cast<double>(five_thirds) - 1.0) : 1.0;
  using T = typename Numbers<precision>::Pair;
  using P = Pack<T>;
};

template <class L, class P>
HWY_INLINE void add_source(const SourcePack<P>& source, P place, P same_epsilon2, TargetPack<P>& target) {
  Vec3<P> d{source.x.x - target.x.x, source.x.y - target.x.y, source.x.z - target.x.z};
  if constexpr (L::low_parts) {
    d.x = d.x + (source.x_low.x - target.x_low.x);
    d.y = d.y + (source.x_low.y - target.x_low.y);
    d.z = d.z + (source.x_low.z - target.x_low.z);
  }
  using T = typename L::T;
  P epsilon2 = same_epsilon2, mass = source.mass;
  if constexpr (L::by_source && !L::spline) epsilon2 = larger(source.softening, target.softening);
  if constexpr (L::spline) epsilon2 = P(T(0));
  P square = softened_square(d, epsilon2);
  if constexpr (L::with_own) {
    square = where_equal(target.own, place, P(T(1)), square);
    mass = where_equal(target.own, place, P(T(0)), mass);
  }
  Vec3<P> w = d;
  if constexpr (L::jerk) w = {source.v.x - target.v.x, source.v.y - target.v.y, source.v.z - target.v.z};
  if constexpr (L::spline) {
    const P inverse_h = smaller(source.softening, target.softening);
    if constexpr (L::kind == Kind::potential)
      add_spline_potential(mass, square, inverse_h, target.sum.pot);
    else
      add_spline_pair<L::jerk, L::potential>(d, w, mass, square, inverse_h, target.sum);
  } else if constexpr (L::rough) {
    const P y(hn::ApproximateReciprocalSqrt(square.raw));
    add_two_thirds_of_pair<L::potential>(d, mass, square, y, P(L::five_thirds), target.sum);
  } else if constexpr (L::kind == Kind::potential) {
    add_pair_potential(mass, rsqrt(square), target.sum.pot);
  } else {
    add_pair<L::jerk, L::potential>(d, w, mass, rsqrt(square), target.sum);
  }
}

/// `count` packs of targets, by name and not as an array so that all of them live in registers.
template <class P, int count>
struct TargetPacks {
  TargetPack<P> first;
  TargetPacks<P, count - 1> rest;
  template <class Body>
  HWY_INLINE void each(const Body& body, int index = 0) {
    body(first, index);
    rest.each(body, index + 1);
  }
};
template <class P>
struct TargetPacks<P, 0> {
  template <class Body>
  HWY_INLINE void each(const Body&, int) {}
};

template <class L, int packs>
HWY_INLINE void sum_block(const Blocks<L::precision>& sources, std::int64_t block,
                          TargetPacks<typename L::P, packs>& targets) {
  using P = typename L::P;
  using T = typename L::T;
  const T* const at = sources.field(block, 0);
  const int filled = sources.filled(block);
  const P same_epsilon2(static_cast<T>(sources.same_epsilon2));
  P place(T(0));
  for (int j = 0; j < filled; ++j) {
    SourcePack<P> source;
    const auto take = [at, j](int field) HWY_ATTR { return P(at[field * block_size + j]); };
    source.x = {take(x), take(y), take(z)};
    if constexpr (L::low_parts) source.x_low = {take(x_low), take(y_low), take(z_low)};
    if constexpr (L::jerk) source.v = {take(vx), take(vy), take(vz)};
    if constexpr (L::by_source) source.softening = take(softening);
    source.mass = take(mass);
    targets.each([&](TargetPack<P>& target, int) HWY_ATTR { add_source<L>(source, place, same_epsilon2, target); });
    if constexpr (L::with_own) place = place + P(T(1));
  }
}

/// Finds the lanes whose own particle is in the block. Returns whether there is one.
template <Precision precision, class T>
HWY_INLINE bool find_own(const Tile<precision>& tile, int lanes, std::int64_t block, T* own) {
  bool any = false;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::int64_t k = tile.place[lane] - block * block_size;
    const bool inside = k >= 0 && k < block_size;
    own[lane] = inside ? static_cast<T>(k) : T(-1);
    any |= inside;
  }
  return any;
}

template <Precision precision, Kind kind, Law law, int packs>
HWY_NOINLINE void sum_blocks(const Blocks<precision>& sources, const Tile<precision>& tile, std::int64_t first,
                             std::int64_t last, TileSums& sums) {
  using Others = Loop<precision, kind, law, false>;
  using WithOwn = Loop<precision, kind, law, true>;
  using P = typename Others::P;
  using T = typename Others::T;
  constexpr int lanes = packs * P::size;
  static_assert(lanes <= tile_capacity);
  alignas(64) T own[lanes];
  TargetPacks<P, packs> targets;
  targets.each([&](TargetPack<P>& target, int index) HWY_ATTR {
    const auto take = [&](int field) HWY_ATTR { return P::load(tile.field[field] + index * P::size); };
    target.x = {take(x), take(y), take(z)};
    if constexpr (Others::low_parts) target.x_low = {take(x_low), take(y_low), take(z_low)};
    if constexpr (Others::jerk) target.v = {take(vx), take(vy), take(vz)};
    if constexpr (Others::by_source) target.softening = take(softening);
  });
  for (auto& row : sums.value)
    for (int lane = 0; lane < lanes; ++lane) row[lane] = 0;
  for (std::int64_t block = first; block < last; ++block) {
    const bool with_own = find_own(tile, lanes, block, own);
    targets.each([&](TargetPack<P>& target, int index) HWY_ATTR {
      const P zero(T(0));
      target.sum = {zero, zero, zero, zero, zero, zero, zero};
      if (with_own) target.own = P::load(own + index * P::size);
    });
    if (with_own)
      sum_block<WithOwn, packs>(sources, block, targets);
    else
      sum_block<Others, packs>(sources, block, targets);
    targets.each([&](TargetPack<P>& target, int index) HWY_ATTR {
      const auto add = [&](const P& values, int row)
                           HWY_ATTR { add_to_doubles(values, Others::factor, sums.value[row] + index * P::size); };
      if constexpr (kind != Kind::potential) add(target.sum.ax, 0), add(target.sum.ay, 1), add(target.sum.az, 2);
      if constexpr (Others::jerk) add(target.sum.jx, 3), add(target.sum.jy, 4), add(target.sum.jz, 5);
      if constexpr (Others::potential) add(target.sum.pot, 6);
    });
  }
}

/// Packs of targets per source that is fetched: as many as the registers hold.
constexpr int packs_of(Kind kind) {
  return HWY_TARGET == HWY_AVX3 && kind != Kind::acceleration_jerk_potential ? 2 : 1;
}

/// Where accelerations alone cost hardly less, there is no loop of their own for them.
constexpr Kind with_potential(Kind kind) { return kind == Kind::acceleration ? Kind::acceleration_potential : kind; }

template <Precision precision, Kind kind>
HWY_INLINE void sum_kind(const Blocks<precision>& sources, const Tile<precision>& tile, std::int64_t first,
                         std::int64_t last, TileSums& sums) {
  if (sources.spline)
    sum_blocks<precision, with_potential(kind), Law::spline, packs_of(kind)>(sources, tile, first, last, sums);
  else if (sources.same_epsilon)
    sum_blocks<precision, kind, Law::plummer, packs_of(kind)>(sources, tile, first, last, sums);
  else
    sum_blocks<precision, kind, Law::plummer_by_source, packs_of(kind)>(sources, tile, first, last, sums);
}

template <Precision precision>
HWY_INLINE void sum_any(Kind kind, const Blocks<precision>& sources, const Tile<precision>& tile, std::int64_t first,
                        std::int64_t last, TileSums& sums) {
  switch (kind) {
    case Kind::acceleration:
      return sum_kind<precision, Kind::acceleration>(sources, tile, first, last, sums);
    case Kind::acceleration_potential:
      return sum_kind<precision, Kind::acceleration_potential>(sources, tile, first, last, sums);
    case Kind::potential:
      return sum_kind<precision, Kind::potential>(sources, tile, first, last, sums);
    case Kind::acceleration_jerk_potential:
      return sum_kind<precision, Kind::acceleration_jerk_potential>(sources, tile, first, last, sums);
  }
}

void sum_single(Kind kind, const Blocks<Precision::single>& sources, const Tile<Precision::single>& tile,
                std::int64_t first, std::int64_t last, TileSums& sums) {
  sum_any(kind, sources, tile, first, last, sums);
}
void sum_mixed(Kind kind, const Blocks<Precision::mixed>& sources, const Tile<Precision::mixed>& tile,
               std::int64_t first, std::int64_t last, TileSums& sums) {
  sum_any(kind, sources, tile, first, last, sums);
}
void sum_full(Kind kind, const Blocks<Precision::full>& sources, const Tile<Precision::full>& tile, std::int64_t first,
              std::int64_t last, TileSums& sums) {
  sum_any(kind, sources, tile, first, last, sums);
}
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
      Vec3<P> d{take(x) - at.x, take(y) - at.y, take(z) - at.z};
      if constexpr (low_parts)
        d = {d.x + (take(x_low) - at_low.x), d.y + (take(y_low) - at_low.y), d.z + (take(z_low) - at_low.z)};
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
void nearest_full(const Blocks<Precision::full>& sources, const Tile<Precision::full>& tile, std::int64_t first,
                  std::int64_t last, double (*squares)[tile_capacity]) {
  nearest_any(sources, tile, first, last, squares);
}
int size_of_floats(Kind kind) { return packs_of(kind) * Pack<float>::size; }
int size_of_doubles(Kind kind) { return packs_of(kind) * Pack<double>::size; }

}  // namespace pergola::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::direct {

HWY_EXPORT(sum_single);
HWY_EXPORT(sum_mixed);
HWY_EXPORT(sum_full);
HWY_EXPORT(nearest_single);
HWY_EXPORT(nearest_mixed);
HWY_EXPORT(nearest_full);
HWY_EXPORT(size_of_floats);
HWY_EXPORT(size_of_doubles);

template <>
int tile_size<Precision::single>(Kind kind) {
  return HWY_DYNAMIC_DISPATCH(size_of_floats)(kind);
}
template <>
int tile_size<Precision::mixed>(Kind kind) {
  return HWY_DYNAMIC_DISPATCH(size_of_floats)(kind);
}
template <>
int tile_size<Precision::full>(Kind kind) {
  return HWY_DYNAMIC_DISPATCH(size_of_doubles)(kind);
}

template <>
void sum_tile(Kind kind, const Blocks<Precision::single>& sources, const Tile<Precision::single>& targets,
              std::int64_t first, std::int64_t last, TileSums& sums) {
  HWY_DYNAMIC_DISPATCH(sum_single)(kind, sources, targets, first, last, sums);
}
template <>
void sum_tile(Kind kind, const Blocks<Precision::mixed>& sources, const Tile<Precision::mixed>& targets,
              std::int64_t first, std::int64_t last, TileSums& sums) {
  HWY_DYNAMIC_DISPATCH(sum_mixed)(kind, sources, targets, first, last, sums);
}
template <>
void sum_tile(Kind kind, const Blocks<Precision::full>& sources, const Tile<Precision::full>& targets,
              std::int64_t first, std::int64_t last, TileSums& sums) {
  HWY_DYNAMIC_DISPATCH(sum_full)(kind, sources, targets, first, last, sums);
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
void nearest_squares(const Blocks<Precision::full>& sources, const Tile<Precision::full>& targets, std::int64_t first,
                     std::int64_t last, double (*squares)[tile_capacity]) {
  HWY_DYNAMIC_DISPATCH(nearest_full)(sources, targets, first, last, squares);
}

}  // namespace pergola::direct
#endif

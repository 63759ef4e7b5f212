// The loops of the direct sum on the CPU over one pair law. No include guard: a law's own source, such as
// gravity/direct_plummer.cpp, includes it once per instruction set, inside a namespace of the law and that instruction
// set's in it. `hn` names hwy::HWY_NAMESPACE there.

//
// Lanes hold targets; a source is one number repeated in all lanes. Sums run over one block in the pair's number type
// and are then added to doubles, so that rounding errors do not grow with the number of sources.
// Only blocks that hold one of the tile's own particles pay for the comparison that leaves a particle out of its sum.
#include "device/simd_pack.inl"
#include "physics/pair.inl"
#include "physics/separation.inl"

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

/// What a loop is specialised for. by_particle: each particle has a softening length of its own.
template <Precision precision_, Kind kind_, class PairLaw, bool by_particle_, bool with_own_>
struct Loop {
  static constexpr Precision precision = precision_;
  static constexpr Kind kind = kind_;
  static constexpr bool by_particle = by_particle_;
  static constexpr bool with_own = with_own_;  // some target's own particle is among the sources
  static constexpr bool low_parts = Numbers<precision>::low_parts;
  static constexpr bool jerk = kind == Kind::acceleration_jerk_potential;
  static constexpr bool potential = kind != Kind::acceleration;
  static constexpr bool rough = HWY_TARGET == HWY_AVX3 && precision != Precision::double_ &&
                                (kind == Kind::acceleration || kind == Kind::acceleration_potential);
  using Law = std::conditional_t<rough, typename PairLaw::Rough, PairLaw>;
  using T = typename Numbers<precision>::Pair;
  using P = Pack<T>;
};

/// Adds one source to a pack of targets. low_parts: separations are differences of high parts plus those of low parts.
template <class L, class P>
HWY_INLINE void add_source(const SourcePack<P>& source, P place, P same_softening, TargetPack<P>& target) {
  using Law = typename L::Law;
  Vec3<P> d = separation(target.x, source.x);
  if constexpr (L::low_parts) {
    const Vec3<P> low = separation(target.x_low, source.x_low);
    d = {d.x + low.x, d.y + low.y, d.z + low.z};
  }
  P softening = same_softening, mass = source.mass;
  if constexpr (L::by_particle) softening = Law::joint(source.softening, target.softening);
  auto distance = Law::start(d, softening);
  if constexpr (L::with_own) {
    const auto zero = [&](P value) HWY_ATTR { return where_equal(target.own, place, P(typename L::T(0)), value); };
    Law::leave_out(zero, distance, mass);
  }
  Vec3<P> w = d;
  if constexpr (L::jerk) w = separation(target.v, source.v);
  if constexpr (L::kind == Kind::potential)
    Law::add_potential(mass, distance, softening, target.sum.pot);
  else
    Law::template add<L::jerk, L::potential>(d, w, mass, distance, softening, target.sum);
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

/// All sources of a block, in their order, for all packs of a tile.
template <class L, int packs>
HWY_INLINE void sum_block(const Blocks<L::precision>& sources, std::int64_t block,
                          TargetPacks<typename L::P, packs>& targets) {
  using P = typename L::P;
  using T = typename L::T;
  const T* const at = sources.field(block, 0);
  const int filled = sources.filled(block);
  const P same_softening(static_cast<T>(sources.softening.number[0]));
  P place(T(0));
  for (int j = 0; j < filled; ++j) {
    SourcePack<P> source;
    const auto take = [at, j](int field) HWY_ATTR { return P(at[field * block_size + j]); };
    source.x = {take(x), take(y), take(z)};
    if constexpr (L::low_parts) source.x_low = {take(x_low), take(y_low), take(z_low)};
    if constexpr (L::jerk) source.v = {take(vx), take(vy), take(vz)};
    if constexpr (L::by_particle) source.softening = take(softening);
    source.mass = take(mass);
    targets.each([&](TargetPack<P>& target, int) HWY_ATTR { add_source<L>(source, place, same_softening, target); });
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

/// A tile's sums over the blocks first … last - 1; `sums` is overwritten. One instance per kind, law and instruction
/// set.
template <Precision precision, Kind kind, class PairLaw, bool by_particle, int packs>
HWY_NOINLINE void sum_blocks(const Blocks<precision>& sources, const Tile<precision>& tile, std::int64_t first,
                             std::int64_t last, TileSums& sums) {
  using Others = Loop<precision, kind, PairLaw, by_particle, false>;
  using WithOwn = Loop<precision, kind, PairLaw, by_particle, true>;
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
    if constexpr (by_particle) target.softening = take(softening);
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
                           HWY_ATTR { add_to_doubles(values, Others::Law::factor, sums.value[row] + index * P::size); };
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

/// Chooses between one softening for all and one per particle. Laws with many operations always use the latter.
template <Precision precision, Kind kind, class PairLaw>
HWY_INLINE void sum_kind(const Blocks<precision>& sources, const Tile<precision>& tile, std::int64_t first,
                         std::int64_t last, TileSums& sums) {
  constexpr int packs = packs_of(kind);
  if constexpr (PairLaw::few_operations) {
    if (sources.softening.by_particle)
      sum_blocks<precision, kind, PairLaw, true, packs>(sources, tile, first, last, sums);
    else
      sum_blocks<precision, kind, PairLaw, false, packs>(sources, tile, first, last, sums);
  } else {
    sum_blocks<precision, with_potential(kind), PairLaw, true, packs>(sources, tile, first, last, sums);
  }
}

/// The sums of a tile by one law.
template <class PairLaw, Precision precision>
HWY_INLINE void sum_tile(const TileTask<precision>& task) {
  const auto& [kind, sources, targets, first, last, sums] = task;
  switch (kind) {
    case Kind::acceleration:
      return sum_kind<precision, Kind::acceleration, PairLaw>(sources, targets, first, last, sums);
    case Kind::acceleration_potential:
      return sum_kind<precision, Kind::acceleration_potential, PairLaw>(sources, targets, first, last, sums);
    case Kind::potential:
      return sum_kind<precision, Kind::potential, PairLaw>(sources, targets, first, last, sums);
    case Kind::acceleration_jerk_potential:
      return sum_kind<precision, Kind::acceleration_jerk_potential, PairLaw>(sources, targets, first, last, sums);
  }
}

// Sums over pairs of particles on the CPU. No include guard: part of tree/walk.inl,
// which includes the pair laws before.

/// The order of this sum depends on the number of lanes, thus on the instruction set.
template <class T>
HWY_INLINE T sum_of_lanes(Pack<T> value) {
  return hn::GetLane(hn::SumOfLanes(typename Pack<T>::Tag(), value.raw));
}

/// An array that begins on a line of cache and keeps its memory.
template <class T>
class Scratch {
 public:
  T* reserve(std::size_t size) {
    if (memory_.size() < size + 64) memory_.resize(size + size / 2 + 64);
    auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + ((64 - address % 64) % 64) / sizeof(T);
  }

 private:
  std::vector<T> memory_;
};

/// The sums of a leaf's particles: ψ, ∇ψ.
struct LeafSums {
  double value[leaf_capacity][4];
  void add(std::uint32_t k, double psi, double x, double y, double z) {
    value[k][0] += psi, value[k][1] += x, value[k][2] += y, value[k][3] += z;
  }
};

/// The nearest image of a separation, which mostly is that itself.
HWY_INLINE double nearest_of_images(double d, double period) {
  return 2 * std::abs(d) <= period ? d : pergola::nearest_image(d, period);
}
/// The centre of a source as a target sees it: in a periodic box, that of its nearest image.
template <class Space>
HWY_INLINE Vec3<double> image_of(const CellShape& source, const CellShape& target, const Space& space) {
  if constexpr (Space::periodic)
    return {target.x + nearest_of_images(source.x - target.x, space.period.x),
            target.y + nearest_of_images(source.y - target.y, space.period.y),
            target.z + nearest_of_images(source.z - target.z, space.period.z)};
  else
    return {source.x, source.y, source.z};
}

/// For a leaf: pairs that were tested and, if that is counted, pairs that were summed. Both include the padding of
/// packs.
struct PairCounts {
  std::uint64_t looked, summed;
};

/// The pairs of leaves. The number of terms of expansions does not matter here.
template <class T, class Space>
class NearSum {
  using P = Pack<T>;
  static constexpr int lanes = P::size;
  static constexpr bool rough = HWY_TARGET == HWY_AVX3 && sizeof(T) == 4;

 public:
  NearSum(const TreeView<T>& tree, const Space& space, const ActiveSet& active, bool counts)
      : tree_(tree), space_(space), active_(active), counts_(counts) {}

  /// Adds the pairs of a leaf's active particles with the leaves `near`, for four targets at a time and the last one or
  /// two alone. The sums of a target do not depend on that.
  PairCounts add(std::uint32_t cell, const CellList& near, LeafSums& sums) {
    const CellLink& link = tree_.link[cell];
    const NearSources sources = gather(cell, near);
    if (!is_wide(cell, sources)) return add_some(cell, 0, link.count, sources, sums);
    PairCounts all{0, 0};
    for (std::uint32_t first = 0; first < link.count; first += block) {
      const std::uint32_t end = std::min(first + block, link.count);
      if (!any_asks(link.first + first, link.first + end)) continue;
      const PairCounts some = add_some(cell, first, end, within_reach(cell, first, end, sources), sums);
      all.looked += some.looked, all.summed += some.summed;
    }
    return all;
  }

 private:
  /// What holds for all pairs of a leaf. In periodic boxes: whether potentials are wanted, and whether each pair has to
  /// find its nearest image (leaves as large as the box).
  template <bool potential, bool looks, bool counted = false>
  struct Kind {
    static constexpr bool with_potential = potential, looks_for_images = looks, counts = counted;
  };
  /// The sources of a leaf's pairs, from the leaf's centre; its own particles first.
  struct NearSources {
    T *x, *y, *z, *mass, *softening;
    std::size_t own, count;  // multiples of `lanes`
    bool one_image;          // all pairs that act do so as their cells lie
  };

  /// If a leaf is wide, each block of this number of particles has its own list of sources. Neighbours in the tree's
  /// order are neighbours in space.
  static constexpr std::uint32_t block = 8;

  bool any_asks(std::uint32_t begin, std::uint32_t end) const {
    if (!active_.particle) return true;
    return std::any_of(active_.particle + begin, active_.particle + end, [](std::uint8_t asks) { return asks != 0; });
  }

  /// For the active ones of the particles first … end − 1 of a leaf.
  PairCounts add_some(std::uint32_t cell, std::uint32_t first, std::uint32_t end, const NearSources& sources,
                      LeafSums& sums) {
    const CellLink& link = tree_.link[cell];
    std::uint32_t asking[leaf_capacity], count = 0, k = 0;
    for (std::uint32_t i = first; i < end; ++i)
      if (!active_.particle || active_.particle[link.first + i]) asking[count++] = i;
    for (; k + 2 < count; k += 4) add_any<4>(link.first, asking + k, std::min(4u, count - k), sources, sums);
    for (; k < count; ++k) add_any<1>(link.first, asking + k, 1, sources, sums);
    const std::uint64_t looked = std::uint64_t{count} * sources.count;
    return {looked, looked - std::exchange(left_out_, 0)};
  }

  /// Whether parts of the leaf have far fewer sources within the cut-off radius than the whole leaf has, and the
  /// instruction set finds them quickly.
  bool is_wide(std::uint32_t cell, const NearSources& sources) const {
    if constexpr (Space::periodic && compresses_at_once)
      return sources.one_image && tree_.link[cell].count > block && tree_.shape[cell].r > wide_part * space_.cut_off;
    return false;
  }
  static constexpr double wide_part = 0.4;

  /// The sources of other leaves within the cut-off radius of the box around the particles first … end − 1 of a leaf,
  /// active or not.
  HWY_INLINE NearSources within_reach(std::uint32_t cell, std::uint32_t first, std::uint32_t end,
                                      const NearSources& all) {
    const typename P::Tag tag;
    const std::uint32_t leaf = tree_.link[cell].first;
    const T* const from[3] = {tree_.x + leaf, tree_.y + leaf, tree_.z + leaf};
    P low[3], high[3];
    for (int a = 0; a < 3; ++a) {
      const auto [least, most] = std::minmax_element(from[a] + first, from[a] + end);
      low[a] = P(*least), high[a] = P(*most);
    }
    const P last(farthest(0.0, true)), nothing(T(0));
    NearSources to = room_for(all.count, some_);
    to.own = all.own, to.one_image = true;
    std::copy_n(all.x, all.own, to.x), std::copy_n(all.y, all.own, to.y), std::copy_n(all.z, all.own, to.z);
    std::copy_n(all.mass, all.own, to.mass);
    if (tree_.softening) std::copy_n(all.softening, all.own, to.softening);
    std::size_t at = all.own;
    for (std::size_t j = all.own; j < all.count; j += lanes) {
      const Vec3<P> x{P::load(all.x + j), P::load(all.y + j), P::load(all.z + j)};
      const auto off = [&](P value, int a)
                           HWY_ATTR { return larger(larger(low[a] - value, value - high[a]), nothing); };
      const auto inside =
          hn::Le(softened_square(Vec3<P>{off(x.x, 0), off(x.y, 1), off(x.z, 2)}, nothing).raw, last.raw);
      const P softening = tree_.softening ? P::load(all.softening + j) : nothing;
      put({x, P::load(all.mass + j), softening}, inside, hn::AllTrue(tag, inside), lanes, to, at);
    }
    fill_up(cell, to, at);
    to.count = at;
    return to;
  }

  /// Memory for `count` sources.
  static NearSources room_for(std::size_t count, Scratch<T>& scratch) {
    const std::size_t stride = (count + 3 * lanes + 15) / 16 * 16;
    T* const memory = scratch.reserve(5 * stride);
    return {memory, memory + stride, memory + 2 * stride, memory + 3 * stride, memory + 4 * stride, 0, 0, true};
  }
  /// Pads to a whole pack with sources that have no mass and are at no target's place.
  void fill_up(std::uint32_t cell, const NearSources& to, std::size_t& at) const {
    for (; at % lanes != 0; ++at)
      to.x[at] = T(4) * tree_.scale[cell], to.y[at] = to.z[at] = to.mass[at] = to.softening[at] = 0;
  }

  /// Whether only the nearest image of a source is within the cut-off radius.
  bool has_one_image(const CellShape& s, const CellShape& t) const {
    if constexpr (Space::periodic) {
      const Vec3<double> at = image_of(s, t, space_);
      const double reach = s.r + t.r + space_.cut_off;
      return std::abs(at.x - t.x) + reach <= space_.period.x && std::abs(at.y - t.y) + reach <= space_.period.y &&
             std::abs(at.z - t.z) + reach <= space_.period.z;
    }
    return true;
  }

  /// The square of the distance from a sphere's centre beyond which a particle acts on nothing in the sphere. `alone`:
  /// it has only one image that might.
  T farthest(double radius, bool alone) const {
    if constexpr (Space::periodic) {
      const double reach = (radius + space_.cut_off) * 1.00001;  // whatever the rounding
      if (alone) return static_cast<T>(reach * reach);
    }
    return std::numeric_limits<T>::max();
  }

  struct SourcePack {
    Vec3<P> x;
    P mass, softening;
  };
  /// Stores the sources of a pack that are `inside`; `all`: these are the first `count` ones, which is faster.
  template <class Mask>
  HWY_INLINE void put(const SourcePack& pack, Mask inside, bool all, std::size_t count, const NearSources& to,
                      std::size_t& at) const {
    const typename P::Tag tag;
    const auto store = [&](P values, T* into) HWY_ATTR {
      if (all)
        hn::StoreU(values.raw, tag, into + at);
      else
        count = hn::CompressStore(values.raw, inside, tag, into + at);
    };
    store(pack.x.x, to.x), store(pack.x.y, to.y), store(pack.x.z, to.z), store(pack.mass, to.mass);
    if (tree_.softening) store(pack.softening, to.softening);
    at += count;
  }

  /// Stores the particles of a leaf whose squared distance is at most `last`. Returns the number of particles it has
  /// tested: those in whole packs, or all if a part of a pack can be loaded.
  HWY_INLINE std::uint32_t take_packs(const CellLink& link, const Vec3<T>& away, T last, const T* softening,
                                      const NearSources& to, std::size_t& at) const {
    const typename P::Tag tag;
    constexpr bool whole = HWY_MEM_OPS_MIGHT_FAULT != 0;
    std::uint32_t k = 0;
    for (; whole ? k + lanes <= link.count : k < link.count; k += lanes) {
      const std::uint32_t i = link.first + k;
      const auto filled = hn::FirstN(tag, link.count - k);
      const auto from = [&](const T* values) HWY_ATTR {
        if constexpr (whole) return P(hn::LoadU(tag, values + i));
        return P(hn::MaskedLoad(filled, tag, values + i));
      };
      const Vec3<P> x{from(tree_.x) + P(away.x), from(tree_.y) + P(away.y), from(tree_.z) + P(away.z)};
      const auto inside = hn::Le(softened_square(x, P(T(0))).raw, P(last).raw);
      put({x, from(tree_.mass), softening ? from(softening) : P(T(0))}, hn::And(filled, inside),
          hn::AllTrue(tag, hn::Or(inside, hn::Not(filled))), std::min<std::size_t>(lanes, link.count - k), to, at);
    }
    return std::min(k, link.count);
  }

  NearSources gather(std::uint32_t cell, const CellList& near) {
    std::size_t room = 0;
    for (std::uint32_t s : near) room += tree_.link[s].count;
    NearSources to = room_for(room, sources_);
    const T* const softening = tree_.softening;
    std::size_t at = 0;
    const auto take = [&](std::uint32_t source) HWY_ATTR {
      const CellLink& link = tree_.link[source];
      const CellShape &s = tree_.shape[source], &t = tree_.shape[cell];
      const Vec3<double> centre = image_of(s, t, space_);
      const T dx = static_cast<T>(centre.x - t.x), dy = static_cast<T>(centre.y - t.y),
              dz = static_cast<T>(centre.z - t.z);
      const bool alone = has_one_image(s, t);
      to.one_image = to.one_image && alone;
      std::uint32_t k = 0;
      if constexpr (Space::periodic) k = take_packs(link, {dx, dy, dz}, farthest(t.r, alone), softening, to, at);
      for (; k < link.count; ++k, ++at) {
        const std::uint32_t i = link.first + k;
        to.x[at] = tree_.x[i] + dx, to.y[at] = tree_.y[i] + dy, to.z[at] = tree_.z[i] + dz;
        to.mass[at] = tree_.mass[i];
        if (softening) to.softening[at] = softening[i];
      }
    };
    for (std::uint32_t s : near)
      if (s == cell) take(s);
    fill_up(cell, to, at);
    to.own = at;
    for (std::uint32_t s : near)
      if (s != cell) take(s);
    fill_up(cell, to, at);
    to.count = at;
    return to;
  }

  /// Sums for `count` particles of the leaf that begins at `leaf`.
  template <std::uint32_t group>
  void add_any(std::uint32_t leaf, const std::uint32_t* asking, std::uint32_t count, const NearSources& sources,
               LeafSums& sums) {
    if (tree_.kernel == SofteningKernel::spline)
      add_group<group, SplineLaw, true>(leaf, asking, count, sources, sums);
    else if (tree_.softening)
      add_group<group, PlummerLaw, true>(leaf, asking, count, sources, sums);
    else
      add_group<group, PlummerLaw, false>(leaf, asking, count, sources, sums);
  }
  template <std::uint32_t group, class PairLaw, bool by_particle>
  void add_group(std::uint32_t leaf, const std::uint32_t* asking, std::uint32_t count, const NearSources& sources,
                 LeafSums& sums) {
    if constexpr (Space::periodic) {
      if (!sources.one_image)
        return sum_group<group, PairLaw, by_particle, Kind<true, true>>(leaf, asking, count, sources, sums);
      if (!space_.with_potential && counts_)
        return sum_group<group, PairLaw, by_particle, Kind<false, false, true>>(leaf, asking, count, sources, sums);
      if (!space_.with_potential)
        return sum_group<group, PairLaw, by_particle, Kind<false, false>>(leaf, asking, count, sources, sums);
      if (counts_)
        return sum_group<group, PairLaw, by_particle, Kind<true, false, true>>(leaf, asking, count, sources, sums);
    }
    sum_group<group, PairLaw, by_particle, Kind<true, false>>(leaf, asking, count, sources, sums);
  }

  /// A pack of sources as each of several targets sees it.
  template <std::uint32_t group>
  struct Seen {
    Vec3<P> d[group];
    P square[group];  // of d, where Space::periodic
  };

  /// Law::start() where the square of d is known.
  template <class Law>
  static HWY_INLINE auto start_from(const Vec3<P>& d, P square, P softening) {
    if constexpr (std::is_same_v<Law, RoughPlummerLaw>) {
      const P softened = square + softening;
      return RoughPlummerLaw::Distance<P>{softened, rough_rsqrt(softened)};
    } else if constexpr (std::is_same_v<Law, PlummerLaw>) {
      return rsqrt(square + softening);
    } else {
      return Law::start(d, softening);
    }
  }

  /// A LongRangePair with known polynomials.
  struct KnownLongRange {
    const P &long_attraction, &long_depth;
    HWY_INLINE P attraction() const { return long_attraction; }
    HWY_INLINE P depth() const { return long_depth; }
  };

  /// Whether no source of a pack is within the cut-off radius of any of the targets.
  template <std::uint32_t group>
  HWY_INLINE bool none_within(const Seen<group>& seen) const {
    P nearest = seen.square[0];
    HWY_UNROLL(4)
    for (std::uint32_t g = 1; g < group; ++g) nearest = smaller(nearest, seen.square[g]);
    return hn::AllFalse(typename P::Tag(), hn::Lt(nearest.raw, P(space_.law.cut_off2).raw));
  }

  /// A polynomial of the long-range law for several targets at once, each with the bits of first_split_terms(): a term
  /// waits for the one before, those of other targets do not.
  template <std::uint32_t group, int n>
  HWY_INLINE void long_range(const T (&coefficient)[n], const P (&z)[group], P (&sum)[group]) const {
    int p = space_.law.terms - 1;
    HWY_UNROLL(4)
    for (std::uint32_t g = 0; g < group; ++g) sum[g] = P(coefficient[p]);
    while (p-- > 0) {
      const P c(coefficient[p]);
      HWY_UNROLL(4)
      for (std::uint32_t g = 0; g < group; ++g) sum[g] = mul_add(sum[g], z[g], c);
    }
  }

  /// Sums over all near sources, these in the lanes, for `group` particles of the leaf at once. by_particle: each
  /// particle has a softening length of its own.
  template <std::uint32_t group, class PairLaw, bool by_particle, class Kind>
  void sum_group(std::uint32_t leaf, const std::uint32_t* asking, std::uint32_t count, const NearSources& sources,
                 LeafSums& sums) {
    using Law = std::conditional_t<rough, typename PairLaw::Rough, PairLaw>;
    Vec3<P> at[group];
    const P same_epsilon2(static_cast<T>(tree_.same_epsilon2));
    P softening[group], own[group];
    PairSum<P> sum[group];
    for (std::uint32_t g = 0; g < group; ++g) {
      const std::uint32_t k = asking[std::min(g, count - 1)], i = leaf + k;
      at[g] = {P(tree_.x[i]), P(tree_.y[i]), P(tree_.z[i])};
      if constexpr (by_particle) softening[g] = P(tree_.softening[i]);
      own[g] = P(static_cast<T>(k));
      sum[g].ax = sum[g].ay = sum[g].az = sum[g].pot = P(T(0));
    }
    [[maybe_unused]] std::uint64_t packs_left_out = 0;
    // mask: the target itself may be among the sources.
    const auto add = [&](std::size_t j, auto mask) HWY_ATTR {
      const Vec3<P> x{P::load(sources.x + j), P::load(sources.y + j), P::load(sources.z + j)};
      Seen<group> seen;
      HWY_UNROLL(4)
      for (std::uint32_t g = 0; g < group; ++g) {
        seen.d[g] = separation(at[g], x);
        if constexpr (Kind::looks_for_images) seen.d[g] = nearest_image(seen.d[g], space_.period);
        if constexpr (Space::periodic) seen.square[g] = softened_square(seen.d[g], P(T(0)));
      }
      if constexpr (Space::periodic && !Kind::looks_for_images && !decltype(mask)::value)
        if (none_within(seen)) {
          if constexpr (Kind::counts) ++packs_left_out;
          return;
        }
      [[maybe_unused]] P long_attraction[group], long_depth[Kind::with_potential ? group : 1];
      if constexpr (Space::periodic) {
        P z[group];
        HWY_UNROLL(4)
        for (std::uint32_t g = 0; g < group; ++g) z[g] = split_place(space_.law, seen.square[g]);
        long_range(space_.law.attraction, z, long_attraction);
        if constexpr (Kind::with_potential) long_range(space_.law.depth, z, long_depth);
      }
      const P mass = P::load(sources.mass + j), place(hn::Iota(typename P::Tag(), static_cast<T>(j)));
      HWY_UNROLL(4)
      for (std::uint32_t g = 0; g < group; ++g) {
        P m = mass, pair_softening = same_epsilon2;
        if constexpr (by_particle) pair_softening = Law::joint(softening[g], P::load(sources.softening + j));
        auto distance = [&]() HWY_ATTR {
          if constexpr (Space::periodic) return start_from<Law>(seen.d[g], seen.square[g], pair_softening);
          return Law::start(seen.d[g], pair_softening);
        }();
        if constexpr (decltype(mask)::value) {
          const auto zero = [&](P value) HWY_ATTR { return where_equal(place, own[g], P(T(0)), value); };
          Law::leave_out(zero, distance, m);
          if constexpr (Space::periodic) m = zero(m);
        }
        if constexpr (Kind::looks_for_images)  // what fills up a pack may have an image where a target is
          Law::leave_out([&](P value) HWY_ATTR { return where_equal(m, P(T(0)), P(T(0)), value); }, distance, m);
        if constexpr (Space::periodic)
          add_short_range_pair<Law, Kind::with_potential>(
              space_.law, seen.d[g], m, seen.square[g],
              KnownLongRange{long_attraction[g], long_depth[Kind::with_potential ? g : 0]}, distance, pair_softening,
              sum[g]);
        else
          Law::template add<false, true>(seen.d[g], seen.d[g], m, distance, pair_softening, sum[g]);
      }
    };
    for (std::size_t j = 0; j < sources.own; j += lanes) add(j, std::true_type());
    for (std::size_t j = sources.own; j < sources.count; j += lanes) add(j, std::false_type());
    if constexpr (Kind::counts) left_out_ += packs_left_out * lanes * count;
    for (std::uint32_t g = 0; g < count; ++g)
      sums.add(asking[g], -Law::factor * sum_of_lanes(sum[g].pot), Law::factor * sum_of_lanes(sum[g].ax),
               Law::factor * sum_of_lanes(sum[g].ay), Law::factor * sum_of_lanes(sum[g].az));
  }

  const TreeView<T>& tree_;
  const Space& space_;
  const ActiveSet& active_;
  const bool counts_;
  Scratch<T> sources_, some_;
  std::uint64_t left_out_ = 0;  // pairs, for being beyond the cut-off radius
};

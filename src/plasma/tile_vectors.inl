// Vectors of particles of a tile, its field and its charge. No include guard: plasma/tile_loops.inl includes it once
// per instruction set, inside its namespace.

#include "device/simd_pack.inl"
#include "physics/cloud.inl"
#include "physics/plasma_push.inl"

// Records: the numbers of a cell that are read or added to for a vector of particles at once. Only for floats, and for
// AVX2 and AVX-512 (has_cell_records); a gather or a scatter would take several times as long.

/// The place of the quad of particle k of a vector after store_quads().
constexpr int quad_place(int k) { return k % 4 * (Pack<float>::size / 4) + k / 4; }

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

inline constexpr bool has_cell_records = true;

using FloatVector = Pack<float>::Vector;
using WholeTag = hn::ScalableTag<std::int32_t>;
using WholeVector = hn::Vec<WholeTag>;

/// Transposes the 4 × 4 matrices in the 128-bit blocks of four vectors.
template <class V>
HWY_INLINE void transpose_blocks(V& a, V& b, V& c, V& d) {
  const hn::ScalableTag<float> tag;
  const hn::ScalableTag<double> wide;
  const auto low_ab = hn::BitCast(wide, hn::InterleaveLower(tag, hn::BitCast(tag, a), hn::BitCast(tag, b)));
  const auto low_cd = hn::BitCast(wide, hn::InterleaveLower(tag, hn::BitCast(tag, c), hn::BitCast(tag, d)));
  const auto high_ab = hn::BitCast(wide, hn::InterleaveUpper(tag, hn::BitCast(tag, a), hn::BitCast(tag, b)));
  const auto high_cd = hn::BitCast(wide, hn::InterleaveUpper(tag, hn::BitCast(tag, c), hn::BitCast(tag, d)));
  const hn::ScalableTag<hn::TFromV<V>> out;
  a = hn::BitCast(out, hn::InterleaveLower(wide, low_ab, low_cd));
  b = hn::BitCast(out, hn::InterleaveUpper(wide, low_ab, low_cd));
  c = hn::BitCast(out, hn::InterleaveLower(wide, high_ab, high_cd));
  d = hn::BitCast(out, hn::InterleaveUpper(wide, high_ab, high_cd));
}

#if HWY_TARGET == HWY_AVX3
/// The eights of particles k and k + 4, one after the other.
HWY_INLINE FloatVector load_eights(const float* from, const std::int32_t* offset) {
  const __m512 low = _mm512_castps256_ps512(_mm256_load_ps(from + offset[0]));
  return FloatVector{_mm512_insertf32x8(low, _mm256_load_ps(from + offset[4]), 1)};
}
/// Blocks 0 and 2 (or 1 and 3) of one vector and then of another.
HWY_INLINE FloatVector even_blocks(FloatVector a, FloatVector b) {
  return FloatVector{_mm512_shuffle_f32x4(a.raw, b.raw, 0x88)};
}
HWY_INLINE FloatVector odd_blocks(FloatVector a, FloatVector b) {
  return FloatVector{_mm512_shuffle_f32x4(a.raw, b.raw, 0xdd)};
}
#else
HWY_INLINE FloatVector load_eights(const float* from, const std::int32_t* offset) {
  return FloatVector{_mm256_load_ps(from + offset[0])};
}
HWY_INLINE FloatVector even_blocks(FloatVector a, FloatVector b) {
  return FloatVector{_mm256_permute2f128_ps(a.raw, b.raw, 0x20)};
}
HWY_INLINE FloatVector odd_blocks(FloatVector a, FloatVector b) {
  return FloatVector{_mm256_permute2f128_ps(a.raw, b.raw, 0x31)};
}
#endif

/// value[j] of particle k becomes number j of the eight at from + offset[k].
HWY_INLINE void load_records(const float* from, const std::int32_t* offset, Pack<float>* value) {
  constexpr int half = Pack<float>::size / 2;
  FloatVector low[4], high[4];
  for (int j = 0; j < 4; ++j) {
    low[j] = load_eights(from, offset + j);
    high[j] = load_eights(from, offset + half + j);
  }
  transpose_blocks(low[0], low[1], low[2], low[3]);
  transpose_blocks(high[0], high[1], high[2], high[3]);
  for (int j = 0; j < 4; ++j) {
    value[j].raw = even_blocks(low[j], high[j]);
    value[4 + j].raw = odd_blocks(low[j], high[j]);
  }
}

/// Stores the quads share[0 … 3] of a vector of particles, that of particle k at to + 4 quad_place(k).
HWY_INLINE void store_quads(const WholeVector* share, std::int32_t* to) {
  WholeVector quad[4] = {share[0], share[1], share[2], share[3]};
  transpose_blocks(quad[0], quad[1], quad[2], quad[3]);
  for (int j = 0; j < 4; ++j) hn::Store(quad[j], WholeTag(), to + j * Pack<float>::size);
}

/// Adds four neighbouring sums at once.
HWY_INLINE void add_quad(const std::int32_t* quad, std::int32_t* to) {
  __m128i* const at = reinterpret_cast<__m128i*>(to);
  const __m128i more = _mm_load_si128(reinterpret_cast<const __m128i*>(quad));
  _mm_store_si128(at, _mm_add_epi32(_mm_load_si128(at), more));
}

#else

inline constexpr bool has_cell_records = false;

#endif

template <class Real>
using WholeOf = typename physics::PlasmaCounts<Real>::Place;
template <class Real>
using Whole = hn::Vec<hn::ScalableTag<WholeOf<Real>>>;
template <class Real>
using WholeMask = hn::Mask<hn::ScalableTag<WholeOf<Real>>>;

/// Whole numbers below 2⁵¹ from and to doubles: they are the lowest bits of a number next to 1.5 · 2⁵².
HWY_INLINE Pack<float> to_real(Whole<float> number) {
  return Pack<float>(hn::ConvertTo(hn::ScalableTag<float>(), number));
}
HWY_INLINE Pack<double> to_real(Whole<double> number) {
  const hn::ScalableTag<std::int64_t> whole;
  const Pack<double> middle(0x1.8p52);
  const auto shifted = hn::BitCast(hn::ScalableTag<double>(), hn::Add(number, hn::BitCast(whole, middle.raw)));
  return Pack<double>(shifted) - middle;
}
/// a + b and a − b modulo a power of two, for displacements that overflow.
template <class W>
HWY_INLINE W wrapped_sum(W a, W b) {
  const hn::DFromV<W> tag;
  const hn::RebindToUnsigned<hn::DFromV<W>> plain;
  return hn::BitCast(tag, hn::Add(hn::BitCast(plain, a), hn::BitCast(plain, b)));
}
template <class W>
HWY_INLINE W wrapped_difference(W a, W b) {
  const hn::DFromV<W> tag;
  const hn::RebindToUnsigned<hn::DFromV<W>> plain;
  return hn::BitCast(tag, hn::Sub(hn::BitCast(plain, a), hn::BitCast(plain, b)));
}

/// The nearest whole number. A float that overflows or is not a number becomes the smallest one or, in the scalar
/// loops, the largest.
HWY_INLINE Whole<float> to_whole(Pack<float> number) {
#if HWY_TARGET == HWY_AVX3
  return Whole<float>{_mm512_cvtps_epi32(number.raw.raw)};
#elif HWY_TARGET == HWY_AVX2
  return Whole<float>{_mm256_cvtps_epi32(number.raw.raw)};
#else
  return hn::NearestInt(number.raw);
#endif
}
HWY_INLINE Whole<double> to_whole(Pack<double> number) {
  const hn::ScalableTag<std::int64_t> whole;
  const Pack<double> middle(0x1.8p52);
  return wrapped_difference(hn::BitCast(whole, (number + middle).raw), hn::BitCast(whole, middle.raw));
}

/// A pack of whole numbers that is used like one, for the formulas of physics/plasma_current.inl.
template <class Real>
struct WholePack {
  Whole<Real> raw;
};
template <class Real>
HWY_INLINE WholePack<Real> operator+(WholePack<Real> a, WholePack<Real> b) {
  return {hn::Add(a.raw, b.raw)};
}
template <class Real>
HWY_INLINE WholePack<Real> operator-(WholePack<Real> a, WholePack<Real> b) {
  return {hn::Sub(a.raw, b.raw)};
}
template <class Real>
HWY_INLINE WholePack<Real> operator>>(WholePack<Real> a, int bits) {
  return {hn::ShiftRightSame(a.raw, bits)};
}
template <class Real>
HWY_INLINE WholePack<Real> operator<<(WholePack<Real> a, int bits) {
  return {hn::ShiftLeftSame(a.raw, bits)};
}
template <class Real>
HWY_INLINE WholePack<Real> smaller(WholePack<Real> a, WholePack<Real> b) {
  return {hn::Min(a.raw, b.raw)};
}
template <class Real>
HWY_INLINE WholePack<Real> larger(WholePack<Real> a, WholePack<Real> b) {
  return {hn::Max(a.raw, b.raw)};
}
template <class Real>
HWY_INLINE WholePack<Real> where_less(WholePack<Real> a, WholePack<Real> b, WholePack<Real> yes, WholePack<Real> no) {
  return {hn::IfThenElse(hn::Lt(a.raw, b.raw), yes.raw, no.raw)};
}
template <class W>
HWY_INLINE W whole_constant(std::int64_t value) {
  const hn::DFromV<decltype(W::raw)> tag;
  return {hn::Set(tag, static_cast<hn::TFromD<decltype(tag)>>(value))};
}
template <class N, class W>
HWY_INLINE N number_of(W whole) {
  return to_real(whole.raw);
}
template <class Real>
HWY_INLINE WholePack<Real> grains_of(Pack<Real> number) {
  return {to_whole(number)};
}
template <class Real>
HWY_INLINE WholePack<Real> charge_share(Pack<Real> weight) {
  return {
      to_whole(weight * Pack<Real>(static_cast<Real>(std::int64_t{1} << physics::PlasmaCounts<Real>::charge_bits)))};
}

#include "physics/plasma_current.inl"

/// number · side without a multiplication, which whole numbers of 64 bits lack; side is 2ⁿ and some more.
template <int side, class W>
HWY_INLINE W times(W number) {
  if constexpr ((side & (side - 1)) == 0) {
    return hn::ShiftLeft < side == 16 ? 4 : 3 > (number);
  } else {
    auto sum = number;
    constexpr int shift = side >= 16 ? 4 : 3;
    for (int k = 1; k < side - (1 << shift); ++k) sum = hn::Add(sum, number);
    return hn::Add(hn::ShiftLeft<shift>(number), sum);
  }
}
/// Numbers of cells, or of points, with `side` of them in a row.
template <int dimensions, int side, class W>
HWY_INLINE W number_in(const W* cell) {
  W result = cell[dimensions - 1];
  for (int a = dimensions - 2; a >= 0; --a) result = hn::Add(times<side>(result), cell[a]);
  return result;
}

/// The clouds of a vector of particles of a tile.
/// `weight` are those of the grid points along each axis; a cloud is their product.
template <int dimensions, int points, class Real>
struct Clouds {
  using Number = Pack<Real>;
  using Counts = physics::PlasmaCounts<Real>;
  static constexpr hn::ScalableTag<WholeOf<Real>> tag{};

  Number weight[dimensions][points];
  Number inside[dimensions];     // places from the point of `cell`
  Whole<Real> cell[dimensions];  // the point below (linear) or next to (quadratic) the particle

  static constexpr WholeOf<Real> one = 1, half = points == 3 ? one << (Counts::place_bits - 1) : 0;

  HWY_INLINE Whole<Real> find_cell(int axis, Whole<Real> place) {
    const hn::ScalableTag<std::make_unsigned_t<WholeOf<Real>>> plain;
    const auto shifted = points == 3 ? wrapped_sum(place, hn::Set(tag, half)) : place;
    cell[axis] = hn::BitCast(tag, hn::ShiftRight<Counts::place_bits>(hn::BitCast(plain, shifted)));
    return shifted;
  }
  /// Cells and weights of all axes from places in grains.
  HWY_INLINE void find(const Whole<Real>* place) {
    for (int a = 0; a < dimensions; ++a) {
      const auto shifted = find_cell(a, place[a]);
      auto rest = hn::And(shifted, hn::Set(tag, (one << Counts::place_bits) - 1));
      if (points == 3) rest = hn::Sub(rest, hn::Set(tag, half));
      inside[a] = to_real(rest) * Number(1 / physics::place_grains<Real>);
      cloud_weights<points, true>(inside[a], Number(Real(0.5)), Number(Real(1)), weight[a]);
    }
  }
  /// The units of charge at all points of the clouds, with the bits of physics::charge_share; the last point gets the
  /// rest.
  HWY_INLINE void shares(Whole<Real>* share) const {
    constexpr int last = cloud_size<dimensions, points> - 1;
    const Number units(static_cast<Real>(std::int64_t{1} << Counts::charge_bits));
    Number scaled[points];
    for (int p = 0; p < points; ++p) scaled[p] = weight[0][p] * units;
    auto rest = hn::Set(tag, WholeOf<Real>{1} << Counts::charge_bits);
    for (int p = 0; p < last; ++p) {
      Number part = scaled[p % points] * weight[1][p / points % points];
      if constexpr (dimensions == 3) part = part * weight[2][p / points / points];
      share[p] = to_whole(part);
      rest = hn::Sub(rest, share[p]);
    }
    share[last] = rest;
  }
};

/// Whether fields and charge of this kind use records of cells.
template <int points, class Real>
inline constexpr bool by_records = has_cell_records&& points == 2 && sizeof(Real) == 4;

/// Vectors that go through the stages of a push together: within a stage they do not wait for each other.
inline constexpr int vectors_together = 8;
template <int size>
HWY_INLINE int vectors_from(std::int64_t begin, std::int64_t count) {
  const std::int64_t left = (count - begin + size - 1) / size;
  return static_cast<int>(left < vectors_together ? left : vectors_together);
}

/// The words that a cloud gathers: of an electric field at the grid points, or of all six components on Yee's grid.
/// Each is a component and an offset from the cloud's first point in the component's patch.
template <int dimensions, int points, bool relativistic>
struct GatheredWords {
  static constexpr int components = relativistic ? 6 : dimensions;
  static constexpr int count =
      relativistic ? StaggeredWords<dimensions, points>().begin[6] : dimensions * cloud_size<dimensions, points>;
  static constexpr int record = (count + 7) / 8 * 8;
  int component[count] = {}, offset[count] = {};

  constexpr GatheredWords() {
    constexpr int side = Patch<dimensions, points>::side;
    int word = 0;
    for (int c = 0; c < components; ++c) {
      const unsigned half = !relativistic ? 0 : c < 3 ? electric_half(c) : magnetic_half(c - 3);
      for (int p = 0; p < cloud_size<dimensions, points>; ++p) {
        const int x = p % points, y = p / points % points, z = p / points / points;
        const bool beyond = ((half & 1) != 0 && x + 1 == points) || ((half & 2) != 0 && y + 1 == points) ||
                            (dimensions == 3 && (half & 4) != 0 && z + 1 == points);
        if (beyond) continue;
        component[word] = c, offset[word++] = (z * side + y) * side + x;
      }
    }
  }
};

/// The field of a tile for the loops.
/// With records, the values that a cell's clouds gather lie together: one load per particle replaces a gather per
/// point.
template <int dimensions, int points, bool relativistic, class Real>
struct TileField {
  using Area = Patch<dimensions, points>;
  using Words = GatheredWords<dimensions, points, relativistic>;
  static constexpr Words words{};
  static constexpr int size = cloud_size<dimensions, points>;
  static constexpr int width = tile_width<dimensions>;
  static constexpr int cells = dimensions == 3 ? width * width * width : width * width;
  static constexpr int record = Words::record;
  static_assert(!by_records<points, Real> || record == 8 || record == 16 || record == 24);
  static constexpr bool records = by_records<points, Real>;

  alignas(64) Real value[records ? cells * record : 1];
  const Real* patch;

  /// Copies the patch into records, once per tile and push.
  explicit TileField(const Real* from) : patch(from) {
    if constexpr (records) {
      for (int cell = 0; cell < cells; ++cell) {
        const int x = cell % width, y = cell / width % width, z = cell / width / width;
        const Real* const corner = from + (z * Area::side + y) * Area::side + x;
        Real* const to = value + cell * record;
        for (int w = 0; w < Words::count; ++w) to[w] = corner[words.component[w] * Area::size + words.offset[w]];
        for (int w = Words::count; w < record; ++w) to[w] = 0;
      }
    }
  }

  /// Where the records of the clouds' cells begin.
  static HWY_INLINE Whole<Real> record_offsets(const Clouds<dimensions, points, Real>& clouds) {
    const auto number = number_in<dimensions, width>(clouds.cell), sixteen = hn::ShiftLeft<4>(number);
    if constexpr (record == 16)
      return sixteen;
    else
      return record == 24 ? hn::Add(hn::ShiftLeft<3>(number), sixteen) : hn::ShiftLeft<3>(number);
  }
  /// Values begin … begin + count − 1 of the words.
  template <int begin, int count>
  HWY_INLINE void load(const Clouds<dimensions, points, Real>& clouds, const std::int32_t* offset,
                       Pack<Real>* values) const {
    if constexpr (records) {
      for (int w = 0; w < count; w += 8) load_records(value + begin + w, offset, values + w);
    } else {
      const auto number = number_in<dimensions, Area::side>(clouds.cell);
      for (int w = 0; w < count; ++w)
        values[w].raw = hn::GatherIndex(
            hn::ScalableTag<Real>(), patch + words.component[begin + w] * Area::size + words.offset[begin + w], number);
    }
  }
  HWY_INLINE auto at(const Clouds<dimensions, points, Real>& clouds, const std::int32_t* offset) const {
    using Number = Pack<Real>;
    if constexpr (relativistic) {
      Number values[record], lower[dimensions][points];
      load<0, Words::count>(clouds, offset, values);
      for (int a = 0; a < dimensions; ++a) lower_weights<points>(clouds.inside[a], Number(Real(0.5)), lower[a]);
      return staggered_field<dimensions, points>(clouds.weight, lower, values);
    } else {
      constexpr int together = records ? 8 / size : 1;  // components that are fetched at once
      Number electric[3] = {Number(Real(0)), Number(Real(0)), Number(Real(0))};
      Number values[together * size];
      const auto some = [&]<int a>() HWY_ATTR {
        load<a * size, together * size>(clouds, offset, values);
        for (int b = 0; b < together; ++b)
          electric[a + b] = interpolate<dimensions, points>(clouds.weight, values + b * size);
      };
      some.template operator()<0>();
      if constexpr (together < 2) some.template operator()<1>();
      if constexpr (dimensions == 3) some.template operator()<2>();
      return Vec3<Number>{electric[0], electric[1], electric[2]};
    }
  }
};

/// What a tile counts, in words at a cell of a record or at the first point of a cloud: the charge of clouds.
template <int dimensions, int points>
struct ChargeWords {
  static constexpr int count = cloud_size<dimensions, points>, components = 1, margin = 0;
  static constexpr int component(int) { return 0; }
  static constexpr int offset(int word) { return cloud_offset<dimensions, points>(word); }
};
/// The currents of moves, in the order of charge_fluxes(), in patches and records with a margin of one.
template <int dimensions, int points>
struct CurrentWords {
  static constexpr int count = flux_count<dimensions, points>, components = 3, margin = 1;
  static constexpr GatheredWords<dimensions, points, true> staggered{};
  static constexpr int component(int word) { return staggered.component[word]; }
  static constexpr int offset(int word) {
    constexpr int from = Patch<dimensions, points>::side, to = Patch<dimensions, points, 1>::side;
    const int at = staggered.offset[word];
    return (at / from / from * to + at / from % from) * to + at % from;
  }
};

/// The counts of a tile while it is pushed: in records of cells in 32 bits, for some vectors of particles at a time, or
/// at once in the patches.
/// Records hold 32-bit sums, which overflow after some thousand particles: flush() adds them to the 64-bit patches in
/// time.
template <int dimensions, int points, template <int, int> class WordsOf, class Real>
class TileCounts {
  using Words = WordsOf<dimensions, points>;
  using Area = Patch<dimensions, points, Words::margin>;
  using Number = Pack<Real>;
  static constexpr int size = Words::count;
  static constexpr int width = tile_width<dimensions> + 2 * Words::margin;
  static constexpr int cells = dimensions == 3 ? width * width * width : width * width;
  static constexpr bool records = by_records<points, Real>;
  static_assert(!records || size == 4 || size == 8 || size == 12);
  static constexpr std::int32_t full = 1 << 30;  // a record then takes 1000 more particles, but not 2000
  static constexpr int between = 1000;
  static constexpr hn::ScalableTag<WholeOf<Real>> tag{};

 public:
  explicit TileCounts(std::int64_t* patch) : patch_(patch) {
    if constexpr (records)
      for (int i = 0; i < (cells + 1) * size; ++i) record_[i] = 0;
  }
  ~TileCounts() {
    if constexpr (records) flush();
  }

  /// Stages what the masked particles of one of vectors_together vectors add; add_staged() counts it. Cells are
  /// numbered from the first of the records, which is the margin below that of the tile.
  HWY_INLINE void stage(int vector, const Whole<Real>* cell, const Whole<Real>* share, WholeMask<Real> mask) {
    if constexpr (records) {
      const auto number = number_in<dimensions, width>(cell);
      const auto kept = hn::IfThenElse(mask, number, hn::Set(tag, cells));  // the rest goes to the last record
      const auto four = hn::ShiftLeft<2>(kept), eight = hn::ShiftLeft<3>(kept);
      hn::Store(size == 4 ? four : size == 8 ? eight : hn::Add(four, eight), tag, offset_ + vector * Number::size);
      for (int quad = 0; quad < size; quad += 4)
        store_quads(share + quad, staged_ + vector * Number::size * size + quad * Number::size);
    } else {
      alignas(64) WholeOf<Real> shares[size][Number::size], first[Number::size];
      for (int p = 0; p < size; ++p) hn::Store(share[p], tag, shares[p]);
      hn::Store(number_in<dimensions, Area::side>(cell), tag, first);
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(tag, mask, bits);
      for (int k = 0; k < Number::size; ++k)
        if (bits[k / 8] >> (k % 8) & 1)
          for (int p = 0; p < size; ++p)
            patch_[Words::component(p) * Area::size + first[k] + Words::offset(p)] += shares[p][k];
    }
  }
  /// One particle after the other, because several may have the same cell.
  HWY_INLINE void add_staged(int vectors) {
    if constexpr (records) {
      for (int vector = 0; vector < vectors; ++vector) {
        const std::int32_t* const offset = offset_ + vector * Number::size;
        const std::int32_t* const staged = staged_ + vector * Number::size * size;
        for (int k = 0; k < Number::size; ++k)
          for (int quad = 0; quad < size; quad += 4)
            add_quad(staged + quad * Number::size + 4 * quad_place(k), record_ + offset[k] + quad);
      }
      added_ += vectors * Number::size;
      if (added_ > between - vectors_together * Number::size) make_room();
    }
  }

 private:
  /// Flushes if a record might overflow with the next particles. Also clears the record of masked particles.
  HWY_NOINLINE void make_room() {
    std::int32_t most = 0, least = 0;
    for (int i = 0; i < cells * size; ++i) {
      most = record_[i] > most ? record_[i] : most;
      least = record_[i] < least ? record_[i] : least;
    }
    if (most >= full || least <= -full) flush();
    for (int i = cells * size; i < (cells + 1) * size; ++i) record_[i] = 0;
    added_ = 0;
  }
  void flush() {
    for (int cell = 0; cell < cells; ++cell) {
      const int x = cell % width, y = cell / width % width, z = cell / width / width;
      std::int64_t* const corner = patch_ + (z * Area::side + y) * Area::side + x;
      for (int p = 0; p < size; ++p)
        corner[Words::component(p) * Area::size + Words::offset(p)] += record_[cell * size + p];
    }
    for (int i = 0; i < cells * size; ++i) record_[i] = 0;
  }

  std::int64_t* patch_;
  int added_ = 0;
  alignas(64) std::int32_t record_[records ? (cells + 1) * size : 1];
  alignas(64) std::int32_t offset_[vectors_together * Number::size];
  alignas(64) std::int32_t staged_[records ? vectors_together * Number::size * size : 1];
};

/// The charge of particles at their new places.
template <int dimensions, int points, class Real>
class TileCharge : public TileCounts<dimensions, points, ChargeWords, Real> {
 public:
  using TileCounts<dimensions, points, ChargeWords, Real>::TileCounts;
  HWY_INLINE void stage_charge(int vector, const Clouds<dimensions, points, Real>& clouds, WholeMask<Real> mask) {
    Whole<Real> share[cloud_size<dimensions, points>];
    clouds.shares(share);
    this->stage(vector, clouds.cell, share, mask);
  }
};

/// The currents of moving particles. Moves over a border of cells are cut there; what follows waits until it fills
/// vectors.
template <int dimensions, int points, class Real>
class TileCurrent {
  using Number = Pack<Real>;
  using Move = ChargeMove<dimensions, Number, WholePack<Real>>;
  static constexpr int size = Number::size;
  static constexpr hn::ScalableTag<WholeOf<Real>> tag{};
  static constexpr hn::ScalableTag<Real> real{};

 public:
  explicit TileCurrent(std::int64_t* patches) : counts_(patches) {}

  /// Stages the moves of a vector of particles. Places are in the tile before, at most a cell outside after.
  HWY_INLINE void stage_move(int vector, Move& move, WholeMask<Real> mask) {
    constexpr WholeOf<Real> half =
        points == 3 ? WholeOf<Real>{1} << (physics::PlasmaCounts<Real>::place_bits - 1) : WholeOf<Real>{0};
    for (int a = 0; a < dimensions; ++a) {
      move.from[a] = move.from[a] + whole_constant<WholePack<Real>>(half);
      move.to[a] = move.to[a] + whole_constant<WholePack<Real>>(half);
    }
    stage_part(vector, move, mask);
  }
  HWY_INLINE void add_staged(int vectors) {
    counts_.add_staged(vectors);
    while (waiting_ >= size) add_waiting(size);
  }
  /// After the last particle.
  void finish() {
    while (waiting_ > 0) add_waiting(waiting_ < size ? waiting_ : size);
  }

 private:
  HWY_INLINE void stage_part(int vector, Move& move, WholeMask<Real> mask) {
    Move rest;
    const Number follows = cut_at_border<Real>(move, rest);
    const auto cut = hn::And(mask, hn::RebindMask(tag, hn::Gt(follows.raw, hn::Zero(real))));
    WholePack<Real> first[dimensions], flux[flux_count<dimensions, points>];
    charge_fluxes<Real, dimensions, points>(move, first, flux);
    Whole<Real> cell[dimensions], share[flux_count<dimensions, points>];
    for (int a = 0; a < dimensions; ++a)
      cell[a] = hn::Add(first[a].raw, hn::Set(tag, points - 2 + CurrentWords<dimensions, points>::margin));
    for (int f = 0; f < flux_count<dimensions, points>; ++f) share[f] = flux[f].raw;
    counts_.stage(vector, cell, share, mask);
    if (hn::AllFalse(tag, cut)) return;
    for (int a = 0; a < dimensions; ++a) {
      hn::CompressStore(rest.from[a].raw, cut, tag, from_[a] + waiting_);
      hn::CompressStore(rest.to[a].raw, cut, tag, to_[a] + waiting_);
    }
    hn::CompressStore(rest.across.raw, hn::RebindMask(real, cut), real, across_ + waiting_);
    waiting_ += static_cast<int>(hn::CountTrue(tag, cut));
  }
  /// The last `some` of the waiting parts; behind them is room.
  HWY_NOINLINE void add_waiting(int some) {
    waiting_ -= some;
    Move move;
    for (int a = 0; a < dimensions; ++a) {
      move.from[a].raw = hn::LoadU(tag, from_[a] + waiting_), move.to[a].raw = hn::LoadU(tag, to_[a] + waiting_);
    }
    move.across.raw = hn::LoadU(real, across_ + waiting_);
    stage_part(0, move, hn::FirstN(tag, static_cast<std::size_t>(some)));
    counts_.add_staged(1);
  }

  static constexpr int room = (vectors_together + 3) * size;
  TileCounts<dimensions, points, CurrentWords, Real> counts_;
  int waiting_ = 0;
  alignas(64) WholeOf<Real> from_[dimensions][room] = {}, to_[dimensions][room] = {};
  alignas(64) Real across_[room] = {};
};

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

/// The clouds of a vector of particles of a tile.
/// `weight` are those of the grid points along each axis; a cloud is their product.
template <int dimensions, int points, class Real>
struct Clouds {
  using Number = Pack<Real>;
  using Counts = physics::PlasmaCounts<Real>;
  static constexpr hn::ScalableTag<WholeOf<Real>> tag{};

  Number weight[dimensions][points];
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
      cloud_weights<points, true>(to_real(rest) * Number(1 / physics::place_grains<Real>), Number(Real(0.5)),
                                  Number(Real(1)), weight[a]);
    }
  }
  /// Cell numbers, with `side` cells in a row.
  template <int side>
  HWY_INLINE Whole<Real> number() const {
    Whole<Real> result = cell[dimensions - 1];
    for (int a = dimensions - 2; a >= 0; --a) {
      if constexpr ((side & (side - 1)) == 0)
        result = hn::Add(hn::ShiftLeft < side == 16 ? 4 : 3 > (result), cell[a]);
      else
        result = hn::Add(times<side>(result), cell[a]);
    }
    return result;
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

 private:
  /// number · side without a multiplication, which whole numbers of 64 bits lack.
  template <int side>
  static HWY_INLINE Whole<Real> times(Whole<Real> number) {
    auto sum = number;  // side = 2ⁿ + 1, or + 3
    constexpr int shift = side >= 16 ? 4 : 3;
    for (int k = 1; k < side - (1 << shift); ++k) sum = hn::Add(sum, number);
    return hn::Add(hn::ShiftLeft<shift>(number), sum);
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

/// The field of a tile for the loops.
/// With records, the values at a cell's points lie together: one load per particle replaces a gather per point.
template <int dimensions, int points, class Real>
struct TileField {
  using Area = Patch<dimensions, points>;
  static constexpr int size = cloud_size<dimensions, points>;
  static constexpr int width = tile_width<dimensions>;
  static constexpr int cells = dimensions == 3 ? width * width * width : width * width;
  static constexpr int record = dimensions * size;  // components one after the other, each with its points
  static_assert(!by_records<points, Real> || record == 8 || record == 24);
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
        for (int a = 0; a < dimensions; ++a)
          for (int p = 0; p < size; ++p)
            to[a * size + p] = corner[a * Area::size + cloud_offset<dimensions, points>(p)];
      }
    }
  }

  /// Where the records of the clouds' cells begin.
  static HWY_INLINE Whole<Real> record_offsets(const Clouds<dimensions, points, Real>& clouds) {
    const auto number = clouds.template number<width>(), eight = hn::ShiftLeft<3>(number);
    return dimensions == 3 ? hn::Add(eight, hn::ShiftLeft<4>(number)) : eight;
  }
  HWY_INLINE Vec3<Pack<Real>> at(const Clouds<dimensions, points, Real>& clouds, const std::int32_t* offset) const {
    using Number = Pack<Real>;
    Number electric[3] = {Number(Real(0)), Number(Real(0)), Number(Real(0))};
    constexpr int together = records ? 8 / size : 1;  // components that are fetched at once
    Number values[together * size];
    for (int a = 0; a < dimensions; a += together) {
      if constexpr (records) {
        load_records(value + a * size, offset, values);
      } else {
        const auto number = clouds.template number<Area::side>();
        for (int p = 0; p < size; ++p)
          values[p].raw = hn::GatherIndex(hn::ScalableTag<Real>(),
                                          patch + a * Area::size + cloud_offset<dimensions, points>(p), number);
      }
      for (int b = 0; b < together; ++b)
        electric[a + b] = interpolate<dimensions, points>(clouds.weight, values + b * size);
    }
    return {electric[0], electric[1], electric[2]};
  }
};

/// The charge of a tile while it is counted: in records of cells in 32 bits, for some vectors of particles at a time,
/// or at once in the patch.
/// Records hold 32-bit sums, which overflow after some thousand particles: flush() adds them to the 64-bit patch in
/// time.
template <int dimensions, int points, class Real>
class TileCharge {
  using Area = Patch<dimensions, points>;
  using Number = Pack<Real>;
  static constexpr int size = cloud_size<dimensions, points>;
  static constexpr int width = tile_width<dimensions>;
  static constexpr int cells = dimensions == 3 ? width * width * width : width * width;
  static constexpr bool records = by_records<points, Real>;
  static constexpr std::int32_t full = 1 << 30;  // a record then takes 1000 more particles, but not 2000
  static constexpr int between = 1000;

 public:
  explicit TileCharge(std::int64_t* patch) : patch_(patch) {
    if constexpr (records)
      for (int i = 0; i < (cells + 1) * size; ++i) record_[i] = 0;
  }
  ~TileCharge() {
    if constexpr (records) flush();
  }

  /// Stages the masked particles of one of vectors_together vectors; add_staged() counts them.
  HWY_INLINE void stage(int vector, const Clouds<dimensions, points, Real>& clouds, WholeMask<Real> mask) {
    Whole<Real> share[size];
    clouds.shares(share);
    if constexpr (records) {
      const auto number = clouds.template number<width>();
      const auto kept = hn::IfThenElse(mask, number, hn::Set(clouds.tag, cells));  // the rest goes to the last record
      hn::Store(hn::ShiftLeft < dimensions == 3 ? 3 : 2 > (kept), clouds.tag, offset_ + vector * Number::size);
      for (int quad = 0; quad < size; quad += 4)
        store_quads(share + quad, staged_ + vector * Number::size * size + quad * Number::size);
    } else {
      alignas(64) WholeOf<Real> shares[size][Number::size], first[Number::size];
      for (int p = 0; p < size; ++p) hn::Store(share[p], clouds.tag, shares[p]);
      hn::Store(clouds.template number<Area::side>(), clouds.tag, first);
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(clouds.tag, mask, bits);
      for (int k = 0; k < Number::size; ++k)
        if (bits[k / 8] >> (k % 8) & 1)
          for (int p = 0; p < size; ++p) patch_[first[k] + cloud_offset<dimensions, points>(p)] += shares[p][k];
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
    std::int32_t most = 0;
    for (int i = 0; i < cells * size; ++i) most = record_[i] > most ? record_[i] : most;
    if (most >= full) flush();
    for (int i = cells * size; i < (cells + 1) * size; ++i) record_[i] = 0;
    added_ = 0;
  }
  void flush() {
    for (int cell = 0; cell < cells; ++cell) {
      const int x = cell % width, y = cell / width % width, z = cell / width / width;
      std::int64_t* const corner = patch_ + (z * Area::side + y) * Area::side + x;
      for (int p = 0; p < size; ++p) corner[cloud_offset<dimensions, points>(p)] += record_[cell * size + p];
    }
    for (int i = 0; i < cells * size; ++i) record_[i] = 0;
  }

  std::int64_t* patch_;
  int added_ = 0;
  alignas(64) std::int32_t record_[records ? (cells + 1) * size : 1];
  alignas(64) std::int32_t offset_[vectors_together * Number::size];
  alignas(64) std::int32_t staged_[records ? vectors_together * Number::size * size : 1];
};

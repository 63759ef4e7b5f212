// Numbers of each cell that are read or added to for a vector of particles at once. No include guard: included once
// per instruction set, inside its namespace, after device/simd_pack.inl. Only for floats and for AVX2 and AVX-512
// (has_cell_records); a gather or a scatter would take several times as long.

/// Where store_quads() puts the quad of particle k of a vector.
constexpr int quad_place(int k) { return k % 4 * (Pack<float>::size / 4) + k / 4; }

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

inline constexpr bool has_cell_records = true;

using FloatVector = Pack<float>::Vector;
using WholeTag = hn::ScalableTag<std::int32_t>;
using WholeVector = hn::Vec<WholeTag>;

/// Rows and columns of the 4 × 4 matrices in the 128-bit blocks of four vectors change places.
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

/// The quads that share[0 … 3] are for each particle of a vector: that of particle k at to + 4 quad_place(k).
HWY_INLINE void store_quads(const WholeVector* share, std::int32_t* to) {
  WholeVector quad[4] = {share[0], share[1], share[2], share[3]};
  transpose_blocks(quad[0], quad[1], quad[2], quad[3]);
  for (int j = 0; j < 4; ++j) hn::Store(quad[j], WholeTag(), to + j * Pack<float>::size);
}

HWY_INLINE void add_quad(const std::int32_t* quad, std::int32_t* to) {
  __m128i* const at = reinterpret_cast<__m128i*>(to);
  const __m128i more = _mm_load_si128(reinterpret_cast<const __m128i*>(quad));
  _mm_store_si128(at, _mm_add_epi32(_mm_load_si128(at), more));
}

#else

inline constexpr bool has_cell_records = false;

#endif

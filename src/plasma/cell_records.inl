// Four numbers of each cell that are read or added to for a vector of particles at once. No include guard: included once
// per instruction set, inside its namespace, after device/simd_pack.inl. Only for floats and for AVX2 and AVX-512
// (has_cell_records); a record of a cell is one or more such quads, and a gather or a scatter would take several times
// as long.

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
/// Quads for particles k, k + 4, k + 8, k + 12, one after the other.
HWY_INLINE FloatVector load_quads(const float* from, const std::int32_t* offset) {
  __m512 quads = _mm512_castps128_ps512(_mm_load_ps(from + offset[0]));
  quads = _mm512_insertf32x4(quads, _mm_load_ps(from + offset[4]), 1);
  quads = _mm512_insertf32x4(quads, _mm_load_ps(from + offset[8]), 2);
  return FloatVector{_mm512_insertf32x4(quads, _mm_load_ps(from + offset[12]), 3)};
}
HWY_INLINE void add_quad(__m128i quad, std::int32_t* to) {
  __m128i* const at = reinterpret_cast<__m128i*>(to);
  _mm_store_si128(at, _mm_add_epi32(_mm_load_si128(at), quad));
}
HWY_INLINE void add_quads(WholeVector quads, std::int32_t* to, const std::int32_t* offset) {
  add_quad(_mm512_castsi512_si128(quads.raw), to + offset[0]);
  add_quad(_mm512_extracti32x4_epi32(quads.raw, 1), to + offset[4]);
  add_quad(_mm512_extracti32x4_epi32(quads.raw, 2), to + offset[8]);
  add_quad(_mm512_extracti32x4_epi32(quads.raw, 3), to + offset[12]);
}
#else
/// Quads for particles k and k + 4, one after the other.
HWY_INLINE FloatVector load_quads(const float* from, const std::int32_t* offset) {
  const __m256 low = _mm256_castps128_ps256(_mm_load_ps(from + offset[0]));
  return FloatVector{_mm256_insertf128_ps(low, _mm_load_ps(from + offset[4]), 1)};
}
HWY_INLINE void add_quad(__m128i quad, std::int32_t* to) {
  __m128i* const at = reinterpret_cast<__m128i*>(to);
  _mm_store_si128(at, _mm_add_epi32(_mm_load_si128(at), quad));
}
HWY_INLINE void add_quads(WholeVector quads, std::int32_t* to, const std::int32_t* offset) {
  add_quad(_mm256_castsi256_si128(quads.raw), to + offset[0]);
  add_quad(_mm256_extracti128_si256(quads.raw, 1), to + offset[4]);
}
#endif

/// value[j] of particle k becomes number j of the quad at from + offset[k].
HWY_INLINE void load_records(const float* from, const std::int32_t* offset, Pack<float>* value) {
  for (int j = 0; j < 4; ++j) value[j].raw = load_quads(from, offset + j);
  transpose_blocks(value[0].raw, value[1].raw, value[2].raw, value[3].raw);
}
/// Adds share[j] of particle k to number j of the quad at to + offset[k]; particles may have the same.
HWY_INLINE void add_records(const WholeVector* share, std::int32_t* to, const std::int32_t* offset) {
  WholeVector quad[4] = {share[0], share[1], share[2], share[3]};
  transpose_blocks(quad[0], quad[1], quad[2], quad[3]);
  for (int j = 0; j < 4; ++j) add_quads(quad[j], to, offset + j);
}

#else

inline constexpr bool has_cell_records = false;

#endif

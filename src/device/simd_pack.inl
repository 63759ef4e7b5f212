// A pack of numbers that is used like one number: a thin wrapper over a Highway vector. Formulas in physics/ are
// templates over the number type, so the same lines serve float, double and a pack. No include guard: included once per
// instruction set, inside its namespace. `hn` means hwy::HWY_NAMESPACE there.

template <class T>
struct Pack {
  using Number = T;
  using Tag = hn::ScalableTag<T>;
  using Vector = hn::Vec<Tag>;
  Vector raw;

  static constexpr int size = static_cast<int>(hn::MaxLanes(Tag()));

  Pack() = default;
  HWY_INLINE explicit Pack(Vector vector) : raw(vector) {}
  HWY_INLINE explicit Pack(T number) : raw(hn::Set(Tag(), number)) {}
  /// `size` numbers from an address that is a multiple of the size of a pack.
  static HWY_INLINE Pack load(const T* from) { return Pack(hn::Load(Tag(), from)); }
  HWY_INLINE void store(T* to) const { hn::Store(raw, Tag(), to); }
};

template <class T>
HWY_INLINE Pack<T> operator+(Pack<T> a, Pack<T> b) {
  return Pack<T>(hn::Add(a.raw, b.raw));
}
template <class T>
HWY_INLINE Pack<T> operator-(Pack<T> a, Pack<T> b) {
  return Pack<T>(hn::Sub(a.raw, b.raw));
}
template <class T>
HWY_INLINE Pack<T> operator*(Pack<T> a, Pack<T> b) {
  return Pack<T>(hn::Mul(a.raw, b.raw));
}
template <class T>
HWY_INLINE Pack<T> operator/(Pack<T> a, Pack<T> b) {
  return Pack<T>(hn::Div(a.raw, b.raw));
}
template <class T>
HWY_INLINE Pack<T> mul_add(Pack<T> a, Pack<T> b, Pack<T> c) {
  return Pack<T>(hn::MulAdd(a.raw, b.raw, c.raw));
}
/// c − a b.
template <class T>
HWY_INLINE Pack<T> negative_mul_add(Pack<T> a, Pack<T> b, Pack<T> c) {
  return Pack<T>(hn::NegMulAdd(a.raw, b.raw, c.raw));
}
template <class T>
HWY_INLINE Pack<T> larger(Pack<T> a, Pack<T> b) {
  return Pack<T>(hn::Max(a.raw, b.raw));
}
template <class T>
HWY_INLINE Pack<T> smaller(Pack<T> a, Pack<T> b) {
  return Pack<T>(hn::Min(a.raw, b.raw));
}
/// Where a = b: yes, else: no.
template <class T>
HWY_INLINE Pack<T> where_equal(Pack<T> a, Pack<T> b, Pack<T> yes, Pack<T> no) {
  return Pack<T>(hn::IfThenElse(hn::Eq(a.raw, b.raw), yes.raw, no.raw));
}

/// Where a < b: yes, else: no.
template <class T>
HWY_INLINE Pack<T> where_less(Pack<T> a, Pack<T> b, Pack<T> yes, Pack<T> no) {
  return Pack<T>(hn::IfThenElse(hn::Lt(a.raw, b.raw), yes.raw, no.raw));
}
/// Whether a < b nowhere.
template <class T>
HWY_INLINE bool none_less(Pack<T> a, Pack<T> b) {
  return hn::AllFalse(typename Pack<T>::Tag(), hn::Lt(a.raw, b.raw));
}

/// A constant as a number of type R: a pack, float or double.
template <class R>
HWY_INLINE R number(double value) {
  if constexpr (std::is_floating_point_v<R>)
    return static_cast<R>(value);
  else
    return R(static_cast<typename R::Number>(value));
}
/// The smallest one that is not denormal.
template <class R>
HWY_INLINE R smallest_number() {
  return R(std::numeric_limits<typename R::Number>::min());
}

/// A better 1/√a from y ≈ 1/√a: Newton's step.
HWY_INLINE Pack<float> refined_rsqrt(Pack<float> a, Pack<float> y) {
  const Pack<float> e = negative_mul_add(a * y, y, Pack<float>(1.0f));
  return mul_add(y * Pack<float>(0.5f), e, y);
}
/// 1/√a as good as one instruction gives it.
HWY_INLINE Pack<float> rough_rsqrt(Pack<float> a) { return Pack<float>(hn::ApproximateReciprocalSqrt(a.raw)); }
/// 1/√a. With y ≈ 1/√a and e = 1 − a y², 1/√a = y (1 − e)^(−1/2) = y (1 + e/2 + 3/8 e² + 5/16 e³ + …). Float: the
/// approximation is good to 2^-14 (AVX-512), 1.5 · 2^-12 (AVX2) or 2^-8 (NEON), and the series ends after e/2, a Newton
/// step, of which NEON takes two: what is left out is below 2^-26, 2^-23.2 or 2^-29.
HWY_INLINE Pack<float> rsqrt(Pack<float> a) {
#if HWY_TARGET == HWY_SCALAR
  return Pack<float>(hn::Div(hn::Set(Pack<float>::Tag(), 1.0f), hn::Sqrt(a.raw)));
#else
  const Pack<float> y = refined_rsqrt(a, Pack<float>(hn::ApproximateReciprocalSqrt(a.raw)));
#if HWY_TARGET == HWY_NEON
  return refined_rsqrt(a, y);
#else
  return y;
#endif
#endif
}
/// Double: the approximation is good to 2^-14, |e| < 2^-13, and the series ends after 5/16 e³: what is left out is
/// below 2^-53.8.
HWY_INLINE Pack<double> rsqrt(Pack<double> a) {
#if HWY_TARGET == HWY_AVX3
  const Pack<double> y(Pack<double>::Vector{_mm512_rsqrt14_pd(a.raw.raw)});
  const Pack<double> e = negative_mul_add(a * y, y, Pack<double>(1.0));
  const Pack<double> series = mul_add(mul_add(Pack<double>(0.3125), e, Pack<double>(0.375)), e, Pack<double>(0.5));
  return mul_add(y * e, series, y);
#else
  return Pack<double>(hn::Div(hn::Set(Pack<double>::Tag(), 1.0), hn::Sqrt(a.raw)));
#endif
}

/// Adds the numbers of a pack times a factor, lane by lane, to doubles in memory.
HWY_INLINE void add_to_doubles(Pack<double> values, double factor, double* to) {
  mul_add(values, Pack<double>(factor), Pack<double>::load(to)).store(to);
}
HWY_INLINE void add_to_doubles(Pack<float> values, double factor, double* to) {
  const Pack<double>::Tag tag;
#if HWY_TARGET == HWY_SCALAR
  add_to_doubles(Pack<double>(hn::PromoteTo(tag, values.raw)), factor, to);
#else
  const hn::Half<Pack<float>::Tag> half;
  add_to_doubles(Pack<double>(hn::PromoteTo(tag, hn::LowerHalf(half, values.raw))), factor, to);
  add_to_doubles(Pack<double>(hn::PromoteTo(tag, hn::UpperHalf(half, values.raw))), factor, to + Pack<double>::size);
#endif
}

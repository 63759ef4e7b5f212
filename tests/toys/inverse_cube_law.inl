// A pair law from outside the house, as a user may write one: gravity in four dimensions. No include guard, as
// physics/pair.inl: it is included for double and, once per SIMD instruction set, for packs of numbers.
//   potential −m / (2 s)    acceleration m d / s²    jerk m (w / s² − 4 (d·w) d / s³)    s = r² + ε²
struct InverseCubeLaw {
  using Rough = InverseCubeLaw;
  static constexpr bool few_operations = false;
  static constexpr double factor = 1;
  static PERGOLA_HD_INLINE double softening_number(double epsilon_squared) { return epsilon_squared; }
  static PERGOLA_HD_INLINE bool is_unsoftened(double number) { return number == 0; }
  template <class R>
  static PERGOLA_HD_INLINE R joint(R a, R b) {
    return larger(a, b);
  }
  /// 1/√s.
  template <class R>
  static PERGOLA_HD_INLINE R start(const Vec3<R>& d, R epsilon_squared) {
    return rsqrt(softened_square(d, epsilon_squared));
  }
  template <class R, class Zero>
  static PERGOLA_HD_INLINE void leave_out(const Zero& zero, R& inverse, R&) {
    inverse = zero(inverse);
  }
  template <bool with_jerk, bool with_potential, class R>
  static PERGOLA_HD_INLINE void add(const Vec3<R>& d, const Vec3<R>& w, R mass, R inverse, R epsilon_squared,
                                    PairSum<R>& sum) {
    const R inverse2 = inverse * inverse;
    const R m_s2 = (mass * inverse2) * inverse2;
    if constexpr (with_potential) add_potential(mass, inverse, epsilon_squared, sum.pot);
    sum.ax = mul_add(m_s2, d.x, sum.ax);
    sum.ay = mul_add(m_s2, d.y, sum.ay);
    sum.az = mul_add(m_s2, d.z, sum.az);
    if constexpr (with_jerk) {
      const R factor_d = mul_add(d.x, w.x, mul_add(d.y, w.y, d.z * w.z)) * inverse2 * number<R>(-4);
      sum.jx = mul_add(m_s2, mul_add(factor_d, d.x, w.x), sum.jx);
      sum.jy = mul_add(m_s2, mul_add(factor_d, d.y, w.y), sum.jy);
      sum.jz = mul_add(m_s2, mul_add(factor_d, d.z, w.z), sum.jz);
    }
  }
  template <class R>
  static PERGOLA_HD_INLINE void add_potential(R mass, R inverse, R, R& potential) {
    potential = potential - (mass * inverse) * (inverse * number<R>(0.5));
  }
};

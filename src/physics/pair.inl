// The gravitational pair law. No include guard: physics/pair.hpp includes this for float and double on CPU and GPU, and
// gravity/direct_kernels.cpp once per SIMD instruction set, inside that instruction set's namespace, for packs of
// numbers. It uses mul_add(a, b, c) = a b + c of the number type R, and negative_mul_add(a, b, c) = c − a b of packs.

/// What is summed over the sources of one target (or of one pack of targets).
template <class R>
struct PairSum {
  R ax, ay, az;
  R jx, jy, jz;
  R pot;
};

/// r² + ε² of a pair with separation d.
template <class R>
PERGOLA_HD_INLINE R softened_square(const Vec3<R>& d, R epsilon_squared) {
  return mul_add(d.x, d.x, mul_add(d.y, d.y, mul_add(d.z, d.z, epsilon_squared)));
}

/// Adds one source to the sums. With d = x_j − x_i, w = v_j − v_i and 1/r the inverse of √(d² + ε²) (Plummer
/// softening):
///   acceleration  m d / r³                              (kirin eq. 1, with the sign that attracts)
///   jerk          m (w / r³ − 3 (d·w) d / r⁵)           (Makino & Aarseth 1992, eq. 3)
///   potential     −m / r
template <bool with_jerk, bool with_potential, class R>
PERGOLA_HD_INLINE void add_pair(const Vec3<R>& d, const Vec3<R>& w, R mass, R inverse_r, PairSum<R>& sum) {
  const R m_r = mass * inverse_r;
  const R inverse_r2 = inverse_r * inverse_r;
  const R m_r3 = m_r * inverse_r2;
  if constexpr (with_potential) sum.pot = sum.pot - m_r;
  sum.ax = mul_add(m_r3, d.x, sum.ax);
  sum.ay = mul_add(m_r3, d.y, sum.ay);
  sum.az = mul_add(m_r3, d.z, sum.az);
  if constexpr (with_jerk) {
    const R dw = mul_add(d.x, w.x, mul_add(d.y, w.y, d.z * w.z));
    const R factor = (dw * inverse_r2) * R(-3);
    sum.jx = mul_add(m_r3, mul_add(factor, d.x, w.x), sum.jx);
    sum.jy = mul_add(m_r3, mul_add(factor, d.y, w.y), sum.jy);
    sum.jz = mul_add(m_r3, mul_add(factor, d.z, w.z), sum.jz);
  }
}

/// Adds two thirds of acceleration and potential of one source, from y = (1 ± 2^-14) / r in place of 1/r. With s = r²
/// y², where s is close to 1,
///   1/r³ = y³ s^(−3/2) ≈ 3/2 y³ (5/3 − s)    and    m / r = r² (m / r³);
/// what is left out is 15/8 (1 − s)², below 2^-25. `five_thirds` is 5/3 as a number of type R: the sums are to be
/// multiplied by 1/(five_thirds − 1). For fp32 with a rough reciprocal root this takes two operations less than
/// refining y first.
template <bool with_potential, class R>
PERGOLA_HD_INLINE void add_two_thirds_of_pair(const Vec3<R>& d, R mass, R square, R y, R five_thirds, PairSum<R>& sum) {
  const R y2 = y * y;
  const R m_r3 = (mass * y) * y2 * negative_mul_add(square, y2, five_thirds);
  sum.ax = mul_add(m_r3, d.x, sum.ax);
  sum.ay = mul_add(m_r3, d.y, sum.ay);
  sum.az = mul_add(m_r3, d.z, sum.az);
  if constexpr (with_potential) sum.pot = negative_mul_add(square, m_r3, sum.pot);
}

/// The potential only.
template <class R>
PERGOLA_HD_INLINE void add_pair_potential(R mass, R inverse_r, R& pot) {
  pot = pot - mass * inverse_r;
}

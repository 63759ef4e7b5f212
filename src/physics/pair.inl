// The gravitational pair law. No include guard: physics/pair.hpp includes this for float and double on CPU and GPU, and
// gravity/direct_cpu.cpp once per SIMD instruction set, inside that instruction set's namespace, for packs of numbers.
// It uses mul_add(a, b, c) = a b + c and rsqrt(a) of the number type R.

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

/// The same without acceleration: potential only.
template <class R>
PERGOLA_HD_INLINE void add_pair_potential(R mass, R inverse_r, R& pot) {
  pot = pot - mass * inverse_r;
}

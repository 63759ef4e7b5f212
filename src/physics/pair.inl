// The gravitational pair law. No include guard: physics/pair.hpp includes this for float and double on CPU and GPU, and
// gravity/direct_kernels.cpp once per SIMD instruction set, inside that instruction set's namespace, for packs of
// numbers. It uses mul_add(a, b, c) = a b + c and what physics/number.hpp declares of the number type R, and
// negative_mul_add(a, b, c) = c − a b of packs.
//
// The short-range force of TreePM is a law less the long-range one (physics/split.inl). For cells it enters through the
// radial derivatives in physics/expansion.inl, its cut-off radius through the opening test (nearest_apart there).

/// Sums over the sources of one target (or of one pack of targets).
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

/// Two thirds of m / r³; see add_two_thirds_of_pair().
template <class R>
PERGOLA_HD_INLINE R two_thirds_of_attraction(R mass, R square, R y, R five_thirds) {
  const R y2 = y * y;
  return (mass * y) * y2 * negative_mul_add(square, y2, five_thirds);
}

/// Adds two thirds of acceleration and potential of one source, from y = (1 ± 2^-14) / r in place of 1/r. With s = r²
/// y², where s is close to 1,
///   1/r³ = y³ s^(−3/2) ≈ 3/2 y³ (5/3 − s)    and    m / r = r² (m / r³);
/// the error is 15/8 (1 − s)², below 2^-25. `five_thirds` is 5/3 as a number of type R: the sums must be multiplied by
/// 1/(five_thirds − 1). For fp32 with a rough reciprocal root this takes two operations less than refining y first.
template <bool with_potential, class R>
PERGOLA_HD_INLINE void add_two_thirds_of_pair(const Vec3<R>& d, R mass, R square, R y, R five_thirds, PairSum<R>& sum) {
  const R m_r3 = two_thirds_of_attraction(mass, square, y, five_thirds);
  sum.ax = mul_add(m_r3, d.x, sum.ax);
  sum.ay = mul_add(m_r3, d.y, sum.ay);
  sum.az = mul_add(m_r3, d.z, sum.az);
  if constexpr (with_potential) sum.pot = negative_mul_add(square, m_r3, sum.pot);
}

/// m / r³.
template <class R>
PERGOLA_HD_INLINE R pair_attraction(R mass, R inverse_r) {
  return (mass * inverse_r) * (inverse_r * inverse_r);
}

/// The potential only.
template <class R>
PERGOLA_HD_INLINE void add_pair_potential(R mass, R inverse_r, R& pot) {
  pot = pot - mass * inverse_r;
}

/// The spline kernel: the law of a mass with the density of SPH's cubic spline in a sphere of radius h (Springel,
/// Yoshida & White 2001, New Astron. 6, 79, eqs. 71 and A1; Springel 2005, MNRAS 364, 1105, eq. 4). With u = r/h:
///   u < 1/2   in units of h, p(u) and g(u) are the papers' polynomials: potential −m p/h, acceleration m g d/h³
///   u ≥ 1/2   with s = 1 − u, or 0 beyond u = 1, it is Newton's law of the mass within r, m (1 − s⁴ (16 − 128/5 s +
///             32/3 s²)), and the potential is −m/r (1 − s⁵ (16/5 − 32/15 s)): the papers' polynomials once more, but
///             these are exact beyond h, and lose no digits near it.
/// All is in powers of `scale`, 1/h or 1/r, the counterpart of inverse_r in add_pair().
template <class R>
struct SplineDistance {
  R scale, u, u2, s, s4;

  PERGOLA_HD_INLINE SplineDistance(R square, R inverse_h) {
    square = larger(square, smallest_number<R>());
    const R inverse_r = rsqrt(square);
    u = square * inverse_r * inverse_h;
    u2 = u * u;
    s = larger(number<R>(1) - u, number<R>(0));
    s4 = (s * s) * (s * s);
    scale = choose(inverse_h, inverse_r);
  }
  /// Whether all of a pack is beyond h. Newton's law then takes a third of the operations, with the same bits: s is 0
  /// and attraction and depth are 1. Single numbers are not asked: on a GPU the branch costs more than it saves.
  PERGOLA_HD_INLINE bool is_beyond() const {
    if constexpr (std::is_floating_point_v<R>)
      return false;
    else
      return none_less(u, number<R>(1));
  }
  PERGOLA_HD_INLINE R choose(R inside, R outside) const { return where_less(u, number<R>(0.5), inside, outside); }

  /// acceleration = m scale³ attraction() d
  PERGOLA_HD_INLINE R attraction() const {
    const R beyond = s4 * mul_add(s, mul_add(s, number<R>(32.0 / 3), number<R>(-25.6)), number<R>(16));
    return choose(mul_add(u2, mul_add(u, number<R>(32), number<R>(-38.4)), number<R>(32.0 / 3)), number<R>(1) - beyond);
  }
  /// r d/dr of m scale³ attraction(), over m scale⁵ r²; attraction is given.
  PERGOLA_HD_INLINE R tide(R attraction) const {
    const R us = smaller(u, number<R>(1)) * s;
    return choose(mul_add(u, number<R>(96), number<R>(-76.8)),
                  mul_add(number<R>(64) * us, us * us, number<R>(-3) * attraction));
  }
  /// potential = −m scale depth()
  PERGOLA_HD_INLINE R depth() const {
    const R less = (s4 * s) * mul_add(s, number<R>(-32.0 / 15), number<R>(3.2));
    const R inside =
        mul_add(u2, mul_add(u2, mul_add(u, number<R>(-6.4), number<R>(9.6)), number<R>(-16.0 / 3)), number<R>(2.8));
    return choose(inside, number<R>(1) - less);
  }
};

/// Adds one source with spline softening to the sums; d and w as in add_pair(), square = d².
template <bool with_jerk, bool with_potential, class R>
PERGOLA_HD_INLINE void add_spline_pair(const Vec3<R>& d, const Vec3<R>& w, R mass, R square, R inverse_h,
                                       PairSum<R>& sum) {
  const SplineDistance<R> at(square, inverse_h);
  if (at.is_beyond()) return add_pair<with_jerk, with_potential>(d, w, mass, at.scale, sum);
  const R m = mass * at.scale, scale2 = at.scale * at.scale;
  const R attraction = at.attraction();
  const R m_scale3 = m * scale2;
  const R factor = m_scale3 * attraction;
  if constexpr (with_potential) sum.pot = sum.pot - m * at.depth();
  sum.ax = mul_add(factor, d.x, sum.ax);
  sum.ay = mul_add(factor, d.y, sum.ay);
  sum.az = mul_add(factor, d.z, sum.az);
  if constexpr (with_jerk) {
    const R dw = mul_add(d.x, w.x, mul_add(d.y, w.y, d.z * w.z));
    const R along = (dw * scale2) * at.tide(attraction);
    sum.jx = mul_add(m_scale3, mul_add(along, d.x, attraction * w.x), sum.jx);
    sum.jy = mul_add(m_scale3, mul_add(along, d.y, attraction * w.y), sum.jy);
    sum.jz = mul_add(m_scale3, mul_add(along, d.z, attraction * w.z), sum.jz);
  }
}

/// acceleration = spline_attraction() d, potential = −spline_depth().
template <class R>
PERGOLA_HD_INLINE R spline_attraction(R mass, R square, R inverse_h) {
  const SplineDistance<R> at(square, inverse_h);
  const R newton = pair_attraction(mass, at.scale);
  return at.is_beyond() ? newton : newton * at.attraction();
}
template <class R>
PERGOLA_HD_INLINE R spline_depth(R mass, R square, R inverse_h) {
  const SplineDistance<R> at(square, inverse_h);
  return mass * at.scale * at.depth();
}

/// The potential only.
template <class R>
PERGOLA_HD_INLINE void add_spline_potential(R mass, R square, R inverse_h, R& pot) {
  pot = pot - spline_depth(mass, square, inverse_h);
}

// The laws as types. Loops take a law as a template argument; all its members are static. A law turns a softening
// length into its own `number`:
//   few_operations            whether a pair takes so few operations that separate loops for one softening length, and
//                             for accelerations without potentials, are worthwhile
//   support                   beyond this number of softening lengths the law is Newton's, and within it has no
//                             expansion about a centre; 0: it has one everywhere, with the larger ε of two cells
//   softening_number(ε²)      the number of a length; is_unsoftened(number): whether it is that of no softening
//   joint(a, b)               the number of a pair from those of its particles
//   start(d, number)          prepares the distance: loops start several pairs before they end the first
//   leave_out(zero, distance, mass)   removes a particle's pair with itself, in which lanes zero(value) is 0
//   add<with_jerk, with_potential>(d, w, mass, distance, number, sum)     adds the pair
//   add_potential(mass, distance, number, potential)                      its potential only
//   attraction(mass, distance, number)            acceleration = attraction d, and
//   depth(mass, distance, number, attraction)     potential = −depth; TreePM subtracts its long range from both
//   Rough                     the law for sums of fp32 with a rough 1/√ (AVX-512: rough_rsqrt); its sums must be
//                             multiplied by its `factor`. The law itself if there is nothing to gain

/// PlummerLaw from a 1/√ that is good to 2^-14.
struct RoughPlummerLaw {
  static constexpr float five_thirds = 5.0f / 3.0f;
  static constexpr double factor = 1.0 / (static_cast<double>(five_thirds) - 1.0);
  template <class R>
  struct Distance {
    R square, inverse;
  };
  template <class R>
  static PERGOLA_HD_INLINE R joint(R a, R b) {
    return larger(a, b);
  }
  template <class R>
  static PERGOLA_HD_INLINE Distance<R> start(const Vec3<R>& d, R epsilon_squared) {
    const R square = softened_square(d, epsilon_squared);
    return {square, rough_rsqrt(square)};
  }
  template <class R, class Zero>
  static PERGOLA_HD_INLINE void leave_out(const Zero& zero, Distance<R>& distance, R&) {
    distance = {zero(distance.square), zero(distance.inverse)};
  }
  template <bool with_jerk, bool with_potential, class R>
  static PERGOLA_HD_INLINE void add(const Vec3<R>& d, const Vec3<R>&, R mass, const Distance<R>& at, R,
                                    PairSum<R>& sum) {
    static_assert(!with_jerk);
    add_two_thirds_of_pair<with_potential>(d, mass, at.square, at.inverse, number<R>(five_thirds), sum);
  }
  template <class R>
  static PERGOLA_HD_INLINE R attraction(R mass, const Distance<R>& at, R) {
    return two_thirds_of_attraction(mass, at.square, at.inverse, number<R>(five_thirds));
  }
  template <class R>
  static PERGOLA_HD_INLINE R depth(R, const Distance<R>& at, R, R attraction) {
    return at.square * attraction;
  }
};

/// Plummer's sphere: 1/√(r² + ε²), the larger ε of a pair. Its number is ε².
struct PlummerLaw {
  using Rough = RoughPlummerLaw;
  static constexpr bool few_operations = true;
  static constexpr double factor = 1, support = 0;
  static PERGOLA_HD_INLINE double softening_number(double epsilon_squared) {
    return physics::softening_number(SofteningKernel::plummer, epsilon_squared);
  }
  static PERGOLA_HD_INLINE bool is_unsoftened(double number) { return number == 0; }
  template <class R>
  static PERGOLA_HD_INLINE R joint(R a, R b) {
    return larger(a, b);
  }
  template <class R>
  static PERGOLA_HD_INLINE R start(const Vec3<R>& d, R epsilon_squared) {
    return rsqrt(softened_square(d, epsilon_squared));
  }
  template <class R, class Zero>
  static PERGOLA_HD_INLINE void leave_out(const Zero& zero, R& inverse_r, R&) {
    inverse_r = zero(inverse_r);
  }
  template <bool with_jerk, bool with_potential, class R>
  static PERGOLA_HD_INLINE void add(const Vec3<R>& d, const Vec3<R>& w, R mass, R inverse_r, R, PairSum<R>& sum) {
    add_pair<with_jerk, with_potential>(d, w, mass, inverse_r, sum);
  }
  template <class R>
  static PERGOLA_HD_INLINE void add_potential(R mass, R inverse_r, R, R& potential) {
    add_pair_potential(mass, inverse_r, potential);
  }
  template <class R>
  static PERGOLA_HD_INLINE R attraction(R mass, R inverse_r, R) {
    return pair_attraction(mass, inverse_r);
  }
  template <class R>
  static PERGOLA_HD_INLINE R depth(R mass, R inverse_r, R, R) {
    return mass * inverse_r;
  }
};

/// The cubic spline of GADGET, Newton's law from h = 2.8 ε on, the larger h of a pair. Its number is 1/h.
struct SplineLaw {
  using Rough = SplineLaw;
  static constexpr bool few_operations = false;
  static constexpr double factor = 1, support = physics::spline_support;
  static PERGOLA_HD_INLINE double softening_number(double epsilon_squared) {
    return physics::softening_number(SofteningKernel::spline, epsilon_squared);
  }
  static PERGOLA_HD_INLINE bool is_unsoftened(double number) { return std::isinf(number); }
  template <class R>
  static PERGOLA_HD_INLINE R joint(R a, R b) {
    return smaller(a, b);
  }
  /// r².
  template <class R>
  static PERGOLA_HD_INLINE R start(const Vec3<R>& d, R) {
    return softened_square(d, number<R>(0));
  }
  template <class R, class Zero>
  static PERGOLA_HD_INLINE void leave_out(const Zero& zero, R&, R& mass) {
    mass = zero(mass);
  }
  template <bool with_jerk, bool with_potential, class R>
  static PERGOLA_HD_INLINE void add(const Vec3<R>& d, const Vec3<R>& w, R mass, R square, R inverse_h,
                                    PairSum<R>& sum) {
    add_spline_pair<with_jerk, with_potential>(d, w, mass, square, inverse_h, sum);
  }
  template <class R>
  static PERGOLA_HD_INLINE void add_potential(R mass, R square, R inverse_h, R& potential) {
    add_spline_potential(mass, square, inverse_h, potential);
  }
  template <class R>
  static PERGOLA_HD_INLINE R attraction(R mass, R square, R inverse_h) {
    return spline_attraction(mass, square, inverse_h);
  }
  template <class R>
  static PERGOLA_HD_INLINE R depth(R mass, R square, R inverse_h, R) {
    return spline_depth(mass, square, inverse_h);
  }
};

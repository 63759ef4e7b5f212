// The split of gravity into a short and a long range, for any number type. No include guard, as physics/pair.inl. The
// law and its polynomials: physics/split.hpp.

/// Σ c_p z^p of the first terms.
template <int terms, int n, class R, class T>
PERGOLA_HD_INLINE R first_split_terms(const T (&coefficient)[n], R z) {
  static_assert(terms <= n);
  R sum = number<R>(coefficient[terms - 1]);
  for (int p = terms - 2; p >= 0; --p) sum = mul_add(sum, z, number<R>(coefficient[p]));
  return sum;
}

/// With all terms.
template <int n, class R, class T>
PERGOLA_HD_INLINE R split_polynomial(const T (&coefficient)[n], R z) {
  return first_split_terms<n>(coefficient, z);
}

/// The argument z of the polynomials for a squared distance.
template <class R, class T>
PERGOLA_HD_INLINE R split_place(const SplitLaw<T>& law, R square) {
  return mul_add(square, number<R>(law.per_square), number<R>(-1));
}

/// Radial derivatives g_l = ((1/r) d/dr)^l of the short-range law 1/√(r² + ε²) − erf(α r)/r, for r up to
/// expansion_reach cut-off radii and ε below 1/α, with lengths in units of s = √(r² + ε²). unsoftened = r², s2 = s²,
/// inverse = 1/s. If the long-range law is softened itself, its own √(r² + ε²) replaces its r, here and below.
/// Both forms lose no digits where they are used:
///   α r < 1  (−1)^l ((2l − 1)!! − 2αs/√π (2α²s²)^l F_l(t)), t = α²r², with Boys' functions F_l
///            from F_order by
///            F_l = (2t F_{l+1} + e^{−t}) / (2l + 1)
///   beyond   (−1)^l ((2l − 1)!! − ((2l − 1)!! − b_l) (s/r)^(2l+1)), b_0 = erfc(α r), b_{l+1} = (2l + 1) b_l + (2t)^l
///            2αr/√π e^{−t}, as in Ewald sums of multipoles (Smith 1982, CCP5 Newsletter 4, 13)
template <int order, class R, class T>
PERGOLA_HD_INLINE void short_range_radial_derivatives(const SplitLaw<T>& law, R unsoftened, R s2, R inverse,
                                                      R (&g)[order + 1]) {
  const R square = unsoftened + number<R>(law.softening2);
  const R t = square * number<R>(law.alpha2), two_t = t + t;
  const R e8 = split_polynomial(law.exponential, mul_add(square, number<R>(law.expansion_per_square), number<R>(-1)));
  const R e4 = e8 * e8, e2 = e4 * e4, exponential = e2 * e2;
  R f[order + 1];
  f[order] = split_polynomial(law.boys, mul_add(two_t, number<R>(1), number<R>(-1)));
  for (int l = order; l-- > 0;) f[l] = mul_add(two_t, f[l + 1], exponential) * number<R>(1.0 / (2 * l + 1));
  const R inverse_r = rsqrt(square), r = square * inverse_r, s = s2 * inverse, longer = s * inverse_r;
  const R step = s2 * number<R>(-2.0 * static_cast<double>(law.alpha2)), longer2 = longer * longer;
  R b = exponential *
        split_polynomial(law.scaled, mul_add(r, number<R>(law.scaled_per_length), number<R>(law.scaled_first)));
  R more = r * number<R>(law.strength) * exponential;
  R factor = s * number<R>(law.strength), power = longer;
  double newton = 1;
  for (int l = 0; l <= order; ++l) {
    const double sign = l % 2 == 0 ? 1 : -1;
    const R near = number<R>(newton) - factor * f[l];
    const R far = number<R>(newton) - (number<R>(newton) - number<R>(sign) * b) * power;
    g[l] = where_less(square, number<R>(law.near2), near, far);
    b = mul_add(b, number<R>(2 * l + 1), more);
    more = more * two_t;
    factor = factor * step;
    power = power * longer2;
    newton *= -(2 * l + 1);
  }
}

/// The long-range law at a squared distance, from polynomials of `terms` terms: acceleration = attraction d, potential
/// = −depth of a unit mass.
template <int terms, class R, class T>
struct LongRangePair {
  const SplitLaw<T>& law;
  R z;  // split_place() of the square
  PERGOLA_HD_INLINE R attraction() const { return first_split_terms<terms>(law.attraction, z); }
  PERGOLA_HD_INLINE R depth() const { return first_split_terms<terms>(law.depth, z); }
};

/// A law of physics/pair.inl less the long-range law, nothing beyond the cut-off radius. d, distance, softening:
/// as for Law::add(); square = d² without softening; long_range: a LongRangePair, or a type with its members. A mass of
/// 0 removes a particle's pair with itself, beside Law::leave_out().
template <class Law, bool with_potential, class R, class T, class LongRange, class Distance>
PERGOLA_HD_INLINE void add_short_range_pair(const SplitLaw<T>& law, const Vec3<R>& d, R mass, R square,
                                            const LongRange& long_range, const Distance& distance, R softening,
                                            PairSum<R>& sum) {
  // Sums of a rough law are multiplied by its factor afterwards.
  const R less = mass * number<R>(-1.0 / Law::factor);
  const R softened = Law::attraction(mass, distance, softening);
  const R cut_off2 = number<R>(law.cut_off2), nothing = number<R>(0);
  const R attraction = where_less(square, cut_off2, mul_add(less, long_range.attraction(), softened), nothing);
  sum.ax = mul_add(attraction, d.x, sum.ax);
  sum.ay = mul_add(attraction, d.y, sum.ay);
  sum.az = mul_add(attraction, d.z, sum.az);
  if constexpr (with_potential) {
    const R depth = Law::depth(mass, distance, softening, softened);
    sum.pot = sum.pot - where_less(square, cut_off2, mul_add(less, long_range.depth(), depth), nothing);
  }
}

/// The same with polynomials of `terms` terms: at least those of the law.
template <class Law, bool with_potential, int terms, class R, class T, class Distance>
PERGOLA_HD_INLINE void add_short_range_pair(const SplitLaw<T>& law, const Vec3<R>& d, R mass, R square,
                                            const Distance& distance, R softening, PairSum<R>& sum) {
  const LongRangePair<terms, R, T> long_range{law, split_place(law, square)};
  add_short_range_pair<Law, with_potential>(law, d, mass, square, long_range, distance, softening, sum);
}

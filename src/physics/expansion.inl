// Cartesian multipole and local expansions (Dehnen 2000, J. Comp. Phys. 179, 27; Dehnen 2014, Comp. Astrophys. Cosmol.
// 1, 1) of ψ(x) = Σ m / √(|x − x_j|² + ε²): the potential is −G ψ, the acceleration G ∇ψ. No include guard: included by
// physics/expansion.hpp, and once per SIMD instruction set inside its namespace. It uses +, −, *, mul_add(a, b, c) and
// number<R>(constant) of the number type R. Multi-indices and the order of terms: physics/multi_index.hpp.
//
// Expansions are scaled by the radius s of their cell, so that no power of a length leaves the range of a float:
//   multipoles  M_n = Σ m (−d/s)^n / n!      d = x_j − centre
//   locals      ψ(centre + δ) = Σ L_n (δ/s)^n / n!

/// Values t[n] = x^n / n! for all terms, times t0.
template <int order, class R>
struct Monomials {
  R value[expansion_terms(order)];

  PERGOLA_HD_INLINE Monomials(const Vec3<R>& x, R t0) {
    value[0] = t0;
    fill(x, std::make_integer_sequence<int, expansion_terms(order) - 1>());
  }

 private:
  template <int... before>
  PERGOLA_HD_INLINE void fill(const Vec3<R>& x, std::integer_sequence<int, before...>) {
    (one<before + 1>(x), ...);
  }
  template <int term>
  PERGOLA_HD_INLINE void one(const Vec3<R>& x) {
    constexpr Factor f = factor_of(term);
    const R along = f.axis == 0 ? x.x : f.axis == 1 ? x.y : x.z;
    if constexpr (f.exponent == 1)
      value[term] = value[f.lower] * along;
    else
      value[term] = value[f.lower] * (along * number<R>(1.0 / f.exponent));
  }
};

/// Derivatives D_n = ∂^n K of a radial function K, up to `order`, from its radial derivatives
///   g_l = ((1/r) d/dr)^l K
/// by the recursion D^(l)_{n+1_x} = x D^(l+1)_n + n_x D^(l+1)_{n−1_x}, D^(l)_0 = g_l (McMurchie & Davidson 1978, J.
/// Comp. Phys. 26, 218). The radial derivatives are all that a different pair law changes: for TreePM they are those of
/// its short-range part.
template <int order, class R>
struct Derivatives {
  R value[order + 1][expansion_terms(order)];  // D_n = value[0][n]

  PERGOLA_HD_INLINE Derivatives(const Vec3<R>& x, const R (&g)[order + 1]) {
    start(g, std::make_integer_sequence<int, order + 1>());
    fill(x, std::make_integer_sequence<int, expansion_terms(order) - 1>());
  }

 private:
  template <int... level>
  PERGOLA_HD_INLINE void start(const R (&g)[order + 1], std::integer_sequence<int, level...>) {
    ((value[level][0] = g[level]), ...);
  }
  template <int... before>
  PERGOLA_HD_INLINE void fill(const Vec3<R>& x, std::integer_sequence<int, before...>) {
    (levels<before + 1>(x, std::make_integer_sequence<int, order + 1 - index_of(before + 1).order()>()), ...);
  }
  template <int term, int... level>
  PERGOLA_HD_INLINE void levels(const Vec3<R>& x, std::integer_sequence<int, level...>) {
    (one<term, level>(x), ...);
  }
  template <int term, int level>
  PERGOLA_HD_INLINE void one(const Vec3<R>& x) {
    constexpr Factor f = factor_of(term);
    const R along = f.axis == 0 ? x.x : f.axis == 1 ? x.y : x.z;
    const auto& above = value[level + 1];
    if constexpr (f.exponent == 1)
      value[level][term] = along * above[f.lower];
    else if constexpr (f.exponent == 2)
      value[level][term] = mul_add(along, above[f.lower], above[f.lowest]);
    else
      value[level][term] = mul_add(along, above[f.lower], above[f.lowest] * number<R>(f.exponent - 1));
  }
};

/// Radial derivatives of 1/√(r² + ε²) with lengths in units of √(r² + ε²): g_l = (−1)^l (2 l − 1)!!.
template <int order, class R>
PERGOLA_HD_INLINE void plummer_radial_derivatives(R (&g)[order + 1]) {
  double value = 1;
  for (int l = 0; l <= order; ++l) {
    g[l] = number<R>(value);
    value *= -(2 * l + 1);
  }
}

/// Powers 1, a, …, a^order times `first`.
template <int order, class R>
PERGOLA_HD_INLINE void powers(R first, R a, R (&to)[order + 1]) {
  to[0] = first;
  for (int n = 1; n <= order; ++n) to[n] = to[n - 1] * a;
}

/// value[n] *= factor[|n|], for the terms of orders `from` … order.
template <int order, class R, int... term>
PERGOLA_HD_INLINE void scale_terms(const R (&factor)[order + 1], R (&value)[expansion_terms(order)],
                                   std::integer_sequence<int, term...>) {
  ((value[term] = value[term] * factor[index_of(term).order()]), ...);
}
template <int order, class R>
PERGOLA_HD_INLINE void scale_terms(const R (&factor)[order + 1], R (&value)[expansion_terms(order)]) {
  scale_terms<order>(factor, value, std::make_integer_sequence<int, expansion_terms(order)>());
}

/// Σ_n M_n D_{n+m}, |n| ≤ order − |m|. Multipoles are about the centre of mass: the dipole is zero and is left out.
template <int order, int m, class R, int... n>
PERGOLA_HD_INLINE R contract(const R (&multipole)[expansion_terms(order)], const Derivatives<order, R>& d,
                             std::integer_sequence<int, n...>) {
  R sum = multipole[0] * d.value[0][m];
  ((sum = n < 3 ? sum : mul_add(multipole[n + 1], d.value[0][term_of(index_of(n + 1) + index_of(m))], sum)), ...);
  return sum;
}
template <int order, int m, class R>
PERGOLA_HD_INLINE R contract(const R (&multipole)[expansion_terms(order)], const Derivatives<order, R>& d) {
  constexpr int terms = expansion_terms(order - index_of(m).order());
  return contract<order, m>(multipole, d, std::make_integer_sequence<int, terms - 1>());
}

template <int order, class R, int... m>
PERGOLA_HD_INLINE void add_contractions(const R (&multipole)[expansion_terms(order)], const Derivatives<order, R>& d,
                                        const R (&factor)[order + 1], R (&local)[expansion_terms(order)],
                                        std::integer_sequence<int, m...>) {
  ((local[m] = mul_add(contract<order, m>(multipole, d), factor[index_of(m).order()], local[m])), ...);
}

/// Adds the field of cell A, with multipoles M and radius s_A, to the local expansion of cell B with radius s_B.
/// x = centre of B − centre of A in units of √(|x|² + ε²), and inverse = 1/√(|x|² + ε²). M is overwritten.
///   L_m += (s_B/r)^|m| / r Σ_n M_n (s_A/r)^|n| D_{n+m}
template <int order, class R>
PERGOLA_HD_INLINE void multipole_to_local(const Vec3<R>& x, R inverse, R s_a, R s_b, const R (&g)[order + 1],
                                          R (&multipole)[expansion_terms(order)], R (&local)[expansion_terms(order)]) {
  R factor[order + 1];
  powers<order>(number<R>(1), s_a * inverse, factor);
  scale_terms<order>(factor, multipole);
  const Derivatives<order, R> d(x, g);
  powers<order>(inverse, s_b * inverse, factor);
  add_contractions<order>(multipole, d, factor, local, std::make_integer_sequence<int, expansion_terms(order)>());
}

/// ψ and ∇ψ.
template <class R>
struct Field {
  R psi;
  Vec3<R> gradient;
};

/// The field of a cell at a point: x = point − centre in units of √(|x|² + ε²). M as for multipole_to_local, but
/// scaled by (s_A/r)^|n| already.
template <int order, class R>
PERGOLA_HD_INLINE Field<R> multipole_field(const Vec3<R>& x, R inverse, const R (&g)[order + 1],
                                           const R (&multipole)[expansion_terms(order)]) {
  const Derivatives<order, R> d(x, g);
  const R inverse2 = inverse * inverse;
  return {contract<order, 0>(multipole, d) * inverse,
          {contract<order, 1>(multipole, d) * inverse2, contract<order, 2>(multipole, d) * inverse2,
           contract<order, 3>(multipole, d) * inverse2}};
}

/// Σ over n ≤ m (by component) of a_n b_{m−n}.
template <int m, class R, int size, int... n>
PERGOLA_HD_INLINE R convolve(const R (&a)[size], const R (&b)[size], std::integer_sequence<int, n...>) {
  R sum = a[0] * b[m];
  ((sum = is_valid(index_of(m) - index_of(n + 1))
              ? mul_add(a[n + 1],
                        b[is_valid(index_of(m) - index_of(n + 1)) ? term_of(index_of(m) - index_of(n + 1)) : 0], sum)
              : sum),
   ...);
  return sum;
}
template <int order, class R, int... m>
PERGOLA_HD_INLINE void add_convolutions(const R (&a)[expansion_terms(order)], const R (&b)[expansion_terms(order)],
                                        R (&to)[expansion_terms(order)], std::integer_sequence<int, m...>) {
  ((to[m] = to[m] + convolve<m>(a, b, std::make_integer_sequence<int, m>())), ...);
}

/// Adds a child's multipoles to its parent's. `away` = (parent's centre − child's centre) / s_parent, ratio = s_child /
/// s_parent. The child's are overwritten.
template <int order, class R>
PERGOLA_HD_INLINE void shift_multipole(const Vec3<R>& away, R ratio, R (&child)[expansion_terms(order)],
                                       R (&parent)[expansion_terms(order)]) {
  R factor[order + 1];
  powers<order>(number<R>(1), ratio, factor);
  scale_terms<order>(factor, child);
  const Monomials<order, R> shift(away, number<R>(1));
  add_convolutions<order>(child, shift.value, parent, std::make_integer_sequence<int, expansion_terms(order)>());
}

/// Σ_n L_{m+n} t_n, |n| ≤ order − |m|.
template <int order, int m, class R, int... n>
PERGOLA_HD_INLINE R sum_higher(const R (&local)[expansion_terms(order)], const R (&t)[expansion_terms(order)],
                               std::integer_sequence<int, n...>) {
  R sum = local[m];
  ((sum = mul_add(local[term_of(index_of(m) + index_of(n + 1))], t[n + 1], sum)), ...);
  return sum;
}
template <int order, int m, class R>
PERGOLA_HD_INLINE R sum_higher(const R (&local)[expansion_terms(order)], const R (&t)[expansion_terms(order)]) {
  constexpr int terms = expansion_terms(order - index_of(m).order());
  return sum_higher<order, m>(local, t, std::make_integer_sequence<int, terms - 1>());
}
template <int order, class R, int... m>
PERGOLA_HD_INLINE void all_sums_higher(const R (&local)[expansion_terms(order)], const R (&t)[expansion_terms(order)],
                                       const R (&factor)[order + 1], R (&to)[expansion_terms(order)],
                                       std::integer_sequence<int, m...>) {
  ((to[m] = sum_higher<order, m>(local, t) * factor[index_of(m).order()]), ...);
}

/// The local expansion of a child from its parent's. `away` = (child's centre − parent's centre) / s_parent, ratio =
/// s_child / s_parent.
template <int order, class R>
PERGOLA_HD_INLINE void shift_local(const Vec3<R>& away, R ratio, const R (&parent)[expansion_terms(order)],
                                   R (&child)[expansion_terms(order)]) {
  R factor[order + 1];
  powers<order>(number<R>(1), ratio, factor);
  const Monomials<order, R> shift(away, number<R>(1));
  all_sums_higher<order>(parent, shift.value, factor, child, std::make_integer_sequence<int, expansion_terms(order)>());
}

/// The field of a local expansion at δ = (point − centre) / s; the gradient is per unit of s.
template <int order, class R>
PERGOLA_HD_INLINE Field<R> local_field(const R (&local)[expansion_terms(order)], const Vec3<R>& delta) {
  const Monomials<order, R> t(delta, number<R>(1));
  return {sum_higher<order, 0>(local, t.value),
          {sum_higher<order, 1>(local, t.value), sum_higher<order, 2>(local, t.value),
           sum_higher<order, 3>(local, t.value)}};
}

// Opening: when a cell may act through its expansion. Lengths enter as u = 1/√(R² + ε²) with the distance R of the two
// centres: a pair's potential is smooth within its softening length, and expansions converge for radii below 1/u. A
// criterion is a pair of numbers; a cell is accepted if left ≤ right.

/// Barnes-Hut for two cells (Dehnen 2002): the sum of the radii as seen from the other centre, to be at most an angle.
template <class R>
PERGOLA_HD_INLINE R opening_ratio(R r_source, R r_target, R u) {
  return (r_source + r_target) * u;
}

/// The least distance of particles of two cells. A law with a support s (spline softening: 2.8 ε) is Newton's beyond it
/// and has no expansion within. It acts through expansions, with ε = 0, if this distance is at least the larger s ε of
/// the two cells.
template <class R>
PERGOLA_HD_INLINE R nearest_apart(R distance, R r_source, R r_target) {
  return distance - r_source - r_target;
}

/// a^n.
template <int n, class R>
PERGOLA_HD_INLINE R power(R a) {
  if constexpr (n == 1)
    return a;
  else if constexpr (n % 2 == 0)
    return power<n / 2>(a * a);
  else
    return a * power<n - 1>(a);
}

/// Size of the terms that an interaction of the given order leaves out of the acceleration, m u² ((ρ + 3/2 r) u)^order;
/// ρ is an average radius of the source, r the largest of the target (Dehnen 2014, eq. 13). It is compared with a
/// fraction of the target's acceleration, the cell form of GADGET's relative criterion (Springel 2005, eq. 18). The
/// target's radius counts more: at its rim the errors of all sources on one side add up.
template <int order, class R>
PERGOLA_HD_INLINE R neglected_acceleration(R mass, R rho_source, R r_target, R u) {
  return mass * u * u * power<order>((rho_source + r_target * R(1.5)) * u);
}

/// The effect of a softening length ε on the acceleration by a mass at a distance R: this over R⁴, 3/2 ε²/R² of m/R².
/// If the pairs of two cells have several lengths, expansions use the largest and err by this at most.
template <class R>
PERGOLA_HD_INLINE R softening_effect(R mass, R epsilon2) {
  return mass * epsilon2 * R(1.5);
}

/// Which of two cells is opened if they may not act through expansions: the target if true, else the source. To open a
/// target somewhat smaller than its source halves the number of interactions and does not change the errors.
template <class R>
PERGOLA_HD_INLINE bool opens_target(R r_source, R r_target) {
  return r_target * R(1.5) >= r_source;
}

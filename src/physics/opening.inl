// When a cell may act through its expansion. No include guard, as physics/pair.inl. Lengths enter as u = 1/√(R² + ε²),
// R the distance of the two centres: inside its softening length a pair's potential is smooth, and expansions converge
// for radii below 1/u. Every criterion is a pair of numbers: acceptance is left ≤ right.

/// Barnes-Hut for two cells (Dehnen 2002): the sum of the radii as seen from the other centre, to be at most an angle.
template <class R>
PERGOLA_HD_INLINE R opening_ratio(R r_source, R r_target, R u) {
  return (r_source + r_target) * u;
}

/// No two particles of two cells are nearer than this. A law that is Newton's from a support s on (spline softening:
/// from 2.8 ε) and has no expansion about a centre farther in acts through expansions, with ε = 0, where this is at
/// least the larger s ε of the two. (A radius beyond which nothing acts would be compared with it too.)
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

/// What a softening length ε does to the acceleration by a mass at a distance R: this over R⁴, 3/2 ε²/R² of m/R². Where
/// the pairs of two cells do not all have one length, expansions have the largest, and err by as much at most.
template <class R>
PERGOLA_HD_INLINE R softening_effect(R mass, R epsilon2) {
  return mass * epsilon2 * R(1.5);
}

/// Which of two cells is opened that may not act through expansions: the target where this is true. Opening a target
/// somewhat smaller than its source halves the number of interactions and does not change the errors.
template <class R>
PERGOLA_HD_INLINE bool opens_target(R r_source, R r_target) {
  return r_target * R(1.5) >= r_source;
}

// The current of a moving charge in whole units, so that charge is conserved to the last unit, for a number type N and
// its whole numbers W: float and double with their integers (physics/plasma_push.hpp), or packs of them (plasma/). No
// include guard. It uses charge_share(N), the nearest whole number of charge units as W, grains_of(N), the nearest
// whole number of grains, number_of<N>(W).
//
// A cloud of p points along an axis is the difference of upper sums: u_m is the cloud's part in its points m, m + 1, …;
// u_0 = 1. The units of charge in points from (m, n, k) on are P(m, n, k) = round(Q u_m(x) u_n(y) u_k(z)), and those at
// one point are differences of them: whole numbers whose sum is Q. On the border of two cells the last u of one cell
// are 0 or 1, so both cells give each point the same units.
// The current through a face of a cell obeys the same: what goes along x into the points from m on, at points from
// (n, k) on across, is X(m, n, k) = round(Q ∫ u_n u_k du_m). Charge is conserved if ΔP(m, n, k) = X + Y + Z for each
// (m, n, k), an upper sum of 0 having no flux. So the last component takes what the others leave.

/// The upper sums u_1 … u_(points − 1) of a cloud along an axis; `place` is counted as in cloud_weights(). They must
/// have the same bits wherever they are computed: the minimum, which changes no value, keeps a compiler from fusing the
/// product and the difference.
template <int points, class N>
PERGOLA_HD_INLINE void upper_sums(N place, N half, N one, N* upper) {
  if constexpr (points == 2) {
    upper[0] = place;
  } else {
    const N below = half - place, above = half + place;
    upper[0] = one - smaller(half * below * below, half);
    upper[1] = half * above * above;
  }
}

/// All fluxes of a move: those of the currents along x, y and z, one after the other, each with its points, x fastest.
template <int dimensions, int points>
inline constexpr int flux_count =
    StaggeredCloud<dimensions, points, 1>::size + StaggeredCloud<dimensions, points, 2>::size +
    StaggeredCloud<dimensions, points, 4>::size;

/// A straight move within a tile, from and to places in grains. Shifted by half a cell for the quadratic shape, so that
/// its cells are those of the nearest point. `across`: cells moved along z in two dimensions.
template <int dimensions, class N, class W>
struct ChargeMove {
  W from[dimensions], to[dimensions];
  N across;
};

/// The cell in which a move begins, by the first grain of it: that of the lower end, for a move down from a border lies
/// below it.
template <class Real, class W>
PERGOLA_HD_INLINE W first_grain(W from, W to) {
  constexpr int bits = physics::PlasmaCounts<Real>::place_bits;
  return smaller(from, to) >> bits << bits;
}

/// Cuts a move where it leaves its first cell: `move` becomes the part there, `rest` what follows, which is nothing if
/// it stays. Moves are shorter than a cell. Returns whether something follows, as a number above zero.
/// The cut is on the straight line, to the nearest grain. Villasenor & Buneman 1992, Comput. Phys. Commun. 69, 306.
template <class Real, int dimensions, class N, class W>
PERGOLA_HD_INLINE N cut_at_border(ChargeMove<dimensions, N, W>& move, ChargeMove<dimensions, N, W>& rest) {
  const N zero = number<N>(0), none = number<N>(2);
  const W cell =
      whole_constant<W>(typename physics::PlasmaCounts<Real>::Place{1} << physics::PlasmaCounts<Real>::place_bits);
  N part = none, length[dimensions], inside[dimensions], of_axis[dimensions];
  for (int a = 0; a < dimensions; ++a) {
    const N change = number_of<N>(move.to[a] - move.from[a]);
    const N beyond =
        number_of<N>(larger(move.from[a], move.to[a]) - first_grain<Real>(move.from[a], move.to[a]) - cell);
    length[a] = larger(change, zero - change);
    const N before = where_less(zero, change, length[a] - beyond, beyond);
    inside[a] = where_less(zero, beyond, before, length[a]);
    of_axis[a] = where_less(zero, beyond, before / length[a], none);
    part = smaller(part, of_axis[a]);
  }
  for (int a = 0; a < dimensions; ++a) {
    const N to_cut = smaller(where_less(part, of_axis[a], part * length[a], inside[a]), inside[a]);
    const W steps = grains_of(to_cut), cut = move.from[a] + where_less(move.to[a], move.from[a], W() - steps, steps);
    rest.from[a] = cut, rest.to[a] = move.to[a];
    move.to[a] = cut;
  }
  const N across = move.across, kept = smaller(part, number<N>(1)) * across;
  move.across = kept, rest.across = across - kept;
  return none - part;
}

/// The upper sums of a cloud in a cell at both ends of a move along an axis, with u_0 = 1.
template <int points, class N>
struct MovedSums {
  N before[points], after[points], middle[points], change[points];
};

/// P(m, n, k): the product of upper sums in units of charge. The factors in this order on every device.
template <int dimensions, int points, class N>
PERGOLA_HD_INLINE N upper_product(const N* x, const N* y, const N* z, int m, int n, int k) {
  N product = x[m];
  if (n > 0) product = m > 0 ? product * y[n] : y[n];
  if (dimensions == 3 && k > 0) product = m > 0 || n > 0 ? product * z[k] : z[k];
  return product;
}

/// ∫ u_n u_k ds over a move, for upper sums that change evenly: Esirkepov 2001, Comput. Phys. Commun. 135, 144. Index 0
/// stands for no factor.
template <int points, class N>
PERGOLA_HD_INLINE N mean_product(const MovedSums<points, N>& y, const MovedSums<points, N>& z, int n, int k) {
  if (n == 0) return z.middle[k];
  if (k == 0) return y.middle[n];
  return mul_add(number<N>(1.0 / 12) * y.change[n], z.change[k], y.middle[n] * z.middle[k]);
}

/// The charge that a move within one cell brings through the faces around it, in the order of flux_count. first[a] is
/// the first point of its clouds along an axis, from the corner of the tile.
template <class Real, int dimensions, int points, class N, class W>
PERGOLA_HD_INLINE void charge_fluxes(const ChargeMove<dimensions, N, W>& move, W* first, W* flux) {
  constexpr int bits = physics::PlasmaCounts<Real>::place_bits, layers = dimensions == 3 ? points : 1;
  const N one = number<N>(1), half = number<N>(0.5),
          cells = number<N>(1 / static_cast<double>(physics::place_grains<Real>));
  MovedSums<points, N> sums[3];
  for (int a = 0; a < dimensions; ++a) {
    const W begin = first_grain<Real>(move.from[a], move.to[a]);
    first[a] = (begin >> bits) - whole_constant<W>(points - 2);
    const N middle = points == 3 ? half : number<N>(0);
    upper_sums<points>(number_of<N>(move.from[a] - begin) * cells - middle, half, one, sums[a].before + 1);
    upper_sums<points>(number_of<N>(move.to[a] - begin) * cells - middle, half, one, sums[a].after + 1);
    sums[a].before[0] = sums[a].after[0] = one;
    for (int m = 1; m < points; ++m) {
      sums[a].change[m] = sums[a].after[m] - sums[a].before[m];
      sums[a].middle[m] = half * (sums[a].before[m] + sums[a].after[m]);
    }
  }
  const auto &x = sums[0], &y = sums[1], &z = sums[dimensions - 1];
  // From the upper sums: [k][n][m], that of a component at its own index 0 is nothing, beyond the last is nothing.
  W along[3][layers + 1][points + 1][points + 1];
  for (int a = 0; a < 3; ++a)
    for (int k = 0; k <= layers; ++k)
      for (int n = 0; n <= points; ++n)
        for (int m = 0; m <= points; ++m) along[a][k][n][m] = W();
  for (int k = 0; k < layers; ++k)
    for (int n = 0; n < points; ++n)
      for (int m = 0; m < points; ++m) {
        W rest = charge_share(upper_product<dimensions, points>(x.after, y.after, z.after, m, n, k)) -
                 charge_share(upper_product<dimensions, points>(x.before, y.before, z.before, m, n, k));
        if (m > 0 && n == 0 && k == 0) along[0][k][n][m] = rest;
        if (m > 0 && n + k > 0) {
          along[0][k][n][m] = charge_share(x.change[m] * mean_product(y, z, n, k));
          rest = rest - along[0][k][n][m];
        }
        if (n > 0 && k == 0) along[1][k][n][m] = rest;
        if (n > 0 && k > 0) {
          along[1][k][n][m] = charge_share(y.change[n] * mean_product(x, z, m, k));
          rest = rest - along[1][k][n][m];
        }
        if (dimensions == 3 && k > 0) along[2][k][n][m] = rest;
        if (dimensions == 2) {
          const N mean = m + n > 0 ? mean_product(x, y, m, n) : one;
          along[2][k][n][m] = charge_share(move.across * mean);
        }
      }
  W* to = flux;
  for (int a = 0; a < 3; ++a) {
    const bool in_plane = a < dimensions;
    for (int k = a == 2 && in_plane ? 1 : 0; k < layers; ++k)
      for (int n = a == 1 ? 1 : 0; n < points; ++n)
        for (int m = a == 0 ? 1 : 0; m < points; ++m) {
          // Differences along the axes across the component.
          const auto& at = along[a];
          W sum = at[k][n][m];
          if (a != 0) sum = sum - at[k][n][m + 1];
          if (a != 1) {
            sum = sum - at[k][n + 1][m];
            if (a != 0) sum = sum + at[k][n + 1][m + 1];
          }
          if (dimensions == 3 && a != 2) {
            sum = sum - at[k + 1][n][m];
            if (a != 0) sum = sum + at[k + 1][n][m + 1];
            if (a != 1) sum = sum + at[k + 1][n + 1][m];
          }
          *to++ = sum;
        }
  }
}

/// The units of charge at the points of a cloud, x fastest; `place` along each axis as in cloud_weights().
template <int dimensions, int points, class N, class W>
PERGOLA_HD_INLINE void whole_shares(const N* place, W* share) {
  constexpr int layers = dimensions == 3 ? points : 1;
  const N one = number<N>(1), half = number<N>(0.5);
  N upper[dimensions][points];
  for (int a = 0; a < dimensions; ++a) {
    upper[a][0] = one;
    upper_sums<points>(place[a], half, one, upper[a] + 1);
  }
  W from[layers + 1][points + 1][points + 1];
  for (int k = 0; k <= layers; ++k)
    for (int n = 0; n <= points; ++n)
      for (int m = 0; m <= points; ++m)
        from[k][n][m] =
            k < layers && n < points && m < points
                ? charge_share(upper_product<dimensions, points>(upper[0], upper[1], upper[dimensions - 1], m, n, k))
                : W();
  for (int k = 0; k < layers; ++k)
    for (int n = 0; n < points; ++n)
      for (int m = 0; m < points; ++m) {
        W sum = from[k][n][m] - from[k][n][m + 1] - from[k][n + 1][m] + from[k][n + 1][m + 1];
        if (dimensions == 3)
          sum = sum - from[k + 1][n][m] + from[k + 1][n][m + 1] + from[k + 1][n + 1][m] - from[k + 1][n + 1][m + 1];
        *share++ = sum;
      }
}

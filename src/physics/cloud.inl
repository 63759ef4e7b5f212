// The cloud of a particle on a mesh, of gravity or of a plasma, for a number type N. No include guard:
// physics/mesh_weights.hpp includes this for float and double on CPU and GPU. The CPU loops of plasma/ include it once
// per SIMD instruction set, inside the namespace of that set, for packs of numbers.

/// Shares of a particle's cloud in the points (or cells) that it touches along an axis; `half`, `one` are 1/2 and 1.
/// Two points (linear, cloud-in-cell): `place` is the distance from the lower one, 0 … 1. Three (quadratic,
/// triangular-shaped cloud): from the middle one, which is the nearest, −1/2 … 1/2; its share is 3/4 − place², or what
/// the others leave of one to the last bit. Four (cubic, piecewise cubic spline): from the second, 0 … 1. Hockney &
/// Eastwood 1988, section 5-3; Birdsall & Langdon 1985, sections 8-3 to 8-6 and 14-11; Chaniotis & Poulikakos 2004.
template <int points, bool middle_takes_rest, class N>
PERGOLA_HD_INLINE void cloud_weights(N place, N half, N one, N* weight) {
  static_assert(points >= 2 && points <= 4);
  if constexpr (points == 2) {
    weight[0] = one - place;
    weight[1] = place;
  } else if constexpr (points == 4) {
    const N sixth = half / (one + one + one), two_thirds = sixth + half, rest = one - place;
    const N place2 = place * place, rest2 = rest * rest;
    weight[0] = sixth * rest * rest2;
    weight[1] = two_thirds - place2 * (one - half * place);
    weight[2] = two_thirds - rest2 * (one - half * rest);
    weight[3] = sixth * place * place2;
  } else {
    const N below = half - place, above = half + place;
    weight[0] = half * below * below;
    weight[2] = half * above * above;
    if constexpr (middle_takes_rest)
      weight[1] = one - weight[0] - weight[2];
    else
      weight[1] = half * (one + half) - place * place;
  }
}

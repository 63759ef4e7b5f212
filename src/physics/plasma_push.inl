// The field in a cloud and the push of charged particles, for a number type N. No include guard:
// physics/plasma_push.hpp includes this for float and double on CPU and GPU, and the CPU loops of plasma/ once per SIMD
// instruction set, inside that instruction set's namespace, for packs of numbers. It uses mul_add(a, b, c) = a b + c of
// the number type.

/// Σ weight[i] value[i].
template <int points, class N>
PERGOLA_HD_INLINE N weighted_sum(const N* weight, const N* value) {
  N sum = weight[0] * value[0];
  for (int i = 1; i < points; ++i) sum = mul_add(weight[i], value[i], sum);
  return sum;
}

/// The field of a cloud from its values at the grid points: value[(k points + j) points + i] belongs to point i along
/// x, j along y, k along z (only k = 0 in two dimensions).
template <int dimensions, int points, class N>
PERGOLA_HD_INLINE N interpolate(const N (*weight)[points], const N* value) {
  constexpr int layers = dimensions == 3 ? points : 1;
  N in_layer[layers];
  for (int k = 0; k < layers; ++k) {
    N in_row[points];
    for (int j = 0; j < points; ++j) in_row[j] = weighted_sum<points>(weight[0], value + (k * points + j) * points);
    in_layer[k] = weighted_sum<points>(weight[1], in_row);
  }
  if constexpr (dimensions == 3)
    return weighted_sum<points>(weight[2], in_layer);
  else
    return in_layer[0];
}

/// The factors of one push of a species: (q/m) Δt, half of it, and the vectors t and s of the rotation about the
/// magnetic field.
template <class N>
struct BorisFactors {
  N kick, half_kick;
  Vec3<N> t, s;
};

/// to + v × t. With two velocities t is along z, and the z components stay.
template <int velocities, class N>
PERGOLA_HD_INLINE Vec3<N> add_cross(const Vec3<N>& to, const Vec3<N>& v, const Vec3<N>& t) {
  if constexpr (velocities == 2)
    return {mul_add(v.y, t.z, to.x), to.y - v.x * t.z, to.z};
  else
    return {mul_add(v.y, t.z, to.x) - v.z * t.y, mul_add(v.z, t.x, to.y) - v.x * t.z,
            mul_add(v.x, t.y, to.z) - v.y * t.x};
}

/// v + kick E.
template <int dimensions, class N>
PERGOLA_HD_INLINE Vec3<N> electric_kick(const Vec3<N>& v, const Vec3<N>& electric, N kick) {
  Vec3<N> after{mul_add(kick, electric.x, v.x), mul_add(kick, electric.y, v.y), v.z};
  if constexpr (dimensions == 3) after.z = mul_add(kick, electric.z, v.z);
  return after;
}

// A pusher: push<dimensions, velocities>(v, fields, factors) is v after dv/dt = (q/m) (E + v × B) over the length of
// time of the factors. `fields` is what the loops have gathered at the particle. Absent components of v come back
// unchanged. Loops are compiled once for each pusher; with_pusher() chooses at run time.

/// Without a magnetic field.
struct ElectricKick {
  template <int dimensions, int velocities, class N>
  static PERGOLA_HD_INLINE Vec3<N> push(const Vec3<N>& v, const Vec3<N>& electric, const BorisFactors<N>& factors) {
    return electric_kick<dimensions>(v, electric, factors.kick);
  }
};

/// In the uniform magnetic field of the factors: half of the electric kick, rotation, the other half. Boris 1970;
/// Birdsall & Langdon 1985, section 4-4.
struct UniformBoris {
  template <int dimensions, int velocities, class N>
  static PERGOLA_HD_INLINE Vec3<N> push(const Vec3<N>& v, const Vec3<N>& electric, const BorisFactors<N>& factors) {
    const Vec3<N> minus = electric_kick<dimensions>(v, electric, factors.half_kick);
    const Vec3<N> middle = add_cross<velocities>(minus, minus, factors.t);
    const Vec3<N> plus = add_cross<velocities>(minus, middle, factors.s);
    return electric_kick<dimensions>(plus, electric, factors.half_kick);
  }
};

/// body(pusher) with the pusher of a plasma.
template <class Body>
auto with_pusher(bool magnetised, const Body& body) {
  return magnetised ? body(UniformBoris()) : body(ElectricKick());
}

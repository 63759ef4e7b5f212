// The field in a cloud and the push of charged particles, for a number type N. No include guard:
// physics/plasma_push.hpp includes this for float and double on CPU and GPU, and the CPU loops of plasma/ once per SIMD
// instruction set, inside that instruction set's namespace, for packs of numbers. It uses mul_add(a, b, c) = a b + c of
// the number type, and what physics/number.hpp names.

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

/// Where a component stands on Yee's grid: bit a of `half` says that it is 1/2 cell above the grid point along axis a
/// (two dimensions drop z): E and the current along their own axis, B along the two others. A cloud has one point less
/// there.
PERGOLA_HD constexpr unsigned electric_half(int axis) { return 1u << axis; }
PERGOLA_HD constexpr unsigned magnetic_half(int axis) { return 7u ^ 1u << axis; }
template <int dimensions, int points, unsigned half>
struct StaggeredCloud {
  static constexpr int x = points - static_cast<int>(half & 1), y = points - static_cast<int>(half >> 1 & 1);
  static constexpr int z = dimensions == 3 ? points - static_cast<int>(half >> 2 & 1) : 1;
  static constexpr int size = x * y * z;
};
/// The words of all six components, and where each begins.
template <int dimensions, int points>
struct StaggeredWords {
  int begin[7] = {};
  constexpr StaggeredWords() {
    const int along[3] = {StaggeredCloud<dimensions, points, 1>::size, StaggeredCloud<dimensions, points, 2>::size,
                          StaggeredCloud<dimensions, points, 4>::size};
    const int across[3] = {StaggeredCloud<dimensions, points, 6>::size, StaggeredCloud<dimensions, points, 5>::size,
                           StaggeredCloud<dimensions, points, 3>::size};
    for (int c = 0; c < 6; ++c) begin[c + 1] = begin[c] + (c < 3 ? along[c] : across[c - 3]);
  }
};

/// The weights of the lower cloud along an axis, for a place as in cloud_weights(): with the same first point, each
/// half a cell above. That of the linear shape is 1.
template <int points, class N>
PERGOLA_HD_INLINE void lower_weights(N place, N half, N* weight) {
  if constexpr (points == 2) {
    weight[0] = half + half;
  } else {
    weight[0] = half - place;
    weight[1] = half + place;
  }
}

/// The sum over one axis; a single point has the weight 1.
template <int points, class N>
PERGOLA_HD_INLINE N axis_sum(const N* weight, const N* value) {
  if constexpr (points == 1)
    return value[0];
  else
    return weighted_sum<points>(weight, value);
}

/// A component in a cloud, from its values x fastest. Lower clouds along a component's axes keep the energy of field
/// and particles: Birdsall & Langdon 1985, chapter 10.
template <int dimensions, int points, unsigned half, class N>
PERGOLA_HD_INLINE N staggered_sum(const N (*weight)[points], const N (*lower)[points], const N* value) {
  using Cloud = StaggeredCloud<dimensions, points, half>;
  N in_layer[Cloud::z];
  for (int k = 0; k < Cloud::z; ++k) {
    N in_row[Cloud::y];
    for (int j = 0; j < Cloud::y; ++j)
      in_row[j] = axis_sum<Cloud::x>((half & 1) != 0 ? lower[0] : weight[0], value + (k * Cloud::y + j) * Cloud::x);
    in_layer[k] = axis_sum<Cloud::y>((half & 2) != 0 ? lower[1] : weight[1], in_row);
  }
  constexpr int last = dimensions - 1;
  return axis_sum<Cloud::z>((half & 4) != 0 ? lower[last] : weight[last], in_layer);
}

/// The factors of one push of a species: (q/m) Δt, half of it, the vectors t and s of the rotation about the uniform
/// magnetic field, and for relativistic pushers 1/c².
template <class N>
struct BorisFactors {
  N kick, half_kick;
  Vec3<N> t, s;
  N per_light_squared;
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
// time of the factors. `fields` is what the loops have gathered at the particle: E, or for a relativistic pusher E and
// B, and then v is u = γ v. Absent components of v come back unchanged. motion(v, factors) is the velocity with which a
// particle moves, and energy_factor(v², 1/c²) its kinetic energy as a part of m v²/2. Loops are compiled once for each
// pusher; with_pusher() chooses at run time.

/// Common to pushers without relativity.
struct Newtonian {
  static constexpr bool relativistic = false;
  template <class N>
  static PERGOLA_HD_INLINE Vec3<N> motion(const Vec3<N>& v, const BorisFactors<N>&) {
    return v;
  }
  static PERGOLA_HD_INLINE double energy_factor(double, double) { return 1; }
};

/// Without a magnetic field.
struct ElectricKick : Newtonian {
  template <int dimensions, int velocities, class N>
  static PERGOLA_HD_INLINE Vec3<N> push(const Vec3<N>& v, const Vec3<N>& electric, const BorisFactors<N>& factors) {
    return electric_kick<dimensions>(v, electric, factors.kick);
  }
};

/// In the uniform magnetic field of the factors: half of the electric kick, rotation, the other half. Boris 1970;
/// Birdsall & Langdon 1985, section 4-4.
struct UniformBoris : Newtonian {
  template <int dimensions, int velocities, class N>
  static PERGOLA_HD_INLINE Vec3<N> push(const Vec3<N>& v, const Vec3<N>& electric, const BorisFactors<N>& factors) {
    const Vec3<N> minus = electric_kick<dimensions>(v, electric, factors.half_kick);
    const Vec3<N> middle = add_cross<velocities>(minus, minus, factors.t);
    const Vec3<N> plus = add_cross<velocities>(minus, middle, factors.s);
    return electric_kick<dimensions>(plus, electric, factors.half_kick);
  }
};

/// The fields at a particle, for relativistic pushers.
template <class N>
struct ElectromagneticField {
  Vec3<N> electric, magnetic;
};

/// From the values of all components, in the order of StaggeredWords.
template <int dimensions, int points, class N>
PERGOLA_HD_INLINE ElectromagneticField<N> staggered_field(const N (*weight)[points], const N (*lower)[points],
                                                          const N* value) {
  constexpr StaggeredWords<dimensions, points> words;
  return {{staggered_sum<dimensions, points, electric_half(0)>(weight, lower, value + words.begin[0]),
           staggered_sum<dimensions, points, electric_half(1)>(weight, lower, value + words.begin[1]),
           staggered_sum<dimensions, points, electric_half(2)>(weight, lower, value + words.begin[2])},
          {staggered_sum<dimensions, points, magnetic_half(0)>(weight, lower, value + words.begin[3]),
           staggered_sum<dimensions, points, magnetic_half(1)>(weight, lower, value + words.begin[4]),
           staggered_sum<dimensions, points, magnetic_half(2)>(weight, lower, value + words.begin[5])}};
}

template <class N>
PERGOLA_HD_INLINE N sum_of_products(const Vec3<N>& a, const Vec3<N>& b) {
  return mul_add(a.z, b.z, mul_add(a.y, b.y, a.x * b.x));
}

/// u = γ v by half of the electric kick, a rotation about B, and the other half. Rule::inverse_gamma gives the 1/γ of
/// the rotation from u after the first kick and β = (q/m) B Δt/2.
template <class Rule>
struct RelativisticPusher {
  static constexpr bool relativistic = true;

  template <int dimensions, int velocities, class N>
  static PERGOLA_HD_INLINE Vec3<N> push(const Vec3<N>& u, const ElectromagneticField<N>& field,
                                        const BorisFactors<N>& factors) {
    static_assert(velocities == 3);
    const N one = number<N>(1);
    const Vec3<N> minus = electric_kick<3>(u, field.electric, factors.half_kick);
    const Vec3<N> beta{factors.half_kick * field.magnetic.x, factors.half_kick * field.magnetic.y,
                       factors.half_kick * field.magnetic.z};
    const N inverse = Rule::inverse_gamma(minus, beta, factors.per_light_squared);
    const Vec3<N> t{inverse * beta.x, inverse * beta.y, inverse * beta.z};
    const N twice = number<N>(2) / (one + sum_of_products(t, t));
    const Vec3<N> middle = add_cross<3>(minus, minus, t);
    const Vec3<N> plus = add_cross<3>(minus, middle, Vec3<N>{twice * t.x, twice * t.y, twice * t.z});
    return electric_kick<3>(plus, field.electric, factors.half_kick);
  }
  /// v = u/γ.
  template <class N>
  static PERGOLA_HD_INLINE Vec3<N> motion(const Vec3<N>& u, const BorisFactors<N>& factors) {
    const N inverse = rsqrt(mul_add(factors.per_light_squared, sum_of_products(u, u), number<N>(1)));
    return {inverse * u.x, inverse * u.y, inverse * u.z};
  }
  /// (γ − 1) c² = u²/(γ + 1).
  static PERGOLA_HD_INLINE double energy_factor(double square, double per_light_squared) {
    return 2 / (1 + sqrt(1 + per_light_squared * square));
  }
};

/// γ of u after the first kick. Boris 1970; Birdsall & Langdon 1985, section 15-4.
struct BorisRule {
  template <class N>
  static PERGOLA_HD_INLINE N inverse_gamma(const Vec3<N>& u, const Vec3<N>&, N per_light_squared) {
    return rsqrt(mul_add(per_light_squared, sum_of_products(u, u), number<N>(1)));
  }
};

/// γ of the mean of u before and after: 2 γ² = σ + √(σ² + 4 (β² + (u·β)²/c²)) with σ = 1 + u²/c² − β². It keeps the
/// drift velocity in crossed fields. Higuera & Cary 2017, Phys. Plasmas 24, 052104, equation 20. If σ < 0, γ² is the
/// quotient of the same terms, which keeps its digits.
struct HigueraCaryRule {
  template <class N>
  static PERGOLA_HD_INLINE N inverse_gamma(const Vec3<N>& u, const Vec3<N>& beta, N per_light_squared) {
    const N zero = number<N>(0), half = number<N>(0.5), along = sum_of_products(u, beta);
    const N squared = sum_of_products(beta, beta), across = mul_add(per_light_squared * along, along, squared);
    const N sigma = mul_add(per_light_squared, sum_of_products(u, u), number<N>(1)) - squared;
    const N radicand = mul_add(sigma, sigma, number<N>(4) * across), root = radicand * rsqrt(radicand);
    const N sum = larger(sigma, zero - sigma) + root;
    return rsqrt(where_less(sigma, zero, number<N>(2) * across / sum, half * sum));
  }
};

using RelativisticBoris = RelativisticPusher<BorisRule>;
using HigueraCary = RelativisticPusher<HigueraCaryRule>;

/// body(pusher) with the pusher of a plasma. Relativistic ones keep three velocities.
template <int velocities, class Body>
auto with_pusher(physics::PusherKind kind, const Body& body) {
  if constexpr (velocities == 3) {
    if (kind == physics::PusherKind::relativistic_boris) return body(RelativisticBoris());
    if (kind == physics::PusherKind::higuera_cary) return body(HigueraCary());
  }
  return kind == physics::PusherKind::uniform_boris ? body(UniformBoris()) : body(ElectricKick());
}

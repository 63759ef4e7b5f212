// The pair laws as types. No include guard, as physics/pair.inl, which stands before it.
//
// Loops take a law as a template argument; all its members are static. `number` is how a law knows a softening length:
//   few_operations            so few per pair that loops of their own for one softening length, and for accelerations
//                             without potentials, are worth having
//   support                   from this many softening lengths on the law is Newton's, and nearer it has no expansion
//                             about a centre; 0: it has one everywhere, with the larger ε of two cells
//   softening_number(ε²)      the number of a length, and is_unsoftened(number): whether that is the one of none
//   joint(a, b)               the number of a pair from those of its particles
//   start(d, number)          what is needed of the distance: loops start several pairs before they end the first
//   leave_out(zero, distance, mass)   for a particle and itself; zero(value) is 0 where that is so, else the value
//   add<with_jerk, with_potential>(d, w, mass, distance, number, sum)     adds the pair
//   add_potential(mass, distance, number, potential)                      its potential only
//   attraction(mass, distance, number)            acceleration = attraction d, and
//   depth(mass, distance, number, attraction)     potential = −depth, for who takes something off both (TreePM)
//   Rough                     the law for sums of fp32 where a rough 1/√ is at hand (AVX-512: rough_rsqrt), which are
//                             then to be multiplied by its `factor`; the law itself where there is nothing to gain

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

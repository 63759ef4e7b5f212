// The loops of plasma/tile_loops.hpp for SIMD vectors of particles. No include guard: included once per instruction
// set, inside its namespace, which names hwy::HWY_NAMESPACE hn.

#include "plasma/tile_vectors.inl"

/// A vector of particles with their velocities after a push, at their places before.
template <int dimensions, int points, class Real>
struct Pushed {
  Clouds<dimensions, points, Real> clouds;
  Whole<Real> place[dimensions];
  Vec3<Pack<Real>> velocity;
};

/// What a push needs besides the particles.
template <int dimensions, int points, int velocities, class Pusher, class Real>
struct TilePusher {
  using Number = Pack<Real>;

  TileField<dimensions, points, Pusher::relativistic, Real> field;
  BorisFactors<Number> factors;

  explicit TilePusher(const PushTask<Real>& task) : field(task.field) {
    const auto& f = task.factors;
    const auto pack = [](Real number) HWY_ATTR { return Number(number); };
    factors = {pack(f.kick),
               pack(f.half_kick),
               {pack(f.t.x), pack(f.t.y), pack(f.t.z)},
               {pack(f.s.x), pack(f.s.y), pack(f.s.z)},
               pack(f.per_light_squared)};
  }
  /// Finds the records for some vectors of particles.
  HWY_INLINE void find_records(const TileParticles<Real>& particles, std::int64_t begin, int vectors,
                               std::int32_t* offset) const {
    if constexpr (by_records<points, Real>) {
      const hn::ScalableTag<WholeOf<Real>> tag;
      for (int vector = 0; vector < vectors; ++vector) {
        Clouds<dimensions, points, Real> clouds;
        for (int a = 0; a < dimensions; ++a)
          clouds.find_cell(a, hn::Load(tag, particles.place(a) + begin + vector * Number::size));
        hn::Store(field.record_offsets(clouds), tag, offset + vector * Number::size);
      }
    }
  }
  HWY_INLINE Pushed<dimensions, points, Real> push(const TileParticles<Real>& particles, std::int64_t i,
                                                   const std::int32_t* offset) const {
    Pushed<dimensions, points, Real> now;
    for (int a = 0; a < dimensions; ++a)
      now.place[a] = hn::Load(hn::ScalableTag<WholeOf<Real>>(), particles.place(a) + i);
    const Vec3<Number> before{Number::load(particles.velocity(0) + i), Number::load(particles.velocity(1) + i),
                              velocities == 3 ? Number::load(particles.velocity(2) + i) : Number(Real(0))};
    now.clouds.find(now.place);
    now.velocity = Pusher::template push<dimensions, velocities>(before, field.at(now.clouds, offset), factors);
    return now;
  }
};

/// Moves a vector of particles by `grains`. Particles that leave 0 … last, or whose displacement overflows, get a
/// negative number in `out`.
HWY_INLINE Whole<float> moved(Whole<float> place, Pack<float> grains, Whole<float> last, Whole<float>& out) {
  const auto now = wrapped_sum(place, to_whole(grains));
  out = hn::Or(out, hn::Or(now, wrapped_difference(last, now)));
  return now;
}
HWY_INLINE Whole<double> moved(Whole<double> place, Pack<double> grains, Whole<double> last, Whole<double>& out) {
  const hn::ScalableTag<std::int64_t> whole;
  const auto now = wrapped_sum(place, to_whole(grains));
  const auto near = hn::Lt(hn::Abs(grains.raw), hn::Set(hn::ScalableTag<double>(), 0x1p50));
  const auto far = hn::IfThenElse(hn::RebindMask(whole, near), hn::Zero(whole), hn::Set(whole, -1));
  out = hn::Or(hn::Or(out, far), hn::Or(now, wrapped_difference(last, now)));
  return now;
}

/// Whether relativistic particles can be moved: their displacements are numbers below a cell.
template <int dimensions, class Real>
HWY_INLINE WholeMask<Real> can_move(const Pack<Real>* grains) {
  const hn::ScalableTag<Real> real;
  const hn::ScalableTag<WholeOf<Real>> tag;
  const auto cell = hn::Set(real, physics::place_grains<Real>);
  auto mask = hn::Lt(hn::Abs(grains[0].raw), cell);
  for (int a = 1; a < dimensions; ++a) mask = hn::And(mask, hn::Lt(hn::Abs(grains[a].raw), cell));
  return hn::RebindMask(tag, mask);
}

/// The push of all particles of a tile, in stages over vectors_together vectors: (1) records of their cells, (2) new
/// velocities and places, (3) charge of those that stay, or currents of all, (4) the leavers, one by one. The last
/// vector may be part full.
template <int dimensions, int points, int velocities, class Pusher, class Real>
void push(const PushTask<Real>& task, const TileParticles<Real>& particles, std::int64_t* counts,
          PushRest<Real>& rest) {
  using Number = Pack<Real>;
  constexpr bool relativistic = Pusher::relativistic;
  const hn::ScalableTag<WholeOf<Real>> tag;
  const TilePusher<dimensions, points, velocities, Pusher, Real> pusher(task);
  std::conditional_t<relativistic, TileCurrent<dimensions, points, Real>, TileCharge<dimensions, points, Real>> counted(
      counts);
  const Number drift(task.drift);
  Whole<Real> last[dimensions];
  for (int a = 0; a < dimensions; ++a) {
    const WholeOf<Real> cells = task.grid->axis[a].cells_of(task.at[a]);
    last[a] = hn::Set(tag, (cells << physics::PlasmaCounts<Real>::place_bits) - 1);
  }
  const std::int64_t count = particles.count(), whole = count / Number::size * Number::size;
  const auto all = hn::FirstN(tag, Number::size), some = hn::FirstN(tag, static_cast<std::size_t>(count - whole));
  alignas(64) std::int32_t offset[vectors_together * Number::size];
  for (std::int64_t begin = 0; begin < count; begin += vectors_together * Number::size) {
    const int vectors = vectors_from<Number::size>(begin, count);
    WholeMask<Real> leaves[vectors_together], moves[vectors_together];
    pusher.find_records(particles, begin, vectors, offset);
    for (int vector = 0; vector < vectors; ++vector) {
      const std::int64_t i = begin + vector * Number::size;
      const auto held = i < whole ? all : some;
      const auto now = pusher.push(particles, i, offset + vector * Number::size);
      const Number velocity[3] = {now.velocity.x, now.velocity.y, now.velocity.z};
      const Vec3<Number> motion = Pusher::motion(now.velocity, pusher.factors);
      const Number grains[3] = {motion.x * drift, motion.y * drift, motion.z * drift};
      Whole<Real> place[dimensions], out = hn::Zero(tag);
      for (int a = 0; a < dimensions; ++a) place[a] = moved(now.place[a], grains[a], last[a], out);
      leaves[vector] = hn::And(hn::Lt(out, hn::Zero(tag)), held);
      auto stored = hn::AndNot(leaves[vector], held);
      if constexpr (relativistic) {
        stored = moves[vector] = hn::And(held, can_move<dimensions>(grains));
        leaves[vector] = hn::Or(leaves[vector], hn::AndNot(moves[vector], held));
      }
      for (int a = 0; a < dimensions; ++a)
        hn::Store(hn::IfThenElse(stored, place[a], now.place[a]), tag, particles.place(a) + i);
      for (int a = 0; a < velocities; ++a) velocity[a].store(particles.velocity(a) + i);
      if constexpr (relativistic) {
        ChargeMove<dimensions, Number, WholePack<Real>> move;
        for (int a = 0; a < dimensions; ++a) move.from[a].raw = now.place[a], move.to[a].raw = place[a];
        move.across = motion.z * Number(task.time);
        counted.stage_move(vector, move, stored);
      } else {
        Clouds<dimensions, points, Real> clouds;
        clouds.find(place);
        counted.stage_charge(vector, clouds, stored);
      }
    }
    counted.add_staged(vectors);
    for (int vector = 0; vector < vectors; ++vector) {
      if (HWY_LIKELY(hn::AllFalse(tag, leaves[vector]))) continue;
      std::uint8_t bits[8] = {}, done[8] = {};
      hn::StoreMaskBits(tag, leaves[vector], bits);
      if constexpr (relativistic) hn::StoreMaskBits(tag, moves[vector], done);
      for (int k = 0; k < Number::size; ++k) {
        if (!(bits[k / 8] >> (k % 8) & 1)) continue;
        const LeaverMove move = !relativistic                ? LeaverMove::due
                                : done[k / 8] >> (k % 8) & 1 ? LeaverMove::done
                                                             : LeaverMove::impossible;
        settle_leaver<dimensions, points, velocities>(task, particles, begin + vector * Number::size + k, move, counts,
                                                      rest);
      }
    }
  }
  if constexpr (relativistic) counted.finish();
}

/// Charge of all particles at their present places, without a push.
template <int dimensions, int points, class Real>
void deposit(const TileParticles<Real>& particles, std::int64_t* charge) {
  constexpr int size = Pack<Real>::size;
  const hn::ScalableTag<WholeOf<Real>> tag;
  TileCharge<dimensions, points, Real> counted(charge);
  const std::int64_t count = particles.count();
  for (std::int64_t begin = 0; begin < count; begin += vectors_together * size) {
    const int vectors = vectors_from<size>(begin, count);
    for (int vector = 0; vector < vectors; ++vector) {
      const std::int64_t i = begin + vector * size;
      Clouds<dimensions, points, Real> clouds;
      Whole<Real> place[dimensions];
      for (int a = 0; a < dimensions; ++a) place[a] = hn::Load(tag, particles.place(a) + i);
      clouds.find(place);
      counted.stage_charge(vector, clouds,
                           hn::FirstN(tag, static_cast<std::size_t>(count - i < size ? count - i : size)));
    }
    counted.add_staged(vectors);
  }
}

/// The same in the shares that currents change. Seldom, hence one by one.
template <int dimensions, int points, class Real>
void deposit_all_whole(const TileParticles<Real>& particles, std::int64_t* charge) {
  for (std::int64_t i = 0; i < particles.count(); ++i) {
    WholeOf<Real> place[dimensions];
    for (int a = 0; a < dimensions; ++a) place[a] = particles.place(a)[i];
    deposit_whole<dimensions, points, Real>(place, charge);
  }
}

/// Calls body(velocity) for every particle after a push, in double precision.
template <int dimensions, int points, int velocities, class Pusher, class Real, class Body>
HWY_INLINE void each_velocity(const PushTask<Real>& task, const TileParticles<Real>& particles, const Body& body) {
  const TilePusher<dimensions, points, velocities, Pusher, Real> pusher(task);
  constexpr int size = Pack<Real>::size;
  const std::int64_t count = particles.count();
  alignas(64) std::int32_t offset[vectors_together * size];
  alignas(64) Real vx[size], vy[size], vz[size];
  for (std::int64_t begin = 0; begin < count; begin += vectors_together * size) {
    const int vectors = vectors_from<size>(begin, count);
    pusher.find_records(particles, begin, vectors, offset);
    for (int vector = 0; vector < vectors; ++vector) {
      const std::int64_t i = begin + vector * size;
      const auto now = pusher.push(particles, i, offset + vector * size);
      now.velocity.x.store(vx), now.velocity.y.store(vy), now.velocity.z.store(vz);
      const int some = static_cast<int>(count - i < size ? count - i : size);
      for (int k = 0; k < some; ++k) body(Vec3<double>{vx[k], vy[k], vz[k]});
    }
  }
}

/// The largest v² and |v| of the tile: they set the scale of the sums.
template <int dimensions, int points, int velocities, class Pusher, class Real>
void find_bounds(const PushTask<Real>& task, const TileParticles<Real>& particles, TileBounds& bounds) {
  TileBounds most = bounds;
  const auto larger_of = [](double a, double b) HWY_ATTR { return a > b ? a : b; };
  each_velocity<dimensions, points, velocities, Pusher>(task, particles, [&](const Vec3<double>& v) HWY_ATTR {
    most.square = larger_of(most.square, v.x * v.x + v.y * v.y + v.z * v.z);
    const double largest = larger_of(__builtin_fabs(v.x), larger_of(__builtin_fabs(v.y), __builtin_fabs(v.z)));
    most.component = larger_of(most.component, largest);
  });
  bounds = most;
}

/// Sums in whole quanta: exact, so the order of particles and tiles does not matter.
template <int dimensions, int points, int velocities, class Pusher, class Real>
void add_up(const PushTask<Real>& task, const TileParticles<Real>& particles, double squares_per_quantum,
            double components_per_quantum, TileSums& sums) {
  TileSums sum = sums;
  const auto per_light_squared = static_cast<double>(task.factors.per_light_squared);
  each_velocity<dimensions, points, velocities, Pusher>(task, particles, [&](const Vec3<double>& v) HWY_ATTR {
    const double of[] = {v.x, v.y, v.z};
    const double part = Pusher::energy_factor(v.x * v.x + v.y * v.y + v.z * v.z, per_light_squared);
    for (std::size_t a = 0; a < 3; ++a) {
      sum.square[a] += physics::quanta(of[a] * of[a] * part, squares_per_quantum);
      sum.component[a] += physics::quanta(of[a], components_per_quantum);
    }
  });
  sums = sum;
}

/// The table for one kind of plasma; the functions below choose the kind from the options.
template <int dimensions, int points, int velocities, class Pusher, class Real>
TileLoops<Real> loops() {
  constexpr bool relativistic = Pusher::relativistic;
  return {Patch<dimensions, points>::size,
          TileField<dimensions, points, relativistic, Real>::Words::components,
          relativistic ? 3 : 0,
          Patch<dimensions, points, 1>::size,
          fetch_patch<dimensions, points, Real>,
          push<dimensions, points, velocities, Pusher, Real>,
          relativistic ? deposit_all_whole<dimensions, points, Real> : deposit<dimensions, points, Real>,
          deposit_one<dimensions, points, Real>,
          find_bounds<dimensions, points, velocities, Pusher, Real>,
          add_up<dimensions, points, velocities, Pusher, Real>};
}

template <int dimensions, int points, int velocities, class Real>
TileLoops<Real> loops_of(const PlasmaOptions& options) {
  return HWY_NAMESPACE::with_pusher<velocities>(
      pusher_of(options), [](auto pusher) { return loops<dimensions, points, velocities, decltype(pusher), Real>(); });
}

template <int points, class Real>
TileLoops<Real> loops_of(const PlasmaOptions& options) {
  if (options.dimensions == 3) return loops_of<3, points, 3, Real>(options);
  return options.velocities == 3 ? loops_of<2, points, 3, Real>(options) : loops_of<2, points, 2, Real>(options);
}

template <class Real>
TileLoops<Real> loops_for(const PlasmaOptions& options) {
  return options.shape == PlasmaShape::quadratic ? loops_of<3, Real>(options) : loops_of<2, Real>(options);
}

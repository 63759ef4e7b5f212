// The loops of plasma/stream_loops.hpp for SIMD vectors of particles. No include guard: included once per instruction
// set, inside its namespace, which names hwy::HWY_NAMESPACE hn.

#include "device/simd_pack.inl"
#include "physics/plasma_push.inl"
#include "plasma/cell_records.inl"

template <class Real>
using WholeOf = typename physics::PlasmaCounts<Real>::Place;
template <class Real>
using Whole = hn::Vec<hn::ScalableTag<WholeOf<Real>>>;
template <class Real>
using WholeMask = hn::Mask<hn::ScalableTag<WholeOf<Real>>>;

/// Whole numbers of less than 2⁵¹ from and to doubles: they stand in the lowest bits of a number next to 1.5 · 2⁵².
HWY_INLINE Pack<float> to_real(Whole<float> number) {
  return Pack<float>(hn::ConvertTo(hn::ScalableTag<float>(), number));
}
HWY_INLINE Pack<double> to_real(Whole<double> number) {
  const hn::ScalableTag<std::int64_t> whole;
  const Pack<double> middle(0x1.8p52);
  const auto shifted = hn::BitCast(hn::ScalableTag<double>(), hn::Add(number, hn::BitCast(whole, middle.raw)));
  return Pack<double>(shifted) - middle;
}
/// The nearest whole number. A float that does not fit becomes the largest or the smallest one.
HWY_INLINE Whole<float> to_whole(Pack<float> number) { return hn::NearestInt(number.raw); }
HWY_INLINE Whole<double> to_whole(Pack<double> number) {
  const hn::ScalableTag<std::int64_t> whole;
  const Pack<double> middle(0x1.8p52);
  return hn::Sub(hn::BitCast(whole, (number + middle).raw), hn::BitCast(whole, middle.raw));
}

/// A vector of particles of a tile: their clouds.
template <int dimensions, int points, class Real>
struct Clouds {
  using Number = Pack<Real>;
  using Counts = physics::PlasmaCounts<Real>;
  static constexpr hn::ScalableTag<WholeOf<Real>> tag{};

  Number weight[dimensions][points];
  Whole<Real> cell[dimensions];  // the point below (linear) or next to (quadratic) the particle

  HWY_INLINE void find(const Whole<Real>* place) {
    constexpr WholeOf<Real> one = 1, half = points == 3 ? one << (Counts::place_bits - 1) : 0;
    const hn::ScalableTag<std::make_unsigned_t<WholeOf<Real>>> plain;
    for (int a = 0; a < dimensions; ++a) {
      const auto shifted = points == 3 ? hn::Add(place[a], hn::Set(tag, half)) : place[a];
      auto rest = hn::And(shifted, hn::Set(tag, (one << Counts::place_bits) - 1));
      if (points == 3) rest = hn::Sub(rest, hn::Set(tag, half));
      cloud_weights<points>(to_real(rest) * Number(1 / physics::place_grains<Real>), Number(Real(0.5)), Number(Real(1)),
                            weight[a]);
      cell[a] = hn::BitCast(tag, hn::ShiftRight<Counts::place_bits>(hn::BitCast(plain, shifted)));
    }
  }
  /// cell numbers with `side` of them in a row.
  template <int side>
  HWY_INLINE Whole<Real> number() const {
    Whole<Real> result = cell[dimensions - 1];
    for (int a = dimensions - 2; a >= 0; --a) {
      if constexpr ((side & (side - 1)) == 0)
        result = hn::Add(hn::ShiftLeft<side == 16 ? 4 : 3>(result), cell[a]);
      else
        result = hn::Add(times<side>(result), cell[a]);
    }
    return result;
  }
  /// The units of charge of a point of the clouds: see physics::charge_share, of which this has the bits.
  HWY_INLINE Whole<Real> share(int point) const {
    const Number scale(static_cast<Real>(std::int64_t{1} << Counts::charge_bits));
    const Number in_row = (weight[0][point % points] * weight[1][point / points % points]);
    if constexpr (dimensions == 3) return to_whole(in_row * weight[2][point / points / points] * scale);
    return to_whole(in_row * scale);
  }
  /// All of them; the last point gets the rest.
  HWY_INLINE void shares(Whole<Real>* share_of) const {
    constexpr int last = cloud_size<dimensions, points> - 1;
    auto rest = hn::Set(tag, WholeOf<Real>{1} << Counts::charge_bits);
    for (int p = 0; p < last; ++p) {
      share_of[p] = share(p);
      rest = hn::Sub(rest, share_of[p]);
    }
    share_of[last] = rest;
  }

 private:
  /// number · side without a multiplication, which whole numbers of 64 bits lack.
  template <int side>
  static HWY_INLINE Whole<Real> times(Whole<Real> number) {
    auto sum = number;  // side = 2ⁿ + 1, or + 3
    constexpr int shift = side >= 16 ? 4 : 3;
    for (int k = 1; k < side - (1 << shift); ++k) sum = hn::Add(sum, number);
    return hn::Add(hn::ShiftLeft<shift>(number), sum);
  }
};

/// Whether fields and charge of this kind go by records of cells.
template <int points, class Real>
inline constexpr bool by_records = has_cell_records && points == 2 && sizeof(Real) == 4;

/// The field of a tile for the loops.
template <int dimensions, int points, class Real>
struct TileField {
  using Area = Patch<dimensions, points>;
  static constexpr int size = cloud_size<dimensions, points>;
  static constexpr int width = tile_width<dimensions>;
  static constexpr int cells = dimensions == 3 ? width * width * width : width * width;
  static constexpr int record = dimensions * size;  // components one after the other, each with its points
  static constexpr bool records = by_records<points, Real>;

  alignas(64) Real value[records ? cells * record : 1];
  const Real* patch;

  explicit TileField(const Real* from) : patch(from) {
    if constexpr (records) {
      for (int cell = 0; cell < cells; ++cell) {
        const int x = cell % width, y = cell / width % width, z = cell / width / width;
        const Real* const corner = from + (z * Area::side + y) * Area::side + x;
        Real* const to = value + cell * record;
        for (int a = 0; a < dimensions; ++a)
          for (int p = 0; p < size; ++p)
            to[a * size + p] = corner[a * Area::size + cloud_offset<dimensions, points>(p)];
      }
    }
  }

  HWY_INLINE Vec3<Pack<Real>> at(const Clouds<dimensions, points, Real>& clouds) const {
    using Number = Pack<Real>;
    Number electric[3] = {Number(Real(0)), Number(Real(0)), Number(Real(0))};
    Number values[size];
    if constexpr (records) {
      alignas(64) std::int32_t offset[Number::size];
      const auto number = clouds.template number<width>();
      hn::Store(hn::Mul(number, hn::Set(clouds.tag, record)), clouds.tag, offset);
      for (int a = 0; a < dimensions; ++a) {
        for (int quad = 0; quad < size; quad += 4) load_records(value + a * size + quad, offset, values + quad);
        electric[a] = interpolate<dimensions, points>(clouds.weight, values);
      }
    } else {
      const auto number = clouds.template number<Area::side>();
      for (int a = 0; a < dimensions; ++a) {
        for (int p = 0; p < size; ++p)
          values[p].raw = hn::GatherIndex(hn::ScalableTag<Real>(),
                                          patch + a * Area::size + cloud_offset<dimensions, points>(p), number);
        electric[a] = interpolate<dimensions, points>(clouds.weight, values);
      }
    }
    return {electric[0], electric[1], electric[2]};
  }
};

/// The charge of a tile while it is counted: in records of cells in 32 bits, or at once in the patch.
template <int dimensions, int points, class Real>
class TileCharge {
  using Area = Patch<dimensions, points>;
  using Number = Pack<Real>;
  static constexpr int size = cloud_size<dimensions, points>;
  static constexpr int width = tile_width<dimensions>;
  static constexpr int cells = dimensions == 3 ? width * width * width : width * width;
  static constexpr bool records = by_records<points, Real>;
  static constexpr std::int32_t full = 1 << 30;  // a record that takes no more than `between` particles
  static constexpr int between = 1000;

 public:
  explicit TileCharge(std::int64_t* patch) : patch_(patch) {
    if constexpr (records)
      for (int i = 0; i < (cells + 1) * size; ++i) record_[i] = 0;
  }
  ~TileCharge() {
    if constexpr (records) flush();
  }

  /// Adds the particles of a vector that `mask` names.
  HWY_INLINE void add(const Clouds<dimensions, points, Real>& clouds, WholeMask<Real> mask) {
    Whole<Real> share[size];
    clouds.shares(share);
    if constexpr (records) {
      alignas(64) std::int32_t offset[Number::size];
      const auto number = clouds.template number<width>();
      const auto kept = hn::IfThenElse(mask, number, hn::Set(clouds.tag, cells));  // the rest goes to the last record
      hn::Store(hn::ShiftLeft<dimensions == 3 ? 3 : 2>(kept), clouds.tag, offset);
      for (int quad = 0; quad < size; quad += 4) add_records(share + quad, record_ + quad, offset);
      added_ += Number::size;
      if (added_ > between) make_room();
    } else {
      alignas(64) WholeOf<Real> shares[size][Number::size], first[Number::size];
      for (int p = 0; p < size; ++p) hn::Store(share[p], clouds.tag, shares[p]);
      hn::Store(clouds.template number<Area::side>(), clouds.tag, first);
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(clouds.tag, mask, bits);
      for (int k = 0; k < Number::size; ++k)
        if (bits[k / 8] >> (k % 8) & 1)
          for (int p = 0; p < size; ++p) patch_[first[k] + cloud_offset<dimensions, points>(p)] += shares[p][k];
    }
  }

 private:
  HWY_NOINLINE void make_room() {
    std::int32_t most = 0;
    for (int i = 0; i < cells * size; ++i) most = record_[i] > most ? record_[i] : most;
    if (most >= full) flush();
    for (int i = cells * size; i < (cells + 1) * size; ++i) record_[i] = 0;
    added_ = 0;
  }
  void flush() {
    for (int cell = 0; cell < cells; ++cell) {
      const int x = cell % width, y = cell / width % width, z = cell / width / width;
      std::int64_t* const corner = patch_ + (z * Area::side + y) * Area::side + x;
      for (int p = 0; p < size; ++p) corner[cloud_offset<dimensions, points>(p)] += record_[cell * size + p];
    }
    for (int i = 0; i < cells * size; ++i) record_[i] = 0;
  }

  std::int64_t* patch_;
  int added_ = 0;
  alignas(64) std::int32_t record_[records ? (cells + 1) * size : 1];
};

/// Particles i … of a tile with their velocities after a push.
template <int dimensions, int points, int velocities, bool magnetised, class Real>
struct Pusher {
  using Number = Pack<Real>;
  static constexpr hn::ScalableTag<WholeOf<Real>> tag{};
  static constexpr int size = Number::size;

  TileField<dimensions, points, Real> field;
  BorisFactors<Number> factors;
  Clouds<dimensions, points, Real> clouds;
  Whole<Real> place[dimensions];
  Vec3<Number> velocity;

  explicit Pusher(const PushTask<Real>& task) : field(task.field) {
    const auto& f = task.factors;
    const auto pack = [](Real number) HWY_ATTR { return Number(number); };
    factors = {pack(f.kick), pack(f.half_kick), {pack(f.t.x), pack(f.t.y), pack(f.t.z)},
               {pack(f.s.x), pack(f.s.y), pack(f.s.z)}};
  }
  HWY_INLINE void push(const TileParticles<Real>& particles, std::int64_t i) {
    for (int a = 0; a < dimensions; ++a) place[a] = hn::Load(tag, particles.place(a) + i);
    const Vec3<Number> before{Number::load(particles.velocity(0) + i), Number::load(particles.velocity(1) + i),
                              velocities == 3 ? Number::load(particles.velocity(2) + i) : Number(Real(0))};
    clouds.find(place);
    velocity = boris_push<dimensions, velocities, magnetised>(before, field.at(clouds), factors);
  }
  static HWY_INLINE WholeMask<Real> those_before(std::int64_t i, std::int64_t count) {
    return hn::FirstN(tag, static_cast<std::size_t>(count - i < size ? count - i : size));
  }
};

/// The displacement of a vector of particles in grains, and those of which it cannot be told so.
HWY_INLINE Whole<float> displacements(Pack<float> grains, WholeMask<float>&) { return to_whole(grains); }
HWY_INLINE Whole<double> displacements(Pack<double> grains, WholeMask<double>& out) {
  const hn::ScalableTag<std::int64_t> whole;
  const auto near = hn::Lt(hn::Abs(grains.raw), hn::Set(hn::ScalableTag<double>(), 0x1p50));
  out = hn::Or(out, hn::Not(hn::RebindMask(whole, near)));
  return to_whole(grains);
}

template <int dimensions, int points, int velocities, bool magnetised, class Real>
void push(const PushTask<Real>& task, const TileParticles<Real>& particles, std::int64_t* charge,
          PushRest<Real>& rest) {
  using Number = Pack<Real>;
  using Push = Pusher<dimensions, points, velocities, magnetised, Real>;
  const hn::ScalableTag<WholeOf<Real>> tag;
  const hn::ScalableTag<std::make_unsigned_t<WholeOf<Real>>> plain;
  Push pusher(task);
  TileCharge<dimensions, points, Real> counted(charge);
  Clouds<dimensions, points, Real> clouds;
  const Number drift(task.drift);
  const auto none = hn::FirstN(tag, 0);
  const auto tile = task.grid->tile(task.tile);
  Whole<Real> limit[dimensions];
  for (int a = 0; a < dimensions; ++a)
    limit[a] = hn::Set(tag, WholeOf<Real>{task.grid->axis[a].cells_of(tile[a])}
                                << physics::PlasmaCounts<Real>::place_bits);
  const std::int64_t count = particles.count();
  for (std::int64_t i = 0; i < count; i += Number::size) {
    pusher.push(particles, i);
    const Number velocity[3] = {pusher.velocity.x, pusher.velocity.y, pusher.velocity.z};
    auto out = none;
    Whole<Real> place[dimensions];
    for (int a = 0; a < dimensions; ++a) {
      place[a] = hn::Add(pusher.place[a], displacements(velocity[a] * drift, out));
      const auto within = hn::Lt(hn::BitCast(plain, place[a]), hn::BitCast(plain, limit[a]));
      out = hn::Or(out, hn::Not(hn::RebindMask(tag, within)));
    }
    const auto held = Push::those_before(i, count), stays = hn::AndNot(out, held), leaves = hn::And(out, held);
    for (int a = 0; a < dimensions; ++a)
      hn::Store(hn::IfThenElse(stays, place[a], pusher.place[a]), tag, particles.place(a) + i);
    for (int a = 0; a < velocities; ++a) velocity[a].store(particles.velocity(a) + i);
    clouds.find(place);
    counted.add(clouds, stays);
    if (!hn::AllFalse(tag, leaves)) {
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(tag, leaves, bits);
      for (int k = 0; k < Number::size; ++k)
        if (bits[k / 8] >> (k % 8) & 1)
          see_off<dimensions, points, velocities>(task, particles, i + k, charge, rest);
    }
  }
}

template <int dimensions, int points, class Real>
void deposit(const TileParticles<Real>& particles, std::int64_t* charge) {
  const hn::ScalableTag<WholeOf<Real>> tag;
  TileCharge<dimensions, points, Real> counted(charge);
  Clouds<dimensions, points, Real> clouds;
  Whole<Real> place[dimensions];
  const std::int64_t count = particles.count();
  for (std::int64_t i = 0; i < count; i += Pack<Real>::size) {
    for (int a = 0; a < dimensions; ++a) place[a] = hn::Load(tag, particles.place(a) + i);
    clouds.find(place);
    const auto left = static_cast<std::size_t>(count - i);
    counted.add(clouds, hn::FirstN(tag, left < Pack<Real>::size ? left : std::size_t{Pack<Real>::size}));
  }
}

/// Calls body(velocity) for every particle after a push, in double precision.
template <int dimensions, int points, int velocities, bool magnetised, class Real, class Body>
HWY_INLINE void each_velocity(const PushTask<Real>& task, const TileParticles<Real>& particles, const Body& body) {
  using Push = Pusher<dimensions, points, velocities, magnetised, Real>;
  Push pusher(task);
  const std::int64_t count = particles.count();
  alignas(64) Real vx[Push::size], vy[Push::size], vz[Push::size];
  for (std::int64_t i = 0; i < count; i += Push::size) {
    pusher.push(particles, i);
    pusher.velocity.x.store(vx), pusher.velocity.y.store(vy), pusher.velocity.z.store(vz);
    const int some = static_cast<int>(count - i < Push::size ? count - i : Push::size);
    for (int k = 0; k < some; ++k) body(Vec3<double>{vx[k], vy[k], vz[k]});
  }
}

template <int dimensions, int points, int velocities, bool magnetised, class Real>
void find_bounds(const PushTask<Real>& task, const TileParticles<Real>& particles, TileBounds& bounds) {
  TileBounds most = bounds;
  const auto larger_of = [](double a, double b) HWY_ATTR { return a > b ? a : b; };
  each_velocity<dimensions, points, velocities, magnetised>(task, particles, [&](const Vec3<double>& v) HWY_ATTR {
    most.square = larger_of(most.square, v.x * v.x + v.y * v.y + v.z * v.z);
    const double largest = larger_of(__builtin_fabs(v.x), larger_of(__builtin_fabs(v.y), __builtin_fabs(v.z)));
    most.component = larger_of(most.component, largest);
  });
  bounds = most;
}

template <int dimensions, int points, int velocities, bool magnetised, class Real>
void add_up(const PushTask<Real>& task, const TileParticles<Real>& particles, double squares_per_quantum,
            double components_per_quantum, TileSums& sums) {
  TileSums sum = sums;
  each_velocity<dimensions, points, velocities, magnetised>(task, particles, [&](const Vec3<double>& v) HWY_ATTR {
    sum.square += physics::quanta(v.x * v.x + v.y * v.y + v.z * v.z, squares_per_quantum);
    sum.component[0] += physics::quanta(v.x, components_per_quantum);
    sum.component[1] += physics::quanta(v.y, components_per_quantum);
    sum.component[2] += physics::quanta(v.z, components_per_quantum);
  });
  sums = sum;
}

template <int dimensions, int points, int velocities, bool magnetised, class Real>
StreamLoops<Real> loops() {
  return {Patch<dimensions, points>::size,
          fetch_patch<dimensions, points, Real>,
          push<dimensions, points, velocities, magnetised, Real>,
          deposit<dimensions, points, Real>,
          deposit_one<dimensions, points, Real>,
          find_bounds<dimensions, points, velocities, magnetised, Real>,
          add_up<dimensions, points, velocities, magnetised, Real>};
}

template <int dimensions, int points, int velocities, class Real>
StreamLoops<Real> loops_of(const PlasmaOptions& options) {
  return options.magnetised() ? loops<dimensions, points, velocities, true, Real>()
                              : loops<dimensions, points, velocities, false, Real>();
}

template <int points, class Real>
StreamLoops<Real> loops_of(const PlasmaOptions& options) {
  if (options.dimensions == 3) return loops_of<3, points, 3, Real>(options);
  return options.velocities == 3 ? loops_of<2, points, 3, Real>(options) : loops_of<2, points, 2, Real>(options);
}

template <class Real>
StreamLoops<Real> loops_for(const PlasmaOptions& options) {
  return options.shape == PlasmaShape::quadratic ? loops_of<3, Real>(options) : loops_of<2, Real>(options);
}

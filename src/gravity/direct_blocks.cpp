// Packing of sources into blocks and distances to the sources of a block. Plain loops over a block that the compiler
// vectorises (this file is compiled with -O3), once per instruction set. Multiplications and additions are not
// contracted, so all of them give the same bits.
// Layout: a block has block_size sources, and its fields lie one after another (Blocks::field). Packing predicts the
// sources to the time of the step, multiplies masses by G, and rounds to the number type of the pair loops.
// Unfilled places of the last block have zero mass and lie at infinity: no distance to them is ever the smallest.
#include <limits>

#include "device/simd_targets.hpp"
#include "gravity/direct_kernels.hpp"
#include "physics/hermite.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gravity/direct_blocks.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::direct::HWY_NAMESPACE {

/// A block of sources in double precision.
struct alignas(64) State {
  double x[block_size], y[block_size], z[block_size];
  double vx[block_size], vy[block_size], vz[block_size];
};

/// Fields that a solver was not given (velocities of a leapfrog run, for example) become zero.
template <class Real>
void copy(const Sources<Real>& from, std::int64_t begin, int count, State& to) {
  const auto take = [begin, count](const Real* values, double* out) {
    for (int k = 0; k < count; ++k) out[k] = values ? static_cast<double>(values[begin + k]) : 0.0;
  };
  take(from.x, to.x), take(from.y, to.y), take(from.z, to.z);
  take(from.vx, to.vx), take(from.vy, to.vy), take(from.vz, to.vz);
}

/// Hermite prediction from the tick of each particle to `now` + offset; ticks are whole numbers, tick_length is a time.
template <class Real>
void predict(const Sources<Real>& from, std::int64_t begin, int count, State& to) {
  const Real *const ax = from.ax + begin, *const ay = from.ay + begin, *const az = from.az + begin;
  const Real *const jx = from.jx + begin, *const jy = from.jy + begin, *const jz = from.jz + begin;
  const std::int64_t* const tick = from.tick + begin;
  const std::int64_t now = from.now;
  const double tick_length = from.tick_length, offset = from.offset;
  for (int k = 0; k < count; ++k) {
    const double dt = static_cast<double>(now - tick[k]) * tick_length + offset;
    Vec3<double> x{to.x[k], to.y[k], to.z[k]}, v{to.vx[k], to.vy[k], to.vz[k]};
    physics::hermite_predict<double>(dt, x, v, {ax[k], ay[k], az[k]}, {jx[k], jy[k], jz[k]});
    to.x[k] = x.x, to.y[k] = x.y, to.z[k] = x.z;
    to.vx[k] = v.x, to.vy[k] = v.y, to.vz[k] = v.z;
  }
}

/// The same from times of their own, with the snap.
template <class Real>
void predict_from_times(const Sources<Real>& from, std::int64_t begin, int count, State& to) {
  const Real *const ax = from.ax + begin, *const ay = from.ay + begin, *const az = from.az + begin;
  const Real *const jx = from.jx + begin, *const jy = from.jy + begin, *const jz = from.jz + begin;
  const Real *const sx = from.sx + begin, *const sy = from.sy + begin, *const sz = from.sz + begin;
  const double* const time = from.time + begin;
  const double moment = from.moment;
  for (int k = 0; k < count; ++k) {
    Vec3<double> x{to.x[k], to.y[k], to.z[k]}, v{to.vx[k], to.vy[k], to.vz[k]};
    physics::hermite_predict<double>(moment - time[k], x, v, {ax[k], ay[k], az[k]}, {jx[k], jy[k], jz[k]},
                                     {sx[k], sy[k], sz[k]});
    to.x[k] = x.x, to.y[k] = x.y, to.z[k] = x.z;
    to.vx[k] = v.x, to.vy[k] = v.y, to.vz[k] = v.z;
  }
}

/// Fills one block: (1) copy and predict in double precision, (2) round to the pair's number type; with low parts, a
/// second field has what the rounding left off, (3) masses times `constant` (G), (4) softening numbers of the species.
template <Precision precision>
void pack(const Sources<typename Numbers<precision>::State>& from, double constant, std::int64_t block,
          const Blocks<precision>& to) {
  using Pair = typename Numbers<precision>::Pair;
  State state;
  const std::int64_t begin = block * block_size;
  const int count = to.filled(block);
  copy(from, begin, count, state);
  if (from.time)
    predict_from_times(from, begin, count, state);
  else if (from.ax)
    predict(from, begin, count, state);
  for (int k = count; k < block_size; ++k) {
    state.x[k] = state.y[k] = state.z[k] = std::numeric_limits<double>::infinity();
    state.vx[k] = state.vy[k] = state.vz[k] = 0;
  }
  const auto put = [&](const double* values, int field) {
    Pair* const out = to.field(block, field);
    for (int k = 0; k < block_size; ++k) out[k] = static_cast<Pair>(values[k]);
  };
  put(state.x, x), put(state.y, y), put(state.z, z);
  put(state.vx, vx), put(state.vy, vy), put(state.vz, vz);
  if constexpr (Numbers<precision>::low_parts) {
    const auto put_low = [&](const double* values, int field) {
      Pair* const out = to.field(block, field);
      for (int k = 0; k < count; ++k)
        out[k] = static_cast<Pair>(values[k] - static_cast<double>(static_cast<Pair>(values[k])));
      for (int k = count; k < block_size; ++k) out[k] = 0;
    };
    put_low(state.x, x_low), put_low(state.y, y_low), put_low(state.z, z_low);
  }
  Pair* const masses = to.field(block, mass);
  for (int k = 0; k < count; ++k) masses[k] = static_cast<Pair>(constant * static_cast<double>(from.mass[begin + k]));
  for (int k = count; k < block_size; ++k) masses[k] = 0;
  if (!to.softening.by_particle) return;
  Pair* const softenings = to.field(block, softening);
  for (int k = 0; k < block_size; ++k)
    softenings[k] = static_cast<Pair>(to.softening.number[k < count && from.species ? from.species[begin + k] : 0]);
}

/// Squares of the distances from `point` to all sources of a block, in double precision. Returns the smallest: a search
/// skips the block by it. Eight running minima keep the loop vectorisable.
template <Precision precision>
double distances(const Blocks<precision>& sources, std::int64_t block, const Vec3<double>& point, double* squares) {
  const auto* const at = sources.field(block, 0);
  const auto position = [at](int field, int low, int k) {
    double value = at[field * block_size + k];
    if constexpr (Numbers<precision>::low_parts) value += static_cast<double>(at[low * block_size + k]);
    return value;
  };
  const double px = point.x, py = point.y, pz = point.z;
  for (int k = 0; k < block_size; ++k) {
    const Vec3<double> d{position(x, x_low, k) - px, position(y, y_low, k) - py, position(z, z_low, k) - pz};
    squares[k] = d.x * d.x + d.y * d.y + d.z * d.z;
  }
  constexpr int columns = 8;
  double smallest[columns];
  for (int c = 0; c < columns; ++c) smallest[c] = squares[c];
  for (int k = columns; k < block_size; k += columns)
    for (int c = 0; c < columns; ++c) smallest[c] = squares[k + c] < smallest[c] ? squares[k + c] : smallest[c];
  double least = smallest[0];
  for (int c = 1; c < columns; ++c) least = smallest[c] < least ? smallest[c] : least;
  return least;
}

void pack_single(const Sources<float>& from, double constant, std::int64_t block, const Blocks<Precision::single>& to) {
  pack(from, constant, block, to);
}
void pack_mixed(const Sources<double>& from, double constant, std::int64_t block, const Blocks<Precision::mixed>& to) {
  pack(from, constant, block, to);
}
void pack_full(const Sources<double>& from, double constant, std::int64_t block, const Blocks<Precision::double_>& to) {
  pack(from, constant, block, to);
}
double distances_single(const Blocks<Precision::single>& sources, std::int64_t block, const Vec3<double>& point,
                        double* squares) {
  return distances(sources, block, point, squares);
}
double distances_mixed(const Blocks<Precision::mixed>& sources, std::int64_t block, const Vec3<double>& point,
                       double* squares) {
  return distances(sources, block, point, squares);
}
double distances_full(const Blocks<Precision::double_>& sources, std::int64_t block, const Vec3<double>& point,
                      double* squares) {
  return distances(sources, block, point, squares);
}

}  // namespace pergola::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::direct {

HWY_EXPORT(pack_single);
HWY_EXPORT(pack_mixed);
HWY_EXPORT(pack_full);
HWY_EXPORT(distances_single);
HWY_EXPORT(distances_mixed);
HWY_EXPORT(distances_full);

// Highway chooses the best instruction set of the processor at run time.
template <>
void pack_block(const Sources<float>& from, double constant, std::int64_t block, const Blocks<Precision::single>& to) {
  HWY_DYNAMIC_DISPATCH(pack_single)(from, constant, block, to);
}
template <>
void pack_block(const Sources<double>& from, double constant, std::int64_t block, const Blocks<Precision::mixed>& to) {
  HWY_DYNAMIC_DISPATCH(pack_mixed)(from, constant, block, to);
}
template <>
void pack_block(const Sources<double>& from, double constant, std::int64_t block,
                const Blocks<Precision::double_>& to) {
  HWY_DYNAMIC_DISPATCH(pack_full)(from, constant, block, to);
}
template <>
double block_distances(const Blocks<Precision::single>& sources, std::int64_t block, const Vec3<double>& point,
                       double* squares) {
  return HWY_DYNAMIC_DISPATCH(distances_single)(sources, block, point, squares);
}
template <>
double block_distances(const Blocks<Precision::mixed>& sources, std::int64_t block, const Vec3<double>& point,
                       double* squares) {
  return HWY_DYNAMIC_DISPATCH(distances_mixed)(sources, block, point, squares);
}
template <>
double block_distances(const Blocks<Precision::double_>& sources, std::int64_t block, const Vec3<double>& point,
                       double* squares) {
  return HWY_DYNAMIC_DISPATCH(distances_full)(sources, block, point, squares);
}

}  // namespace pergola::direct
#endif

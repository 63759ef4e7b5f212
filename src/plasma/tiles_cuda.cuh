#pragma once
/// CUDA only: a plasma's particles, charge and field on the device as kernels see them, and gather and deposit on the
/// grid.
///
/// All structures are plain and passed to kernels by value; they own no memory. Places are in grains from the corner of
/// a tile, charge in fixed-point units (physics/plasma_push.hpp). Additions to charge are atomic and exact, so their
/// order does not matter. gather_from_grid and deposit_on_grid are for single particles: the push uses shared memory
/// instead.
#include <climits>
#include <cstdint>
#include <type_traits>

#include "device/launch.cuh"
#include "mesh/grid.hpp"
#include "physics/plasma_current.hpp"
#include "physics/plasma_push.hpp"

namespace pergola::cuda {

template <class Real>
using Place = typename physics::PlasmaCounts<Real>::Place;

/// Cells of a tile along the axes.
template <int dimensions>
struct TileWidth {
  static constexpr int x = dimensions == 3 ? 8 : 16, y = dimensions == 3 ? 8 : 16, z = dimensions == 3 ? 8 : 1;
};

/// The box cut into tiles, numbered x fastest. This device has `here` tiles from `first` on.
struct TileBox {
  physics::TileAxis axis[3];
  int tiles[3] = {1, 1, 1};
  int first = 0, here = 1;

  PERGOLA_HD bool has(int number) const { return static_cast<unsigned>(number - first) < static_cast<unsigned>(here); }
  PERGOLA_HD int number(const int (&tile)[3]) const { return (tile[2] * tiles[1] + tile[1]) * tiles[0] + tile[0]; }
  PERGOLA_HD void find(int number, int (&tile)[3]) const {
    tile[0] = number % tiles[0];
    tile[1] = number / tiles[0] % tiles[1];
    tile[2] = number / tiles[0] / tiles[1];
  }
};

/// A particle without room in its new tile stays in its old group. Its first place, relative to the corner of the new
/// tile, is stored as its (negative) complement, and the new tile in Groups::away.
template <class Number>
PERGOLA_HD Number mark_away(Number place) {
  return ~place;
}

/// Particles in memory; arrays that are not kept are null.
template <class Real>
struct ParticleArrays {
  Place<Real>* place[3] = {};
  Real* velocity[3] = {};
  std::uint32_t* rank = nullptr;
};

/// Findings of the kernels, which check() reads.
struct StreamStatus {
  unsigned long long balance;  // arrivals less leavers, of all steps: 0
  unsigned long long refused;  // particles that stayed outside their tile, of all steps
  unsigned crowded;            // a tile, its inbox or its list of holes is full or nearly so
  unsigned wrong_charge;       // the charge on the grid was not that of the particles: 1 + species
  unsigned blocks_done;        // of the kernel that adds up the charge
  unsigned bad_group;          // a particle is not a number: 1 + its group, rank and velocity
  std::uint32_t bad_rank;
  double bad_velocity[3];
};

/// A particle that goes to a tile on another device.
template <class Real>
struct Departure {
  int species, tile;
  std::uint32_t rank;
  Place<Real> place[3];
  Real velocity[3];

  template <int dimensions, int velocities>
  __device__ static Departure made(int species, int tile, std::uint32_t rank, const Place<Real>* place,
                                   const Real* velocity) {
    Departure one{species, tile, rank, {}, {}};
#pragma unroll
    for (int a = 0; a < dimensions; ++a) one.place[a] = place[a];
#pragma unroll
    for (int a = 0; a < velocities; ++a) one.velocity[a] = velocity[a];
    return one;
  }
};

/// The departures of a push, in any order. If the list is full, or the list of holes, a particle stays in its slot as
/// outside its tile until there is room.
template <class Real>
struct Outbox {
  enum Count { listed, late, waiting, for_rank };  // in `counts`; from the last on the departures to each rank
  Departure<Real>* list = nullptr;
  unsigned size = 0;
  unsigned* counts = nullptr;
  const int* owner = nullptr;  // rank of each row of tiles
  int tiles_in_row = 1;

  __device__ bool add(const Departure<Real>& one) const {
    const unsigned place = atomicAdd(counts + listed, 1u);
    if (place >= size) return false;
    list[place] = one;
    atomicAdd(counts + for_rank + owner[one.tile / tiles_in_row], 1u);
    return true;
  }
};

/// The particles of all species on a device. A group is a tile of a species: group = species · box.here + tile −
/// box.first. It has room for begin[group + 1] − begin[group] particles and has count[group]. A leaver goes to the
/// inbox of its new group, of `inbox_size` places, and leaves a hole.
template <class Real>
struct Groups {
  TileBox box;
  int groups = 0;
  const std::int64_t* begin = nullptr;
  std::uint32_t* count = nullptr;
  ParticleArrays<Real> slots;
  std::uint32_t* away = nullptr;  // tile of a particle that stays outside its own

  int inbox_size = 0;
  ParticleArrays<Real> inbox;
  std::uint32_t* arrived = nullptr;  // per group; more than `room` were refused
  std::uint32_t* room = nullptr;     // arrivals that a group can take in this step
  std::uint32_t* hole = nullptr;     // inbox_size per group
  std::uint32_t* holes = nullptr;    // per group; more than inbox_size were refused
  StreamStatus* status = nullptr;
  Outbox<Real> outbox;  // of several ranks

  PERGOLA_HD int group_of(int species, int tile) const { return species * box.here + tile - box.first; }
  /// The tile of a group, by its number in the box.
  PERGOLA_HD int tile_of(int group) const { return box.first + group % box.here; }
};

inline constexpr std::uint32_t no_hole = 0xffffffffu;

/// The charge of one species at the grid points, counted.
struct ChargeSums {
  int cells[3] = {1, 1, 1};
  unsigned long long* sum = nullptr;

  __device__ __forceinline__ unsigned long long* row(int iy, int iz) const {
    return sum + (std::int64_t{iz} * cells[1] + iy) * cells[0];
  }
};

/// In a slab: at the grid points of its layers and the layers around.
struct SlabSums : ChargeSums {
  int first[3] = {0, 0, 0};  // the grid point with which the memory begins

  __device__ __forceinline__ unsigned long long* row(int iy, int iz) const {
    iy -= first[1], iz -= first[2];
    return ChargeSums::row(iy < 0 ? iy + cells[1] : iy, iz < 0 ? iz + cells[2] : iz);
  }
};

/// `cell` modulo n; cell is seldom outside.
__device__ __forceinline__ int wrapped(int cell, int n) {
  if (static_cast<unsigned>(cell) < static_cast<unsigned>(n)) return cell;
  cell %= n;
  return cell < 0 ? cell + n : cell;
}

/// The clouds of a particle along the axes.
template <int dimensions, int points, class Real>
struct Cloud {
  int first[3] = {0, 0, 0};
  Real weight[3][points];

  template <class Number>
  __device__ __forceinline__ explicit Cloud(const Number* place) {
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      const auto axis = physics::axis_cloud<points, Real>(static_cast<Place<Real>>(place[a]));
      first[a] = axis.first;
#pragma unroll
      for (int k = 0; k < points; ++k) weight[a][k] = axis.weight[k];
    }
  }

  /// add(ix, iy, iz, units) for the points of the cloud, counted from its first; the last gets what the others leave.
  template <class Add>
  __device__ __forceinline__ void share_out(const Add& add) const {
    using Share = typename physics::PlasmaCounts<Real>::Share;
    constexpr int layers = dimensions == 3 ? points : 1;
    Share rest = Share{1} << physics::PlasmaCounts<Real>::charge_bits;
#pragma unroll
    for (int k = 0; k < layers; ++k)
#pragma unroll
      for (int j = 0; j < points; ++j)
#pragma unroll
        for (int i = 0; i < points; ++i) {
          if (i + 1 == points && j + 1 == points && k + 1 == layers) continue;
          const Real xy = weight[0][i] * weight[1][j];
          const Share share = physics::charge_share(dimensions == 3 ? xy * weight[2][k] : xy);
          rest -= share;
          add(i, j, k, share);
        }
    add(points - 1, points - 1, layers - 1, rest);
  }
};

/// Adds the charge of a particle to the grid; `place` is relative to the corner of `tile`. `whole`: in the shares that
/// currents change (physics/plasma_current.inl).
template <int dimensions, int points, class Real, bool whole = false, class Sums, class Number>
__device__ __forceinline__ void deposit_on_grid(const TileBox& box, const Sums& sums, const int (&tile)[3],
                                                const Number* place) {
  const Cloud<dimensions, points, Real> cloud(place);
  int first[3];
#pragma unroll
  for (int a = 0; a < 3; ++a) first[a] = box.axis[a].corner(tile[a]) + cloud.first[a];
  const auto add = [&](int i, int j, int k, auto share) {
    unsigned long long* row = sums.row(wrapped(first[1] + j, sums.cells[1]), wrapped(first[2] + k, sums.cells[2]));
    atomicAdd(row + wrapped(first[0] + i, sums.cells[0]),
              static_cast<unsigned long long>(static_cast<long long>(share)));
  };
  if constexpr (whole) {
    constexpr int size = points * points * (dimensions == 3 ? points : 1);
    Real inside[dimensions];
#pragma unroll
    for (int a = 0; a < dimensions; ++a)
      inside[a] = physics::inside_cell<points, Real>(static_cast<Place<Real>>(place[a]));
    Place<Real> share[size];
    physics::whole_shares<dimensions, points>(inside, share);
#pragma unroll
    for (int p = 0; p < size; ++p) add(p % points, p / points % points, p / points / points, share[p]);
  } else {
    cloud.share_out(add);
  }
}

/// Calls add(component, x, y, z, flux) for the currents of a move between places relative to the corner of a tile: x,
/// y, z are grid points from there.
template <int dimensions, int points, class Real, class Number, class Add>
__device__ __forceinline__ void each_current(const Number* from, const Number* to, Real across, const Add& add) {
  using Whole = Place<Real>;
  constexpr Whole half = points == 3 ? Whole{1} << (physics::PlasmaCounts<Real>::place_bits - 1) : Whole{0};
  physics::ChargeMove<dimensions, Real, Whole> move, rest;
#pragma unroll
  for (int a = 0; a < dimensions; ++a)
    move.from[a] = static_cast<Whole>(from[a]) + half, move.to[a] = static_cast<Whole>(to[a]) + half;
  move.across = across;
  for (bool more = true; more; move = rest) {
    more = physics::cut_at_border<Real>(move, rest) > Real(0);
    Whole first[3] = {}, flux[physics::flux_count<dimensions, points>];
    physics::charge_fluxes<Real, dimensions, points>(move, first, flux);
    const Whole* next = flux;
#pragma unroll
    for (int c = 0; c < 3; ++c)
#pragma unroll
      for (int k = 0; k < (dimensions == 3 ? points - (c == 2) : 1); ++k)
#pragma unroll
        for (int j = 0; j < points - (c == 1); ++j)
#pragma unroll
          for (int i = 0; i < points - (c == 0); ++i)
            add(c, static_cast<int>(first[0]) + i, static_cast<int>(first[1]) + j, static_cast<int>(first[2]) + k,
                *next++);
  }
}
/// Adds them to the grid; from one component of the sums to the next there are `next_component` of them.
template <int dimensions, int points, class Real, class Sums, class Number>
__device__ __forceinline__ void add_currents_on_grid(const TileBox& box, const Sums& sums, std::int64_t next_component,
                                                     const int (&tile)[3], const Number* from, const Number* to,
                                                     Real across) {
  each_current<dimensions, points>(from, to, across, [&](int c, int x, int y, int z, auto flux) {
    unsigned long long* row = sums.row(wrapped(box.axis[1].corner(tile[1]) + y, sums.cells[1]),
                                       wrapped(box.axis[2].corner(tile[2]) + z, sums.cells[2]));
    atomicAdd(row + c * next_component + wrapped(box.axis[0].corner(tile[0]) + x, sums.cells[0]),
              static_cast<unsigned long long>(static_cast<long long>(flux)));
  });
}

/// The field on the grid. In a slab its layers and the layers around are in memory.
template <class Real>
struct GridField {
  Field<const Real> of[6];   // E and B, with the cells of the box; from the first layer in memory on
  int first = 0, count = 1;  // layers in memory; the first may be negative

  /// Index of a point of the box, in each component; an absent layer gives the last.
  template <int dimensions, bool slab>
  __device__ __forceinline__ std::int64_t index(int ix, int iy, int iz) const {
    if constexpr (slab) {
      int& layer = dimensions == 3 ? iz : iy;
      const int cells = dimensions == 3 ? of[0].nz : of[0].ny;
      layer -= first;
      if (layer < 0) layer += cells;
      if (layer >= cells) layer -= cells;
      layer = min(layer, count - 1);
    }
    return of[0].index(ix, iy, iz);
  }
};

/// The fields at a particle as its pusher takes them. value(half, component, to) writes the values of a component in
/// the particle's cloud, x fastest; `half` is that of physics::StaggeredCloud, as a type.
template <int dimensions, int points, class Real, class Number, class Value>
__device__ __forceinline__ physics::ElectromagneticField<Real> staggered_at(
    const Cloud<dimensions, points, Real>& cloud, const Number* place, const Value& value) {
  constexpr physics::StaggeredWords<dimensions, points> words;
  Real values[words.begin[6]], weight[dimensions][points], lower[dimensions][points];
#pragma unroll
  for (int a = 0; a < dimensions; ++a) {
#pragma unroll
    for (int k = 0; k < points; ++k) weight[a][k] = cloud.weight[a][k];
    physics::lower_weights<points>(physics::inside_cell<points, Real>(place[a]), Real(0.5), lower[a]);
  }
  value(std::integral_constant<unsigned, 1>(), 0, values + words.begin[0]);
  value(std::integral_constant<unsigned, 2>(), 1, values + words.begin[1]);
  value(std::integral_constant<unsigned, 4>(), 2, values + words.begin[2]);
  value(std::integral_constant<unsigned, 6>(), 3, values + words.begin[3]);
  value(std::integral_constant<unsigned, 5>(), 4, values + words.begin[4]);
  value(std::integral_constant<unsigned, 3>(), 5, values + words.begin[5]);
  return physics::staggered_field<dimensions, points>(weight, lower, values);
}

/// The electric field at a particle, or with a relativistic pusher both fields, from the grid.
template <int dimensions, int points, bool slab, bool relativistic, class Real, class Number>
__device__ __forceinline__ auto gather_from_grid(const TileBox& box, const GridField<Real>& field, const int (&tile)[3],
                                                 const Number* place) {
  constexpr int layers = dimensions == 3 ? points : 1;
  const Cloud<dimensions, points, Real> cloud(place);
  std::int64_t at[layers * points * points];
#pragma unroll
  for (int k = 0; k < layers; ++k)
#pragma unroll
    for (int j = 0; j < points; ++j)
#pragma unroll
      for (int i = 0; i < points; ++i) {
        const int ix = wrapped(box.axis[0].corner(tile[0]) + cloud.first[0] + i, field.of[0].nx);
        const int iy = wrapped(box.axis[1].corner(tile[1]) + cloud.first[1] + j, field.of[0].ny);
        const int iz = wrapped(box.axis[2].corner(tile[2]) + cloud.first[2] + k, field.of[0].nz);
        at[(k * points + j) * points + i] = field.template index<dimensions, slab>(ix, iy, iz);
      }
  if constexpr (relativistic) {
    return staggered_at(cloud, place, [&](auto half, int component, Real* to) {
      using Part = physics::StaggeredCloud<dimensions, points, decltype(half)::value>;
#pragma unroll
      for (int k = 0; k < Part::z; ++k)
#pragma unroll
        for (int j = 0; j < Part::y; ++j)
#pragma unroll
          for (int i = 0; i < Part::x; ++i)
            to[(k * Part::y + j) * Part::x + i] = field.of[component].data[at[(k * points + j) * points + i]];
    });
  } else {
    Real result[3] = {0, 0, 0};
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      Real value[layers * points * points];
#pragma unroll
      for (int m = 0; m < layers * points * points; ++m) value[m] = field.of[a].data[at[m]];
      result[a] = physics::interpolate<dimensions, points>(cloud.weight, value);
    }
    return Vec3<Real>{result[0], result[1], result[2]};
  }
}

}  // namespace pergola::cuda

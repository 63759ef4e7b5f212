#pragma once
/// CUDA only: the push, one pass over the particles.
///
/// A block takes a part of a group. (1) It copies the tile's field to shared memory, (2) gathers from there, (3) pushes
/// the particles in place and (4) counts their charge at the new places in shared memory, or with a relativistic pusher
/// the currents of their moves. A particle that leaves the tile goes to the inbox of its new group, or to the outbox if
/// another rank has its tile. Charge is counted in fixed-point units, so the order of the particles does not matter.
/// Units: places in grains (2^−place_bits of a cell) from the corner of the tile, velocities in cells ω_p.
#include <type_traits>

#include "plasma/tiles_cuda.cuh"

namespace pergola::cuda {

/// The parameters for which a kernel is compiled.
template <int dimensions_, int velocities_, int points_, class Pusher_, class Real_>
struct PushKind {
  using Real = Real_;
  using Pusher = Pusher_;
  static constexpr int dimensions = dimensions_, velocities = velocities_, points = points_;
};

/// The arguments of a push of one species.
template <class Real>
struct PushTask {
  Groups<Real> all;
  int first_group = 0;  // of the species
  int parts = 1;        // of a group
  GridField<Real> field;
  SlabSums charge;                  // or the current along x
  std::int64_t next_component = 0;  // from a current to the next
  physics::BorisFactors<Real> factors;
  Real drift = 0;  // in grains per velocity
  Real time = 0;   // of the drift
};

/// Threads of a block, particles per thread at a time, and blocks that a multiprocessor should hold.
template <int threads_, int each_, int resident_>
struct PushShape {
  static constexpr int threads = threads_, each = each_, resident = resident_;
};

/// The part of the grid in a block's shared memory: points from −below of the tile's corner. The field serves particles
/// in the tile, the charge also particles up to a cell outside.
template <int dimensions, int points>
struct TilePatch {
  using Width = TileWidth<dimensions>;
  static constexpr int field_below = points - 2, charge_below = points - 1;
  static constexpr int field_extra = 1 + 2 * (points - 2), charge_extra = 3 + 2 * (points - 2);
  static constexpr int field_x = Width::x + field_extra, field_y = Width::y + field_extra;
  static constexpr int field_z = dimensions == 3 ? Width::z + field_extra : 1;
  static constexpr int charge_x = Width::x + charge_extra, charge_y = Width::y + charge_extra;
  static constexpr int charge_z = dimensions == 3 ? Width::z + charge_extra : 1;
  static constexpr int field_points = field_x * field_y * field_z, charge_points = charge_x * charge_y * charge_z;
};

/// Particles that may be counted before the sums are written out, so that 32 bits hold their charge, or currents of
/// either sign. The sums of charge begin at `charge_bias`, because a share may be some units below zero.
template <bool relativistic>
inline constexpr int most_counted = relativistic ? 1920 : 3840;
inline constexpr unsigned charge_bias = 1u << 17;

/// The components of the field at a point (two dimensions: at a point and its neighbour along x), read at once.
template <class Real, int count>
struct alignas(count * sizeof(Real) > 16 ? sizeof(Real) : count * sizeof(Real)) FieldValues {
  Real value[count];
};

/// Adjacent values of an array, read and written at once.
template <class T, int count>
struct alignas(count * sizeof(T) > 16 ? 16 : count * sizeof(T)) Pack {
  T value[count];
};

/// `slab`: other ranks have some tiles.
template <class Kind, class Shape, bool slab>
class TilePush {
 public:
  using Real = typename Kind::Real;
  using Number = Place<Real>;
  static constexpr int dimensions = Kind::dimensions, velocities = Kind::velocities, points = Kind::points;
  using Patch = TilePatch<dimensions, points>;
  using Sums = std::conditional_t<slab, SlabSums, ChargeSums>;
  static constexpr bool relativistic = Kind::Pusher::relativistic;
  static constexpr int currents = relativistic ? 3 : 1;  // or the charge
  // What does not fit into 48 KB with the lists of particles is read from the grid, and counted there in 64 bits.
  static constexpr int field_bytes = relativistic ? 6 * Patch::field_points * static_cast<int>(sizeof(Real)) : 0;
  static constexpr int sums_bytes = relativistic ? currents * Patch::charge_points * 4 : 0;
  static constexpr bool field_in_shared = field_bytes <= 40000;
  static constexpr bool counts_in_shared = sizeof(Real) == 4 && field_bytes + sums_bytes <= 40000;
  static constexpr bool paired = dimensions == 2 && points == 2 && sizeof(Real) == 4 && !relativistic;
  static constexpr int place_bits = physics::PlasmaCounts<Real>::place_bits;
  using Values = FieldValues<Real, paired ? 4 : dimensions == 2 ? 2 : sizeof(Real) == 4 ? 4 : 3>;

  static constexpr int warps = Shape::threads / 32, at_once = Shape::threads * Shape::each;
  static constexpr int at_most = most_counted<relativistic>;
  static constexpr int of_warp = (at_most + at_once - 1) / at_once * 32 * Shape::each;
  static constexpr unsigned bias = relativistic ? 0 : charge_bias;

  struct Shared {
    Values field[relativistic ? 1 : Patch::field_points];
    Real component[relativistic ? 6 : 1][relativistic && field_in_shared ? Patch::field_points : 1];
    unsigned charge[counts_in_shared ? currents * Patch::charge_points : 1];
    std::uint16_t left[warps][of_warp];  // a warp's particles that did not stay within the tile
  };

  __device__ __forceinline__ TilePush(const PushTask<Real>& task, Shared& shared)
      : task_(task), shared_(shared), group_(task.first_group + static_cast<int>(blockIdx.x) / task.parts) {
    task.all.box.find(static_cast<int>(blockIdx.x) / task.parts + (slab ? task.all.box.first : 0), tile_);
#pragma unroll
    for (int a = 0; a < dimensions; ++a) width_[a] = Number{task.all.box.axis[a].cells_of(tile_[a])} << place_bits;
    begin_ = task.all.begin[group_];
  }

  /// The work of one block: pieces of at most at_most particles, with the charge written out after each.
  __device__ __forceinline__ void run() {
    const int count = static_cast<int>(task_.all.count[group_]), part = static_cast<int>(blockIdx.x) % task_.parts;
    const int size = ((count + task_.parts - 1) / task_.parts + 31) / 32 * 32;
    const int begin = part * size, end = min(begin + size, count);
    if (begin >= end) return;
    load_field();
    clear_charge();
    for (int from = begin; from < end; from += at_most) {
      __syncthreads();
      const int left = push(from, min(from + at_most, end));
      hand_over(from, left);
      __syncthreads();
      write_charge();
    }
  }

 private:
  struct State {
    Number place[dimensions];
    Real velocity[velocities];
  };

  __device__ __forceinline__ Vec3<Real> velocity_of(const State& s) const {
    if constexpr (velocities == 3)
      return {s.velocity[0], s.velocity[1], s.velocity[2]};
    else
      return {s.velocity[0], s.velocity[1], Real(0)};
  }
  __device__ __forceinline__ static void set_velocity(State& s, const Vec3<Real>& v) {
    s.velocity[0] = v.x, s.velocity[1] = v.y;
    if constexpr (velocities == 3) s.velocity[2] = v.z;
  }

  template <class Fields>
  __device__ __forceinline__ Vec3<Real> pushed(const State& s, const Fields& fields) const {
    return Kind::Pusher::template push<dimensions, velocities>(velocity_of(s), fields, task_.factors);
  }

  /// Calls body(k, ix, iy, iz) for the points of a patch of x · y · z points that begins at −below of the tile's
  /// corner: k in the patch, the others on the grid. A group of lanes takes a row.
  template <int x, int y, int z, int below, class Body>
  __device__ __forceinline__ void each_point(const int (&cells)[3], const Body& body) const {
    constexpr int lanes = x <= 8 ? 8 : x <= 16 ? 16 : 32, rounds = (x + lanes - 1) / lanes;
    const auto& box = task_.all.box;
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    for (int row = static_cast<int>(threadIdx.x) / lanes; row < y * z; row += Shape::threads / lanes) {
      const int layer = z == 1 ? 0 : row / y;
      const int iy = wrapped(box.axis[1].corner(tile_[1]) - below + row - layer * y, cells[1]);
      const int iz = z == 1 ? 0 : wrapped(box.axis[2].corner(tile_[2]) - below + layer, cells[2]);
#pragma unroll
      for (int round = 0; round < rounds; ++round) {
        const int i = lane + round * lanes;
        if (i < x) body(row * x + i, wrapped(box.axis[0].corner(tile_[0]) - below + i, cells[0]), iy, iz);
      }
    }
  }

  /// Copies the field around the tile into shared memory.
  __device__ __forceinline__ void load_field() {
    if constexpr (!field_in_shared) return;
    const auto& field = task_.field;
    const int cells[3] = {field.of[0].nx, field.of[0].ny, field.of[0].nz};
    each_point<Patch::field_x, Patch::field_y, Patch::field_z, Patch::field_below>(
        cells, [&](int k, int ix, int iy, int iz) {
          const std::int64_t at = field.template index<dimensions, slab>(ix, iy, iz);
          if constexpr (relativistic) {
#pragma unroll
            for (int c = 0; c < 6; ++c) shared_.component[c][k] = field.of[c].data[at];
            return;
          }
          Values values{};
#pragma unroll
          for (int a = 0; a < dimensions; ++a) values.value[a] = field.of[a].data[at];
          if constexpr (paired) {
            const auto next = field.template index<dimensions, slab>(ix + 1 < cells[0] ? ix + 1 : 0, iy, iz);
            values.value[2] = field.of[0].data[next], values.value[3] = field.of[1].data[next];
          }
          shared_.field[k] = values;
        });
  }

  __device__ __forceinline__ void clear_charge() {
    if constexpr (counts_in_shared)
      for (int k = static_cast<int>(threadIdx.x); k < currents * Patch::charge_points; k += Shape::threads)
        shared_.charge[k] = bias;
  }

  __device__ __forceinline__ auto gather(const Number* place) const {
    if constexpr (relativistic && !field_in_shared)
      return gather_from_grid<dimensions, points, slab, true>(task_.all.box, task_.field, tile_, place);
    else
      return gather_from_shared(place);
  }
  __device__ __forceinline__ auto gather_from_shared(const Number* place) const {
    const Cloud<dimensions, points, Real> cloud(place);
    const int at = ((dimensions == 3 ? cloud.first[2] + Patch::field_below : 0) * Patch::field_y + cloud.first[1] +
                    Patch::field_below) *
                       Patch::field_x +
                   cloud.first[0] + Patch::field_below;
    if constexpr (relativistic)
      return staggered_at(cloud, place, [&](auto half, int component, Real* to) {
        using Part = physics::StaggeredCloud<dimensions, points, decltype(half)::value>;
#pragma unroll
        for (int k = 0; k < Part::z; ++k)
#pragma unroll
          for (int j = 0; j < Part::y; ++j)
#pragma unroll
            for (int i = 0; i < Part::x; ++i)
              to[(k * Part::y + j) * Part::x + i] =
                  shared_.component[component][at + (k * Patch::field_y + j) * Patch::field_x + i];
      });
    else
      return electric_at(cloud, at);
  }
  __device__ __forceinline__ Vec3<Real> electric_at(const Cloud<dimensions, points, Real>& cloud, int at) const {
    constexpr int layers = dimensions == 3 ? points : 1;
    Real value[3][layers * points * points];
#pragma unroll
    for (int k = 0; k < layers; ++k)
#pragma unroll
      for (int j = 0; j < points; ++j)
#pragma unroll
        for (int i = 0; i < points; i += paired ? 2 : 1) {
          const Values values = shared_.field[at + (k * Patch::field_y + j) * Patch::field_x + i];
          const int m = (k * points + j) * points + i;
#pragma unroll
          for (int a = 0; a < dimensions; ++a) value[a][m] = values.value[a];
          if constexpr (paired) value[0][m + 1] = values.value[2], value[1][m + 1] = values.value[3];
        }
    Vec3<Real> field{physics::interpolate<dimensions, points>(cloud.weight, value[0]),
                     physics::interpolate<dimensions, points>(cloud.weight, value[1]), Real(0)};
    if constexpr (dimensions == 3) field.z = physics::interpolate<dimensions, points>(cloud.weight, value[2]);
    return field;
  }

  /// Counts the charge of a particle at most a cell outside the tile.
  template <class Any>
  __device__ __forceinline__ void deposit(const Any* place) {
    if constexpr (counts_in_shared) {
      const Cloud<dimensions, points, Real> cloud(place);
      const int at = ((dimensions == 3 ? cloud.first[2] + Patch::charge_below : 0) * Patch::charge_y + cloud.first[1] +
                      Patch::charge_below) *
                         Patch::charge_x +
                     cloud.first[0] + Patch::charge_below;
      cloud.share_out([&](int i, int j, int k, auto share) {
        atomicAdd(&shared_.charge[at + (k * Patch::charge_y + j) * Patch::charge_x + i], static_cast<unsigned>(share));
      });
    } else {
      deposit_on_grid<dimensions, points, Real>(task_.all.box, charge(), tile_, place);
    }
  }

  /// Counts the currents of a move from a place in the tile to one at most a cell outside.
  template <class Any>
  __device__ __forceinline__ void add_currents(const Any* from, const Any* to, Real across) {
    if constexpr (counts_in_shared)
      each_current<dimensions, points>(from, to, across, [&](int c, int x, int y, int z, auto flux) {
        constexpr int below = Patch::charge_below;
        const int layer = dimensions == 3 ? z + below : 0;
        const int at = (layer * Patch::charge_y + y + below) * Patch::charge_x + x + below;
        atomicAdd(&shared_.charge[c * Patch::charge_points + at], static_cast<unsigned>(flux));
      });
    else
      add_currents_on_grid<dimensions, points>(task_.all.box, charge(), task_.next_component, tile_, from, to, across);
  }

  /// One step of a particle that stays in the tile; else false, and the particle is unchanged.
  __device__ __forceinline__ bool step(State& s) {
    if (s.place[0] < 0) return false;
    State next = s;
    const Vec3<Real> after = pushed(s, gather(s.place));
    set_velocity(next, after);
    const Vec3<Real> motion = Kind::Pusher::motion(after, task_.factors);
    bool stays = true;
    Real farthest = 0;
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      const Real moved = (a == 0 ? motion.x : a == 1 ? motion.y : motion.z) * task_.drift;
      farthest += fabs(moved);  // not a number if one is not
      next.place[a] += grains(moved);
      using Unsigned = std::make_unsigned_t<Number>;
      stays = stays && static_cast<Unsigned>(next.place[a]) < static_cast<Unsigned>(width_[a]);
    }
    if (!stays || !(farthest < static_cast<Real>(Number{relativistic ? 1 : 64} << place_bits))) return false;
    if constexpr (relativistic)
      add_currents(s.place, next.place, motion.z * task_.time);
    else
      deposit(next.place);
    s = next;
    return true;
  }
  /// A displacement as a whole number of grains, to the nearest.
  __device__ static std::int32_t grains(float moved) { return __float2int_rn(moved); }
  __device__ static std::int64_t grains(double moved) { return __double2ll_rn(moved); }

  /// Steps of the particles of this warp; returns the number left over in its list.
  __device__ __forceinline__ int push(int from, int to) {
    constexpr int each = Shape::each;
    const auto& slots = task_.all.slots;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    int left = 0;
    for (int first = from + warp * 32 * each; first < to; first += at_once) {
      const int i = first + lane * each;
      const std::int64_t at = begin_ + i;
      Pack<Number, each> place[dimensions];
      Pack<Real, each> velocity[velocities];
      if (i < to) {
#pragma unroll
        for (int a = 0; a < dimensions; ++a)
          place[a] = *reinterpret_cast<const Pack<Number, each>*>(slots.place[a] + at);
#pragma unroll
        for (int a = 0; a < velocities; ++a)
          velocity[a] = *reinterpret_cast<const Pack<Real, each>*>(slots.velocity[a] + at);
      }
#pragma unroll
      for (int e = 0; e < each; ++e) {
        State s;
#pragma unroll
        for (int a = 0; a < dimensions; ++a) s.place[a] = place[a].value[e];
#pragma unroll
        for (int a = 0; a < velocities; ++a) s.velocity[a] = velocity[a].value[e];
        const bool is_left = i + e < to && !step(s);
        const unsigned all_left = __ballot_sync(0xffffffffu, is_left);
        if (is_left)
          shared_.left[warp][left + __popc(all_left & ((1u << lane) - 1))] = static_cast<std::uint16_t>(i + e - from);
        left += __popc(all_left);
#pragma unroll
        for (int a = 0; a < dimensions; ++a) place[a].value[e] = s.place[a];
#pragma unroll
        for (int a = 0; a < velocities; ++a) velocity[a].value[e] = s.velocity[a];
      }
      if (i >= to) continue;
#pragma unroll
      for (int a = 0; a < dimensions; ++a) *reinterpret_cast<Pack<Number, each>*>(slots.place[a] + at) = place[a];
#pragma unroll
      for (int a = 0; a < velocities; ++a) *reinterpret_cast<Pack<Real, each>*>(slots.velocity[a] + at) = velocity[a];
    }
    __syncwarp();
    return left;
  }

  /// A particle that may leave its tile.
  struct Leaver {
    State state;
    std::int64_t place[3];
    int tile[3];
    bool leaves;
  };

  /// Whether an unsettled particle goes to a tile of this device. Slabs are cut across the last axis.
  __device__ __forceinline__ bool stays_here(Leaver one) const {
    if constexpr (slab) {
      const auto& box = task_.all.box;
      physics::settle<Real>(box.axis[dimensions - 1], one.tile[dimensions - 1], one.place[dimensions - 1]);
      return box.has(box.number(one.tile));
    } else {
      return true;
    }
  }

  /// One step of the particle in a slot, wherever it goes.
  __device__ __forceinline__ Leaver step_far(std::int64_t slot) {
    const auto& all = task_.all;
    Leaver one;
#pragma unroll
    for (int a = 0; a < dimensions; ++a) one.state.place[a] = all.slots.place[a][slot];
#pragma unroll
    for (int a = 0; a < velocities; ++a) one.state.velocity[a] = all.slots.velocity[a][slot];
    const bool was_away = one.state.place[0] < 0;
    Vec3<Real> after;
    if (was_away) {
      one.state.place[0] = mark_away(one.state.place[0]);
      all.box.find(static_cast<int>(all.away[slot]), one.tile);
      after = pushed(one.state, gather_from_grid<dimensions, points, slab, relativistic>(all.box, task_.field, one.tile,
                                                                                         one.state.place));
    } else {
#pragma unroll
      for (int a = 0; a < 3; ++a) one.tile[a] = tile_[a];
      after = pushed(one.state, gather(one.state.place));
    }
    set_velocity(one.state, after);
    const Vec3<Real> motion = Kind::Pusher::motion(after, task_.factors);
    bool near = !was_away, finite = true;
    constexpr Real farthest = relativistic ? static_cast<Real>(Number{1} << place_bits) : Real(0x1p62);
    std::int64_t from[3];
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      const Real along = a == 0 ? motion.x : a == 1 ? motion.y : motion.z;
      from[a] = one.state.place[a];
      one.place[a] = from[a] + physics::displacement(along, task_.drift);
      near = near && one.place[a] >= -(std::int64_t{1} << place_bits) &&
             one.place[a] < width_[a] + (std::int64_t{1} << place_bits);
      finite = finite && fabs(along * task_.drift) < farthest;
    }
    if constexpr (relativistic) {
      // This rank counts all of the move.
      const Real across = motion.z * task_.time;
      if (!finite) {
#pragma unroll
        for (int a = 0; a < dimensions; ++a) one.place[a] = from[a];
      } else if (near) {
        add_currents(from, one.place, across);
      } else {
        add_currents_on_grid<dimensions, points>(all.box, charge(), task_.next_component, one.tile, from, one.place,
                                                 across);
      }
    }
    const bool counts = !relativistic && stays_here(one);  // else the receiving rank counts it
    if (near && counts) deposit(one.place);
#pragma unroll
    for (int a = 0; a < dimensions; ++a) {
      physics::settle<Real>(all.box.axis[a], one.tile[a], one.place[a]);
      one.state.place[a] = static_cast<Number>(one.place[a]);
    }
    if (!near && counts) deposit_on_grid<dimensions, points, Real>(all.box, charge(), one.tile, one.place);
    if (!finite) report(slot, one.state);
    one.leaves = one.tile[0] != tile_[0] || one.tile[1] != tile_[1] || (dimensions == 3 && one.tile[2] != tile_[2]);
    return one;
  }

  /// Notes the first particle that is not a number; check() throws later with its id.
  __device__ void report(std::int64_t slot, const State& state) {
    StreamStatus& status = *task_.all.status;
    if (atomicCAS(&status.bad_group, 0u, static_cast<unsigned>(group_) + 1) != 0) return;
    status.bad_rank = task_.all.slots.rank[slot];
    for (int a = 0; a < velocities; ++a) status.bad_velocity[a] = static_cast<double>(state.velocity[a]);
  }

  __device__ __forceinline__ static void store(const ParticleArrays<Real>& to, std::int64_t at, const State& state) {
#pragma unroll
    for (int a = 0; a < dimensions; ++a) to.place[a][at] = state.place[a];
#pragma unroll
    for (int a = 0; a < velocities; ++a) to.velocity[a][at] = state.velocity[a];
  }

  /// Steps the particles that step() left over, and sends off those that leave. A warp does its own.
  __device__ __forceinline__ void hand_over(int from, int listed) {
    const auto& all = task_.all;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    for (int k = lane; k - lane < listed; k += 32) {
      const bool mine = k < listed;
      const int index = mine ? from + shared_.left[warp][k] : 0;
      Leaver one{};
      if (mine) one = step_far(begin_ + index);
      const bool leaves = mine && one.leaves;
      const unsigned leaving = __ballot_sync(0xffffffffu, leaves);
      unsigned hole = 0;
      if (leaving != 0) {
        const int leader = __ffs(static_cast<int>(leaving)) - 1;
        if (lane == leader) hole = atomicAdd(&all.holes[group_], static_cast<unsigned>(__popc(leaving)));
        hole = __shfl_sync(0xffffffffu, hole, leader) + static_cast<unsigned>(__popc(leaving & ((1u << lane) - 1)));
      }
      if (!mine) continue;
      const std::int64_t slot = begin_ + index;
      if (!leaves)
        store(all.slots, slot, one.state);
      else if (!send(one, slot, static_cast<std::uint32_t>(index), hole))
        keep_away(one, slot);
    }
  }

  /// Puts a leaver into the inbox of its new group if there is room, and its slot into the list of holes.
  __device__ __forceinline__ bool send(const Leaver& one, std::int64_t slot, std::uint32_t index, unsigned hole) {
    const auto& all = task_.all;
    if (hole >= static_cast<unsigned>(all.inbox_size)) return false;
    const int tile = all.box.number(one.tile), group = task_.first_group + tile - (slab ? all.box.first : 0);
    if (slab && !all.box.has(tile)) {
      const int species = task_.first_group / all.box.here;
      const bool listed = all.outbox.add(Departure<Real>::template made<dimensions, velocities>(
          species, tile, all.slots.rank[slot], one.state.place, one.state.velocity));
      all.hole[std::int64_t{group_} * all.inbox_size + hole] = listed ? index : no_hole;
      return listed;
    }
    const unsigned place = atomicAdd(&all.arrived[group], 1u);
    const bool fits = place < all.room[group];
    all.hole[std::int64_t{group_} * all.inbox_size + hole] = fits ? index : no_hole;
    if (!fits) return false;
    const std::int64_t to = std::int64_t{group} * all.inbox_size + place;
    store(all.inbox, to, one.state);
    all.inbox.rank[to] = all.slots.rank[slot];
    return true;
  }

  /// No room: the particle stays in its slot, marked, with its new tile beside it.
  __device__ __forceinline__ void keep_away(Leaver& one, std::int64_t slot) {
    const auto& all = task_.all;
    const int tile = all.box.number(one.tile);
    if (slab && !all.box.has(tile)) atomicAdd(all.outbox.counts + Outbox<Real>::late, 1u);
    all.away[slot] = static_cast<std::uint32_t>(tile);
    one.state.place[0] = mark_away(one.state.place[0]);
    store(all.slots, slot, one.state);
    atomicAdd(&all.status->refused, 1ull);
    all.status->crowded = 1;
  }

  /// Adds the block's sums to those of the grid, with one atomic addition per touched point.
  __device__ __forceinline__ void write_charge() {
    if constexpr (counts_in_shared) {
      const auto& to = charge();
      each_point<Patch::charge_x, Patch::charge_y, Patch::charge_z, Patch::charge_below>(
          to.cells, [&](int k, int ix, int iy, int iz) {
#pragma unroll
            for (int c = 0; c < currents; ++c) {
              const unsigned sum = shared_.charge[c * Patch::charge_points + k];
              shared_.charge[c * Patch::charge_points + k] = bias;
              if (sum == bias) continue;
              const long long units = relativistic ? static_cast<int>(sum) : static_cast<long long>(sum) - bias;
              atomicAdd(to.row(iy, iz) + c * task_.next_component + ix, static_cast<unsigned long long>(units));
            }
          });
    }
  }

  __device__ __forceinline__ const Sums& charge() const { return task_.charge; }

  const PushTask<Real>& task_;
  Shared& shared_;
  int group_, tile_[3];
  std::int64_t begin_;
  Number width_[3];
};

template <class Kind, class Shape, bool slab>
__global__ void __launch_bounds__(Shape::threads, Shape::resident)
    push_particles(const __grid_constant__ PushTask<typename Kind::Real> task) {
  using Push = TilePush<Kind, Shape, slab>;
  __shared__ typename Push::Shared shared;
  Push(task, shared).run();
}

}  // namespace pergola::cuda

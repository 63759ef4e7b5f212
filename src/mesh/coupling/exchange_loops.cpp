// The hot loops of the exchange on the CPU, compiled once per instruction set. Particles are worked on in groups of
// group_size neighbours in memory: places, first cells and weights of a group are arrays that the compiler vectorises.
// Sums are whole numbers (quanta): the last cell of a cloud gets what the others have left, so no mass is lost.
// Arrays of sums and forces have ghost cells at the end of rows and layers, so that clouds need no wrapping.
#include "mesh/coupling/exchange_loops.hpp"

#include <cstdlib>

#include "device/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mesh/coupling/exchange_loops.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::exchange::HWY_NAMESPACE {

// Loops over the particles of a group have a fixed length and no branches, for the compiler to vectorise.

/// Positions and masses of a group. One that is not complete repeats its last particle.
template <int dimensions, class Real>
struct Group {
  const Real* x[3] = {};
  const Real* mass = nullptr;
  alignas(64) Real copy[4][group_size];

  /// The particles begin … begin + group_size − 1 where they are.
  HWY_INLINE void at(const MeshParticles<Real>& particles, std::int64_t begin) {
    x[0] = particles.x + begin, x[1] = particles.y + begin;
    if (dimensions == 3) x[2] = particles.z + begin;
    mass = particles.mass + (particles.same_mass ? 0 : begin);
  }
  /// Copies listed particles into a group.
  template <class Index>
  HWY_NOINLINE void listed(const MeshParticles<Real>& particles, const Index* index, int count) {
    const Real* const from[4] = {particles.x, particles.y, dimensions == 3 ? particles.z : nullptr,
                                 particles.same_mass ? nullptr : particles.mass};
    for (int field = 0; field < 4; ++field) {
      if (!from[field]) continue;
      for (int k = 0; k < count; ++k) copy[field][k] = from[field][index[k]];
      for (int k = count; k < group_size; ++k) copy[field][k] = copy[field][count - 1];
    }
    for (int axis = 0; axis < dimensions; ++axis) x[axis] = copy[axis];
    mass = particles.same_mass ? particles.mass : copy[3];
  }
  /// Up to group_size particles from `begin` on; a whole group is not copied.
  HWY_INLINE void some(const MeshParticles<Real>& particles, std::int64_t begin, std::int64_t end) {
    if (end - begin == group_size) return at(particles, begin);
    std::int64_t index[group_size];
    for (std::int64_t i = begin; i < end; ++i) index[i - begin] = i;
    listed(particles, index, static_cast<int>(end - begin));
  }
};

/// Places of a group along an axis, in cells. Where the mesh does not hold one, `held` becomes 0 and the place is one
/// that is safe to use.
template <class Real>
HWY_INLINE void find_places(const CellFrame<Real>& frame, int axis, const Real* x, Real* place, int* held) {
  if (frame.periodic) {
    const Real low = frame.corner[axis], high = low + frame.side[axis];
    int within = 1;
    for (int k = 0; k < group_size; ++k) within &= (x[k] >= low) & (x[k] < high);
    if (within)
      for (int k = 0; k < group_size; ++k) place[k] = frame.cells_from_corner(axis, x[k]);
    else
      for (int k = 0; k < group_size; ++k) place[k] = frame.place(axis, x[k]);
    return;
  }
  for (int k = 0; k < group_size; ++k) {
    const Real at = frame.cells_from_corner(axis, x[k]);
    const bool holds = (at >= Real(isolated_margin)) & (at < static_cast<Real>(frame.cells[axis] - isolated_margin));
    held[k] &= holds;
    place[k] = holds ? at : Real(isolated_margin);
  }
}

/// The first cells and the weights of a group's clouds along an axis.
template <int order, class Real>
struct AxisClouds {
  alignas(64) int first[group_size];
  alignas(64) Real weight[order][group_size];

  /// A call for each group and axis costs nothing; one copy of this in every loop would take a minute to compile.
  HWY_NOINLINE void find(const CellFrame<Real>& in, int axis, const Real* x, int* held) {
    const CellFrame<Real> frame = in;  // a copy, which nothing that is written here can change
    alignas(64) Real place[group_size];
    find_places(frame, axis, x, place, held);
    for (int k = 0; k < group_size; ++k) {
      const auto weights = physics::axis_weights<order>(place[k]);
      first[k] = frame.wrapped(axis, weights.first);
      for (int j = 0; j < order; ++j) weight[j][k] = weights.weight[j];
    }
  }
};

/// The clouds of a group: first cells and weights along each axis, and which particles the mesh holds.
template <int dimensions, int order, class Real>
struct Clouds {
  static constexpr int row_order = dimensions == 3 ? order : 1;  // rows of a layer that a cloud touches
  static constexpr int rows = row_order * order;
  static constexpr int cells = rows * order;  // numbered x fastest, then rows, then layers

  AxisClouds<order, Real> axis[dimensions];
  alignas(64) int held[group_size];

  HWY_INLINE void find(const CellFrame<Real>& frame, const Group<dimensions, Real>& group) {
    for (int k = 0; k < group_size; ++k) held[k] = 1;
    for (int a = 0; a < dimensions; ++a) axis[a].find(frame, a, group.x[a], held);
  }
  HWY_INLINE bool all_held() const {
    int all = 1;
    for (int k = 0; k < group_size; ++k) all &= held[k];
    return all;
  }
  /// The highest layer of the walk in which a cloud of the group begins.
  HWY_INLINE int last_layer(const Walk<Real>& walk) const {
    int last = walk.first_layer;
    for (int k = 0; k < group_size; ++k)
      last = axis[dimensions - 1].first[k] > last ? axis[dimensions - 1].first[k] : last;
    return last - walk.first_layer;
  }
  /// The first cells in an array with ghosts that begins at a layer of the walk.
  HWY_INLINE void find_corners(const Walk<Real>& walk, int first_layer, std::int64_t* corner) const {
    const std::int64_t row_cells = walk.row_cells, layer_cells = walk.layer_cells;
    first_layer += walk.first_layer;
    const int *const x = axis[0].first, *const row = axis[1].first, *const layer = axis[dimensions - 1].first;
    for (int k = 0; k < group_size; ++k)
      corner[k] = (layer[k] - first_layer) * layer_cells + (dimensions == 3 ? row[k] * row_cells : 0) + x[k];
  }
  /// Where a row of a cloud begins in such an array, from the first cell.
  static HWY_INLINE std::int64_t row_offset(const Walk<Real>& walk, int row) {
    return row / row_order * walk.layer_cells + row % row_order * walk.row_cells;
  }
  /// The weights of a row of the clouds, without those along it.
  HWY_INLINE void find_row_weights(int number, Real* weight) const {
    const Real *const row = axis[1].weight[number % row_order], *const layer =
                                                                    axis[dimensions - 1].weight[number / row_order];
    for (int k = 0; k < group_size; ++k) weight[k] = dimensions == 3 ? row[k] * layer[k] : layer[k];
  }
  /// The weights of a cell of the clouds.
  HWY_INLINE void find_weights(int cell, Real* weight) const {
    const Real *const x = axis[0].weight[cell % order], *const row = axis[1].weight[cell / order % row_order];
    const Real* const layer = axis[dimensions - 1].weight[cell / order / row_order];
    for (int k = 0; k < group_size; ++k) weight[k] = x[k] * (dimensions == 3 ? row[k] * layer[k] : layer[k]);
  }
};

/// What clouds begin in along the axes from `first_axis` on, the last one counting most; off_mesh for those that begin
/// nowhere.
template <int dimensions, int order, int first_axis, class Real>
LayerRange find_starts(const Walk<Real>& walk, const MeshParticles<Real>& particles, std::int64_t begin,
                       std::int64_t end, int* starts) {
  const CellFrame<Real> frame = walk.frame;
  const int first = first_axis == dimensions - 1 ? walk.first_layer : 0;
  Group<dimensions, Real> group;
  group.some(particles, begin, end);
  alignas(64) int held[group_size], start[group_size];
  alignas(64) Real place[group_size];
  for (int k = 0; k < group_size; ++k) held[k] = 1, start[k] = 0;
  if (!frame.periodic)
    for (int a = 0; a < first_axis; ++a) find_places(frame, a, group.x[a], place, held);
  for (int a = dimensions - 1; a >= first_axis; --a) {
    find_places(frame, a, group.x[a], place, held);
    const int cells = frame.cells[a];
    for (int k = 0; k < group_size; ++k)
      start[k] = start[k] * cells + frame.wrapped(a, physics::axis_weights<order>(place[k]).first);
  }
  LayerRange range{held[0] ? start[0] - first : off_mesh, off_mesh};
  for (int k = 0; k < group_size; ++k) {
    const int at = held[k] ? start[k] - first : off_mesh;
    range.least = at < range.least ? at : range.least;
    range.most = at > range.most ? at : range.most;
    starts[k] = at;
  }
  return range;
}

/// The number of each particle's nearest cell, x fastest; particles off the mesh get the number after the last cell.
template <int dimensions, class Real>
void find_cells(const Walk<Real>& walk, const MeshParticles<Real>& particles, std::int64_t begin, std::int64_t end,
                std::uint32_t* cells) {
  const std::uint32_t nx = static_cast<std::uint32_t>(walk.nx), rows = static_cast<std::uint32_t>(walk.rows);
  const std::uint32_t none = static_cast<std::uint32_t>(walk.frame.cells[dimensions - 1]) * rows * nx;
  Group<dimensions, Real> group;
  Clouds<dimensions, 1, Real> clouds;
  for (std::int64_t from = begin; from < end; from += group_size) {
    const std::int64_t until = from + group_size < end ? from + group_size : end;
    group.some(particles, from, until);
    clouds.find(walk.frame, group);
    alignas(64) std::uint32_t found[group_size];
    for (int k = 0; k < group_size; ++k) {
      const auto x = static_cast<std::uint32_t>(clouds.axis[0].first[k]);
      const auto y = static_cast<std::uint32_t>(clouds.axis[1].first[k]);
      const auto z = static_cast<std::uint32_t>(clouds.axis[dimensions - 1].first[k]);
      found[k] = clouds.held[k] ? (dimensions == 3 ? z * rows + y : y) * nx + x : none;
    }
    for (int k = 0; k < until - from; ++k) cells[from - begin + k] = found[k];
  }
}

/// Parts of the quanta by weight; `rest` keeps what is left for the last cell.
template <class Real>
HWY_INLINE void share_quanta(const std::int64_t* quanta, const Real* weight, std::int64_t* HWY_RESTRICT share,
                             std::int64_t* HWY_RESTRICT rest) {
  for (int k = 0; k < group_size; ++k) {
    const std::int64_t part = physics::quanta_share_by_shift(quanta[k], weight[k]);
    share[k] = part;
    rest[k] -= part;
  }
}

/// Layers are cleared when they are first needed: then they are in the cache.
template <class Real>
HWY_INLINE void clear_layers(const Walk<Real>& walk, int needed, SumBlock& block) {
  for (; block.cleared < needed; ++block.cleared) {
    const std::int64_t cells = walk.layer_cells;
    std::int64_t* const layer = block.sums + block.cleared * cells;
    for (std::int64_t cell = 0; cell < cells; ++cell) layer[cell] = 0;
  }
}

/// Adds the clouds of the first `count` particles of a group to the sums. The shares are those of share_out().
/// Scattered particles ask for their cells early.
template <int dimensions, int order, class Real>
HWY_NOINLINE void deposit_group(const Walk<Real>& walk, const Group<dimensions, Real>& group, int count, bool scattered,
                                double per_quantum, SumBlock& block) {
  using GroupClouds = Clouds<dimensions, order, Real>;
  constexpr int last = GroupClouds::cells - 1;
  GroupClouds clouds;
  clouds.find(walk.frame, group);
  alignas(64) std::int64_t corner[group_size], quanta[group_size];
  alignas(64) std::int64_t share[GroupClouds::cells][group_size];
  alignas(64) Real weight[group_size];
  clouds.find_corners(walk, block.first_layer, corner);
  clear_layers(walk, clouds.last_layer(walk) - block.first_layer + order, block);
  std::int64_t* row_sums[GroupClouds::rows];
  for (int row = 0; row < GroupClouds::rows; ++row) row_sums[row] = block.sums + GroupClouds::row_offset(walk, row);
  if (scattered)
    for (int k = 0; k < group_size; ++k)
      for (int row = 0; row < GroupClouds::rows; ++row) __builtin_prefetch(row_sums[row] + corner[k], 1);
  for (int k = 0; k < group_size; ++k) share[last][k] = quanta[k] = physics::quanta(group.mass[k], per_quantum);
  for (int cell = 0; cell < last; ++cell) {
    clouds.find_weights(cell, weight);
    share_quanta(quanta, weight, share[cell], share[last]);
  }
  for (int k = 0; k < count; ++k)
    for (int row = 0; row < GroupClouds::rows; ++row)
      for (int x = 0; x < order; ++x) row_sums[row][corner[k] + x] += share[row * order + x][k];
}

/// Whole groups by number; the next ones are asked for early.
template <int dimensions, int order, class Real>
void deposit_groups(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::uint32_t* groups,
                    std::int64_t count, double per_quantum, SumBlock& block) {
  Group<dimensions, Real> group;
  for (std::int64_t g = 0; g < count; ++g) {
    if (g + 2 < count) fetch_group(particles, groups[g + 2]);
    group.at(particles, std::int64_t{groups[g]} * group_size);
    deposit_group<dimensions, order>(walk, group, group_size, false, per_quantum, block);
  }
}

/// Single particles by number, gathered into groups.
template <int dimensions, int order, class Real>
void deposit_listed(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::uint32_t* list,
                    std::int64_t count, double per_quantum, SumBlock& block) {
  Group<dimensions, Real> group;
  for (std::int64_t from = 0; from < count; from += group_size) {
    const int some = static_cast<int>(count - from < group_size ? count - from : group_size);
    group.listed(particles, list + from, some);
    deposit_group<dimensions, order>(walk, group, some, true, per_quantum, block);
  }
}

/// Adds rows of sums; the ghosts at the end of a row belong to its first cells.
template <class Real>
void add_rows(const Walk<Real>& walk, const std::int64_t* const* rows, std::size_t count, std::int64_t* total) {
  const std::int64_t cells = walk.row_cells;
  for (std::int64_t x = 0; x < cells; ++x) total[x] = count > 0 ? rows[0][x] : 0;
  for (std::size_t row = 1; row < count; ++row)
    for (std::int64_t x = 0; x < cells; ++x) total[x] += rows[row][x];
  for (int x = 0; x < walk.ghosts; ++x) total[x] += total[walk.nx + x];
}

/// Densities of a row, its quanta and, for isolated boxes, its first moment along x in cells.
template <class Real>
std::int64_t finish_row(const Walk<Real>& walk, const std::int64_t* total, double factor, Real* density,
                        double* moment) {
  const int nx = walk.nx;
  std::int64_t quanta = 0;
  for (int x = 0; x < nx; ++x) {
    density[x] = physics::density<Real>(total[x], factor);
    quanta += total[x];
  }
  if (!moment) return quanta;
  constexpr int lanes = 8;
  double sums[lanes] = {};
  for (int x = 0; x < nx; ++x) sums[x % lanes] += static_cast<double>(total[x]) * (x + 0.5);
  *moment = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  return quanta;
}

/// Fetches the targets begin … end − 1.
template <int dimensions, class Real>
HWY_INLINE void fetch_targets(const MeshParticles<Real>& particles, const std::int64_t* index, std::int64_t begin,
                              std::int64_t end, Group<dimensions, Real>& group) {
  if (index)
    group.listed(particles, index + begin, static_cast<int>(end - begin));
  else
    group.some(particles, begin, end);
}

/// Asks for the cells of a group that lie some layers above it, which particles in cell order come to next but in no
/// order that the processor would foresee.
template <class Cell>
HWY_INLINE void fetch_ahead(const Cell* from, const Cell* end) {
  if (from + group_size > end) return;
  for (int k = 0; k < group_size; k += 64 / static_cast<int>(sizeof(Cell))) __builtin_prefetch(from + k, 0, 2);
}

/// Forces at particles begin … end - 1 (of `index`, if given). Four components of a cell are one vector. Returns
/// whether a particle is off the mesh.
template <int dimensions, int order, class Real>
bool gather_forces(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::int64_t* index,
                   std::int64_t begin, std::int64_t end, const CellForce<Real>* cells, const MeshForces<Real>& forces) {
  using GroupClouds = Clouds<dimensions, order, Real>;
  typedef Real Four __attribute__((vector_size(4 * sizeof(Real))));
  typedef Real FourAnywhere __attribute__((vector_size(4 * sizeof(Real)), aligned(sizeof(Real)), may_alias));
  Group<dimensions, Real> group;
  GroupClouds clouds;
  alignas(64) std::int64_t corner[group_size];
  alignas(64) Real weight[GroupClouds::rows][group_size];
  alignas(64) Real sum[group_size][4];
  const CellForce<Real>* row_cells[GroupClouds::rows];
  for (int row = 0; row < GroupClouds::rows; ++row) row_cells[row] = cells + GroupClouds::row_offset(walk, row);
  const std::int64_t ahead = 3 * walk.layer_cells;
  const CellForce<Real>* const all_cells = cells + (walk.layers + walk.ghosts) * walk.layer_cells;
  bool all_held = true;
  for (std::int64_t from = begin; from < end; from += group_size) {
    const std::int64_t until = from + group_size < end ? from + group_size : end;
    const int count = static_cast<int>(until - from);
    fetch_targets(particles, index, from, until, group);
    clouds.find(walk.frame, group);
    all_held &= clouds.all_held();
    clouds.find_corners(walk, 0, corner);
    if (std::abs(corner[group_size - 1] - corner[0]) < 2 * ahead) {
      fetch_ahead(cells + corner[0] + ahead, all_cells);
    } else {  // in no order
      for (int k = 0; k < count; ++k)
        for (int row = 0; row < GroupClouds::rows; ++row) __builtin_prefetch(row_cells[row] + corner[k]);
    }
    for (int row = 0; row < GroupClouds::rows; ++row) clouds.find_row_weights(row, weight[row]);
    for (int k = 0; k < count; ++k) {
      Four along[order] = {};  // of the cells at each place along the rows
      for (int row = 0; row < GroupClouds::rows; ++row)
        for (int x = 0; x < order; ++x)
          along[x] += weight[row][k] * *reinterpret_cast<const FourAnywhere*>(row_cells[row] + corner[k] + x);
      Four total = {};
      for (int x = 0; x < order; ++x) total += clouds.axis[0].weight[x][k] * along[x];
      *reinterpret_cast<FourAnywhere*>(sum[k]) = total;
    }
    for (int k = 0; k < count; ++k) {
      forces.ax[from + k] = sum[k][0];
      forces.ay[from + k] = sum[k][dimensions == 3 ? 1 : 2];
      if (forces.az) forces.az[from + k] = dimensions == 3 ? sum[k][2] : Real(0);
    }
  }
  return !all_held;
}

/// The same for the potential, from the field itself, which has no ghosts: cells are wrapped.
template <int dimensions, int order, class Real>
bool gather_potential(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::int64_t* index,
                      std::int64_t begin, std::int64_t end, const Field<const Real>& field, Real* potential) {
  using GroupClouds = Clouds<dimensions, order, Real>;
  const CellFrame<Real>& frame = walk.frame;
  const int field_rows = dimensions == 3 ? field.ny : 1;
  alignas(64) Real weight[GroupClouds::cells][group_size];
  const Real* values[GroupClouds::rows][group_size];  // the rows that the clouds touch
  Group<dimensions, Real> group;
  GroupClouds clouds;
  bool all_held = true;
  for (std::int64_t from = begin; from < end; from += group_size) {
    const std::int64_t until = from + group_size < end ? from + group_size : end;
    fetch_targets(particles, index, from, until, group);
    clouds.find(frame, group);
    all_held &= clouds.all_held();
    for (int cell = 0; cell < GroupClouds::cells; ++cell) clouds.find_weights(cell, weight[cell]);
    for (int k = 0; k < group_size; ++k) {
      for (int row = 0; row < GroupClouds::rows; ++row) {
        const auto at = [&](int a, int number) HWY_ATTR { return frame.wrapped(a, clouds.axis[a].first[k] + number); };
        const std::int64_t layer =
            walk.field_layer(clouds.axis[dimensions - 1].first[k] + row / GroupClouds::row_order);
        values[row][k] = field.data + (layer * field_rows + (dimensions == 3 ? at(1, row % order) : 0)) * field.pitch;
        __builtin_prefetch(values[row][k] + clouds.axis[0].first[k]);
      }
    }
    for (int k = 0; k < until - from; ++k) {
      Real sum = 0;
      for (int row = 0; row < GroupClouds::rows; ++row)
        for (int x = 0; x < order; ++x)
          sum += weight[row * order + x][k] * values[row][k][frame.wrapped(0, clouds.axis[0].first[k] + x)];
      potential[from + k] = sum;
    }
  }
  return !all_held;
}

/// All loops for one number of dimensions and one cloud of `order` cells along each axis.
template <int dimensions, int order, class Real>
Loops<Real> loops() {
  return {find_starts<dimensions, order, dimensions - 1, Real>,
          find_starts<dimensions, order, 1, Real>,
          find_cells<dimensions, Real>,
          deposit_groups<dimensions, order, Real>,
          deposit_listed<dimensions, order, Real>,
          add_rows<Real>,
          finish_row<Real>,
          gather_forces<dimensions, order, Real>,
          gather_potential<dimensions, order, Real>};
}

template <int dimensions, class Real>
Loops<Real> loops_of(Assignment assignment) {
  if (assignment == Assignment::ngp) return loops<dimensions, 1, Real>();
  if (assignment == Assignment::cic) return loops<dimensions, 2, Real>();
  if (assignment == Assignment::tsc) return loops<dimensions, 3, Real>();
  return loops<dimensions, 4, Real>();
}

Loops<float> float_loops(int dimensions, Assignment assignment) {
  return dimensions == 3 ? loops_of<3, float>(assignment) : loops_of<2, float>(assignment);
}
Loops<double> double_loops(int dimensions, Assignment assignment) {
  return dimensions == 3 ? loops_of<3, double>(assignment) : loops_of<2, double>(assignment);
}

}  // namespace pergola::exchange::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::exchange {

HWY_EXPORT(float_loops);
HWY_EXPORT(double_loops);

template <>
Loops<float> choose_loops(int dimensions, Assignment assignment) {
  return HWY_DYNAMIC_DISPATCH(float_loops)(dimensions, assignment);
}
template <>
Loops<double> choose_loops(int dimensions, Assignment assignment) {
  return HWY_DYNAMIC_DISPATCH(double_loops)(dimensions, assignment);
}

}  // namespace pergola::exchange
#endif

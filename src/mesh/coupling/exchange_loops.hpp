#pragma once
// The inner loops between particles and mesh on the CPU, compiled for several SIMD instruction sets and chosen at run
// time (choose_loops, exchange_loops.cpp), and the force field that they gather from (force_field.cpp).
// exchange_cpu.cpp shares the work out over threads and calls them. Particles are worked on in groups of group_size.
// Every instruction set gives the same bits: sums are whole numbers, and products are not contracted.
#include <cstdint>

#include "mesh/coupling/cell_frame.hpp"
#include "mesh/coupling/exchange.hpp"

namespace pergola::exchange {

/// Particles are worked on in groups of this many, whose numbers begin at multiples of it.
inline constexpr int group_size = 64;

/// The grid as the CPU walks it: rows along x, rows to a layer, layers. In three dimensions a layer is a plane of
/// constant z; in two it is one row, so that layers count y. Arrays of its own repeat `ghosts` = order − 1 cells, rows
/// and layers beyond the last, so that the cells of a cloud are always at the same distances from its first.
///
/// Of a slab: some layers of a grid, from first_layer on. Layers are counted from that one, and those beyond
/// the last are the next ones of the grid, not the slab's first.
template <class Real>
struct Walk {
  CellFrame<Real> frame;
  int order = 2;
  int nx = 1, rows = 1, layers = 1;
  int ghosts = 1, ghost_rows = 1;
  std::int64_t row_cells = 0, layer_cells = 0;  // with ghosts
  int first_layer = 0;
  bool slab = false;

  Walk() = default;
  Walk(const Grid& grid, Assignment assignment) : frame(grid), order(static_cast<int>(assignment)) {
    const bool flat = grid.dimensions == 2;
    nx = grid.cells[0];
    rows = flat ? 1 : grid.cells[1];
    layers = flat ? grid.cells[1] : grid.cells[2];
    ghosts = order - 1;
    ghost_rows = flat ? 0 : ghosts;
    row_cells = nx + ghosts;
    layer_cells = row_cells * (rows + ghost_rows);
  }
  /// The walk over `count` layers of this one.
  Walk of_slab(int first, int count) const {
    Walk walk = *this;
    walk.first_layer = first, walk.layers = count, walk.slab = true;
    return walk;
  }
  /// A layer that a cloud of the grid reaches, in a field that has those of the slab and, for a slab, those beyond.
  int field_layer(int grid_layer) const {
    return slab ? grid_layer - first_layer : frame.wrapped(layer_axis(), grid_layer);
  }
  int layer_axis() const { return frame.dimensions - 1; }
};

/// The force at a cell, along x, the rows and the layers. It is read four numbers at a time: one cell more than there
/// are must be readable.
template <class Real>
struct CellForce {
  Real along[3];
};

/// Instead of a layer, for a particle that is not on the mesh.
inline constexpr int off_mesh = -1;

/// The layers, or rows, that some particles' clouds begin in; off_mesh counts.
struct LayerRange {
  int least = 0, most = 0;
};

/// Sums of quanta in layers (with ghosts) from first_layer on. Those from `cleared` on have not been written yet.
struct SumBlock {
  std::int64_t* sums = nullptr;
  int first_layer = 0;
  int cleared = 0;
};

/// Asks for the particles of a group early, for lists of groups that do not follow each other.
template <class Real>
inline void fetch_group(const MeshParticles<Real>& particles, std::uint32_t group) {
  const std::int64_t first = std::int64_t{group} * group_size;
  for (const Real* field : {particles.x, particles.y, particles.z, particles.same_mass ? nullptr : particles.mass})
    for (int k = 0; k < group_size && field; k += 64 / static_cast<int>(sizeof(Real)))
      __builtin_prefetch(field + first + k);
}

/// The loops for one number of dimensions and one assignment.
template <class Real>
struct Loops {
  using Particles = MeshParticles<Real>;

  /// The first layer that each particle's cloud touches, or off_mesh. At most group_size particles.
  LayerRange (*find_layers)(const Walk<Real>& walk, const Particles& particles, std::int64_t begin, std::int64_t end,
                            int* layers);
  /// The row that it begins in, counted over all layers of the grid, or off_mesh. In three dimensions.
  LayerRange (*find_rows)(const Walk<Real>& walk, const Particles& particles, std::int64_t begin, std::int64_t end,
                          int* rows);
  /// The number of the cell that holds each particle, x fastest; the number of cells for one off the mesh.
  void (*find_cells)(const Walk<Real>& walk, const Particles& particles, std::int64_t begin, std::int64_t end,
                     std::uint32_t* cells);
  /// Adds the quanta of whole groups of particles, all on the mesh.
  void (*deposit_groups)(const Walk<Real>& walk, const Particles& particles, const std::uint32_t* groups,
                         std::int64_t count, double per_quantum, SumBlock& block);
  /// The same for single particles.
  void (*deposit_listed)(const Walk<Real>& walk, const Particles& particles, const std::uint32_t* list,
                         std::int64_t count, double per_quantum, SumBlock& block);
  /// Adds up `count` rows of sums with ghosts; the ghosts into the cells that they repeat.
  void (*add_rows)(const Walk<Real>& walk, const std::int64_t* const* rows, std::size_t count, std::int64_t* total);
  /// Densities of a row; returns its quanta, and in `moment` their first moment in cells, where it is not null.
  std::int64_t (*finish_row)(const Walk<Real>& walk, const std::int64_t* total, double factor, Real* density,
                             double* moment);
  /// The forces at targets begin … end − 1 (particles index[k], or k without one). Those of particles off the mesh are
  /// of no use; returns whether there are any.
  bool (*gather_forces)(const Walk<Real>& walk, const Particles& particles, const std::int64_t* index,
                        std::int64_t begin, std::int64_t end, const CellForce<Real>* cells,
                        const MeshForces<Real>& forces);
  /// The potential at the same places, from the field itself.
  bool (*gather_potential)(const Walk<Real>& walk, const Particles& particles, const std::int64_t* index,
                           std::int64_t begin, std::int64_t end, const Field<const Real>& field, Real* potential);
};

template <class Real>
Loops<Real> choose_loops(int dimensions, Assignment assignment);

template <class Real>
std::int64_t force_cells(const Walk<Real>& walk) {
  return (walk.layers + walk.ghosts) * walk.layer_cells + 1;
}

/// −∇φ by two- or four-point differences.
template <class Real>
void differentiate(int threads, const Walk<Real>& walk, Gradient gradient, const Field<const Real>& potential,
                   CellForce<Real>* cells);

/// Rows of forces that were found elsewhere, with the ghosts that repeat them. Rows beyond those of the walk are left
/// out.
template <class Real>
void set_forces(const Walk<Real>& walk, const ForceRows<Real>& rows, CellForce<Real>* cells);

}  // namespace pergola::exchange

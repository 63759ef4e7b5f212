#pragma once
#include <cstdint>

#include "mesh/cell_frame.hpp"
#include "mesh/exchange.hpp"

// The inner loops between particles and mesh on the CPU. mesh/exchange_cpu.cpp shares the work out over threads.
namespace pergola::exchange {

/// The grid as the CPU walks it: rows along x, rows to a layer, layers. In three dimensions a layer is a plane of
/// constant z; in two it is one row, so that layers count y. Arrays of its own repeat `ghosts` = order − 1 cells, rows
/// and layers beyond the last, so that the cells of a cloud are always at the same distances from its first.
template <class Real>
struct Walk {
  CellFrame<Real> frame;
  int order = 2;
  int nx = 1, rows = 1, layers = 1;
  int ghosts = 1, ghost_rows = 1;
  std::int64_t row_cells = 0, layer_cells = 0;  // with ghosts

  Walk() = default;
  Walk(const Grid& grid, Assignment assignment);
  int layer_axis() const { return frame.dimensions - 1; }
};

/// The force at a cell, along x, the rows and the layers.
template <class Real>
struct alignas(4 * sizeof(Real)) CellForce {
  Real along[4];
};

/// Instead of a layer, for a particle that is not on the mesh.
inline constexpr int off_mesh = -1;

/// The first layer that a particle's cloud touches, 0 … layers − 1, or off_mesh.
template <class Real>
void find_layers(const Walk<Real>& walk, const MeshParticles<Real>& particles, std::int64_t begin, std::int64_t end,
                 int* layers);

/// The number of the cell that holds each particle, x fastest; the number of cells for one off the mesh.
template <class Real>
void find_cells(const Walk<Real>& walk, const MeshParticles<Real>& particles, std::int64_t begin, std::int64_t end,
                std::uint32_t* cells);

/// Adds the quanta of the particles index[0 … count − 1] to sums of layers from `first_layer` on, with ghosts.
template <class Real>
void deposit_particles(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::uint32_t* index,
                       std::int64_t count, double per_quantum, int first_layer, std::int64_t* sums);

/// The forces at targets begin … end − 1 (particles index[k], or k without one) from cells with ghosts. Particles off
/// the mesh get zero; returns whether there are any.
template <class Real>
bool gather_forces(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::int64_t* index,
                   std::int64_t begin, std::int64_t end, const CellForce<Real>* cells, const MeshForces<Real>& forces);

/// The potential at the same places, from the field itself.
template <class Real>
bool gather_potential(const Walk<Real>& walk, const MeshParticles<Real>& particles, const std::int64_t* index,
                      std::int64_t begin, std::int64_t end, const Field<const Real>& potential, Real* result);

}  // namespace pergola::exchange

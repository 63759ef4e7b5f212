#pragma once
#include <cstdint>

#include "mesh/coupling/exchange_loops.hpp"

// The force field on the CPU: the components of a cell beside each other, ghosts beyond the last cell, row and layer.
namespace pergola::exchange {

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

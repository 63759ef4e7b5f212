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

/// One component that was differentiated elsewhere.
template <class Real>
void copy_force(int threads, const Walk<Real>& walk, int axis, const Field<const Real>& force, CellForce<Real>* cells);

}  // namespace pergola::exchange

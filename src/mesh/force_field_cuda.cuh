#pragma once
// CUDA only. The force field of the cells.
#include "mesh/coupling/deposit_cuda.cuh"

namespace pergola::cuda {

/// What a cell pulls with, and its potential. One load of 16 bytes in single precision.
template <class Real>
struct alignas(16) CellForce {
  Real x, y, z, potential;
};

/// Force field of a grid by two- or four-point differences of a potential that may be laid out with more cells. One
/// file: mesh/force_field_cuda.cu.
template <class Real>
void launch_differentiate(const CellFrame<Real>& frame, bool four_point, const Field<const Real>& potential,
                          const Vec3<Real>& per_spacing, CellForce<Real>* forces, Stream stream);

/// One component of a force field that was differentiated elsewhere.
template <class Real>
struct SetForce {
  CellFrame<Real> frame;
  Field<const Real> force;
  CellForce<Real>* forces;
  int axis;

  __device__ void operator()(std::int64_t cell) const {
    const std::int64_t row = cell / frame.cells[0];
    const int ix = static_cast<int>(cell - row * frame.cells[0]), iz = static_cast<int>(row / frame.cells[1]);
    const Real value = force.data[force.index(ix, static_cast<int>(row - std::int64_t{iz} * frame.cells[1]), iz)];
    (axis == 0 ? forces[cell].x : axis == 1 ? forces[cell].y : forces[cell].z) = value;
  }
};

}  // namespace pergola::cuda

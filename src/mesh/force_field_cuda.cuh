#pragma once
// CUDA only. The force field of the cells.
#include "mesh/coupling/deposit_cuda.cuh"

namespace pergola::cuda {

/// What a cell pulls with, and its potential. One load of 16 bytes in single precision.
template <class Real>
struct alignas(16) CellForce {
  Real x, y, z, potential;
};

/// Force field of a grid by two- or four-point differences of a potential that may be laid out with more cells, and
/// with `below` layers before the first of the grid, or of a slab of it. One file: mesh/force_field_cuda.cu.
template <class Real>
void launch_differentiate(const SlabFrame<Real>& frame, bool four_point, const Field<const Real>& potential, int below,
                          const Vec3<Real>& per_spacing, CellForce<Real>* forces, Stream stream);

}  // namespace pergola::cuda

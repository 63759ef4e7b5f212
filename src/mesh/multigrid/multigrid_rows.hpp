#pragma once
#include "physics/mesh_stencils.hpp"
#include "physics/multipole.hpp"

namespace pergola::multigrid {

/// The rows beside a row of cells. Beyond a wall: zeros.
template <class Real>
struct RowsBeside {
  const Real *south = nullptr, *north = nullptr, *below = nullptr, *above = nullptr;
};

/// The equations of a row of cells.
template <class Real>
struct Row {
  int cells = 0;
  bool periodic = true;
  physics::PoissonStencil<Real> stencil;
  int walls_y = 0, walls_z = 0;
};

/// Sums over a row are kept in this many parts, so that they can be vectorised and are the same everywhere.
inline constexpr int lanes = 8;

/// Loops over one row of cells for the instruction set of this machine (mesh/multigrid/multigrid_rows.cpp).
template <class Real>
struct RowLoops {
  /// Relaxes the cells i of a row with i % 2 = parity. `work` has as many values as the row.
  void (*relax)(const Row<Real>& row, const RowsBeside<Real>& beside, int parity, const Real* source, Real* value,
                Real* work);
  void (*residual)(const Row<Real>& row, const RowsBeside<Real>& beside, const Real* source, const Real* value,
                   Real* out);
  /// out[j] += factor (in[2j] + in[2j + 1]), or factor in[j] where every cell has its own.
  void (*add_pairs)(int cells_out, bool pairs, Real factor, const Real* in, Real* out);
  /// out[i] += factor in[i].
  void (*add)(int cells, Real factor, const Real* in, Real* out);
  /// out[i] (+)= in, or the linear interpolation of in, whose values −1 and n are valid, to twice as many cells.
  void (*spread)(int cells_in, bool pairs, bool onto, const Real* in, Real* out);
  /// out[i] = factor (in[i] − offset).
  void (*scale)(int cells, double factor, double offset, const Real* in, Real* out);
  /// sums[part] += in[i]².
  void (*add_squares)(int cells, const Real* in, double* sums);
  /// sums[p] += Σ in[i] x[i]^p for p < powers.
  void (*add_moments)(int cells, int powers, const Real* in, const double* x, double* sums);
};

template <class Real>
RowLoops<Real> row_loops();

}  // namespace pergola::multigrid

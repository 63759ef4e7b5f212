// Forces of the cells on the CPU: differences of the potential, row by row, into arrays of CellForce with ghosts.
// Stencils have two or four points (physics/mesh_stencils.hpp); at the ends of an isolated box they are one-sided.
// The component along a row is vectorised over the row; across rows and layers five rows are read at once.
#include "device/parallel.hpp"
#include "mesh/coupling/exchange_loops.hpp"
#include "physics/mesh_stencils.hpp"

#include <algorithm>
#include <vector>

namespace pergola::exchange {

namespace {

using physics::ForceStencil;

/// The field as rows and layers (Walk), with the rows beyond the last where it wraps. Around the layers of a slab stand
/// the next ones.
template <class Real>
struct Rows {
  const Real* data;
  std::int64_t pitch;
  int rows, layers;
  bool slab;

  Rows(const Field<const Real>& field, const Walk<Real>& walk)
      : data(field.data), pitch(field.pitch), rows(field.ny), layers(field.nz), slab(walk.slab) {
    if (walk.frame.dimensions == 2) rows = 1, layers = field.ny;
  }
  static int wrapped(int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; }
  const Real* row(int row_number, int layer) const {
    return data + (std::int64_t{slab ? layer : wrapped(layer, layers)} * rows + wrapped(row_number, rows)) * pitch;
  }
};

/// One stencil at all cells of a row; near[2] is the row itself.
template <ForceStencil stencil, class Real>
void difference_rows(const Real* const near[5], int nx, Real per_spacing, Real* out) {
  const Real *const a = near[0], *const b = near[1], *const c = near[2], *const d = near[3], *const e = near[4];
  for (int x = 0; x < nx; ++x)
    out[x] = physics::stencil_force<stencil, Real>(
        [&](int k) {
          return k == -2 ? a[x] : k == -1 ? b[x] : k == 0 ? c[x] : k == 1 ? d[x] : e[x];
        },
        per_spacing);
}

/// The component across the rows, from the rows two below to two above.
template <bool four_point, class Real>
void across_rows(const Real* const near[5], int i, int cells, bool wraps, int nx, Real per_spacing, Real* out) {
  switch (physics::force_stencil<four_point>(i, cells, wraps)) {
    case ForceStencil::one_sided_above:
      return difference_rows<ForceStencil::one_sided_above>(near, nx, per_spacing, out);
    case ForceStencil::one_sided_below:
      return difference_rows<ForceStencil::one_sided_below>(near, nx, per_spacing, out);
    case ForceStencil::two_point:
      return difference_rows<ForceStencil::two_point>(near, nx, per_spacing, out);
    case ForceStencil::four_point:
      return difference_rows<ForceStencil::four_point>(near, nx, per_spacing, out);
  }
}

/// The component along the row.
template <bool four_point, class Real>
void along_row(const Real* row, int field_nx, bool wraps, int nx, Real per_spacing, Real* out) {
  const auto anywhere = [&](int x) {
    out[x] = physics::axis_force<four_point, Real>([&](int j) { return row[j]; }, x, field_nx, wraps, per_spacing);
  };
  const Real* const near[5] = {row, row + 1, row + 2, row + 3, row + 4};
  difference_rows<four_point ? ForceStencil::four_point : ForceStencil::two_point>(near, nx - 4, per_spacing, out + 2);
  anywhere(0), anywhere(1), anywhere(nx - 2), anywhere(nx - 1);
}

/// All three components of a layer, with the ghosts of its rows.
template <bool four_point, class Real>
void differentiate_layer(const Walk<Real>& walk, const Field<const Real>& potential, int layer,
                         CellForce<Real>* cells) {
  const bool flat = walk.frame.dimensions == 2;
  const Rows<Real> rows(potential, walk);
  const Real* const per_length = walk.frame.per_length;
  std::vector<Real> work(static_cast<std::size_t>(3 * walk.nx), Real(0));
  Real *const fx = work.data(), *const fy = fx + walk.nx, *const fz = fy + walk.nx;
  for (int y = 0; y < walk.rows; ++y) {
    along_row<four_point>(rows.row(y, layer), potential.nx, potential.wraps, walk.nx, per_length[0], fx);
    const Real* near[5];
    if (!flat) {
      for (int k = 0; k < 5; ++k) near[k] = rows.row(y + k - 2, layer);
      across_rows<four_point>(near, y, rows.rows, potential.wraps, walk.nx, per_length[1], fy);
    }
    for (int k = 0; k < 5; ++k) near[k] = rows.row(y, layer + k - 2);
    across_rows<four_point>(near, walk.first_layer + layer, walk.frame.cells[walk.layer_axis()], potential.wraps,
                            walk.nx, per_length[walk.layer_axis()], fz);
    CellForce<Real>* const out = cells + y * walk.row_cells;
    for (int x = 0; x < walk.nx; ++x) out[x] = {{fx[x], fy[x], fz[x]}};
    std::copy_n(out, walk.ghosts, out + walk.nx);
  }
  std::copy_n(cells, walk.ghost_rows * walk.row_cells, cells + walk.rows * walk.row_cells);
}

/// Layers and, after them, copies of the first ones, or the next ones of a slab.
template <class Real, class Body>
void each_layer(int threads, const Walk<Real>& walk, CellForce<Real>* cells, const Body& body) {
  const int found = walk.slab && walk.layers > 0 ? walk.layers + walk.ghosts : walk.layers;
  parallel_for(threads, found, [&](std::int64_t layer) {
    CellForce<Real>* const here = cells + layer * walk.layer_cells;
    body(static_cast<int>(layer), here);
    if (!walk.slab && layer < walk.ghosts) std::copy_n(here, walk.layer_cells, here + walk.layers * walk.layer_cells);
  });
}

}  // namespace

// With a slab, the layers above it are needed too; their potentials must have been fetched.
template <class Real>
void differentiate(int threads, const Walk<Real>& walk, Gradient gradient, const Field<const Real>& potential,
                   CellForce<Real>* cells) {
  each_layer(threads, walk, cells, [&](int layer, CellForce<Real>* here) {
    if (gradient == Gradient::four_point)
      differentiate_layer<true>(walk, potential, layer, here);
    else
      differentiate_layer<false>(walk, potential, layer, here);
  });
}

// Rows of a spectral force, as the FFT gives them, into the cells and their ghosts.
template <class Real>
void set_forces(const Walk<Real>& walk, const ForceRows<Real>& rows, CellForce<Real>* cells) {
  const bool flat = walk.frame.dimensions == 2;  // then a plane has one row
  const Real *const fx = rows.along[0], *const fy = rows.along[flat ? 0 : 1], *const fz = rows.along[flat ? 1 : 2];
  for (int k = 0; k < rows.count && rows.first + k < walk.rows; ++k) {
    const int y = rows.first + k;
    CellForce<Real>* const out = cells + rows.plane * walk.layer_cells + y * walk.row_cells;
    for (std::int64_t x = 0, at = k * rows.pitch; x < walk.nx; ++x, ++at) out[x] = {{fx[at], fy[at], fz[at]}};
    std::copy_n(out, walk.ghosts, out + walk.nx);
    const bool again_as_row = y < walk.ghost_rows, again_in_layer = !walk.slab && rows.plane < walk.ghosts;
    const std::int64_t as_row = walk.rows * walk.row_cells, in_layer = walk.layers * walk.layer_cells;
    if (again_as_row) std::copy_n(out, walk.row_cells, out + as_row);
    if (again_in_layer) std::copy_n(out, walk.row_cells, out + in_layer);
    if (again_as_row && again_in_layer) std::copy_n(out, walk.row_cells, out + as_row + in_layer);
  }
}

template void differentiate(int, const Walk<float>&, Gradient, const Field<const float>&, CellForce<float>*);
template void differentiate(int, const Walk<double>&, Gradient, const Field<const double>&, CellForce<double>*);
template void set_forces(const Walk<float>&, const ForceRows<float>&, CellForce<float>*);
template void set_forces(const Walk<double>&, const ForceRows<double>&, CellForce<double>*);

}  // namespace pergola::exchange

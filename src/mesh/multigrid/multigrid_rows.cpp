// Plain loops over a row of cells that the compiler vectorises (this file is compiled with -O3), once per instruction
// set. Multiplications and additions are not contracted, so all of them give the same bits.
//
// Values next to a row come from RowsBeside; what lies beyond isolated walls is zero, and the walls' part of the
// stencil is in its diagonal. Sums are split over `lanes` columns of fixed meaning, so that every instruction set adds
// the same numbers in the same order.
#include "mesh/multigrid/multigrid_rows.hpp"

#include "device/simd_targets.hpp"
#include "mesh/multigrid/multigrid_levels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mesh/multigrid/multigrid_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::multigrid::HWY_NAMESPACE {

/// A half-sweep over one row: cells of one colour (`parity`) get the relaxed value. `work` holds one row.
template <class Real>
void relax(const Row<Real>& row, const RowsBeside<Real>& beside, int parity, const Real* source, Real* value,
           Real* HWY_RESTRICT work) {
  const physics::PoissonStencil<Real> stencil = row.stencil;
  const Real *const south = beside.south, *const north = beside.north;
  const Real *const below = beside.below, *const above = beside.above;
  const auto relaxed = [=](int i, Real west, Real east, Real weight) {
    return stencil.relaxed(value[i], stencil.neighbours(west, east, south[i], north[i], below[i], above[i]), source[i],
                           weight);
  };
  // Cells of both colours are computed, those of one are kept: half of the work is lost, but all of it is in vectors.
  const int n = row.cells, walls = row.periodic ? 0 : 1;
  const Real inner = stencil.relaxation_weight(stencil.diagonal(0, row.walls_y, row.walls_z));
  const Real outer = stencil.relaxation_weight(stencil.diagonal(walls, row.walls_y, row.walls_z));
  for (int i = 1; i < n - 1; ++i) work[i] = relaxed(i, value[i - 1], value[i + 1], inner);
  work[0] = relaxed(0, row.periodic ? value[n - 1] : 0, value[1], outer);
  work[n - 1] = relaxed(n - 1, value[n - 2], row.periodic ? value[0] : 0, outer);
  for (int i = 0; i < n; ++i) value[i] = i % 2 == parity ? work[i] : value[i];
}

/// source - A value for all cells of a row.
template <class Real>
void residual(const Row<Real>& row, const RowsBeside<Real>& beside, const Real* source, const Real* value,
              Real* HWY_RESTRICT out) {
  const physics::PoissonStencil<Real> stencil = row.stencil;
  const Real *const south = beside.south, *const north = beside.north;
  const Real *const below = beside.below, *const above = beside.above;
  const auto left = [=](int i, Real west, Real east, Real diagonal) {
    return stencil.residual(value[i], stencil.neighbours(west, east, south[i], north[i], below[i], above[i]), source[i],
                            diagonal);
  };
  const int n = row.cells, walls = row.periodic ? 0 : 1;
  const Real inner = stencil.diagonal(0, row.walls_y, row.walls_z);
  const Real outer = stencil.diagonal(walls, row.walls_y, row.walls_z);
  for (int i = 1; i < n - 1; ++i) out[i] = left(i, value[i - 1], value[i + 1], inner);
  out[0] = left(0, row.periodic ? value[n - 1] : 0, value[1], outer);
  out[n - 1] = left(n - 1, value[n - 2], row.periodic ? value[0] : 0, outer);
}

/// Adds `factor` times the cells of a row, or their pairs where x is halved, to a coarser row.
template <class Real>
void add_pairs(int cells_out, bool pairs, Real factor, const Real* HWY_RESTRICT in, Real* HWY_RESTRICT out) {
  if (pairs)
    for (int j = 0; j < cells_out; ++j) out[j] += factor * (in[2 * j] + in[2 * j + 1]);
  else
    for (int j = 0; j < cells_out; ++j) out[j] += factor * in[j];
}

template <class Real>
void add(int cells, Real factor, const Real* HWY_RESTRICT in, Real* HWY_RESTRICT out) {
  for (int i = 0; i < cells; ++i) out[i] += factor * in[i];
}

/// Linear interpolation from a coarse row with one more cell at each end; `onto` adds, else it overwrites.
template <bool onto, class Real>
void spread_to(int cells_in, bool pairs, const Real* HWY_RESTRICT in, Real* HWY_RESTRICT out) {
  const auto put = [out](int i, Real value) { out[i] = onto ? out[i] + value : value; };
  if (!pairs) {
    for (int j = 0; j < cells_in; ++j) put(j, in[j]);
    return;
  }
  for (int j = 0; j < cells_in; ++j) {
    put(2 * j, interpolated(in[j], in[j - 1]));
    put(2 * j + 1, interpolated(in[j], in[j + 1]));
  }
}
template <class Real>
void spread(int cells_in, bool pairs, bool onto, const Real* in, Real* out) {
  onto ? spread_to<true>(cells_in, pairs, in, out) : spread_to<false>(cells_in, pairs, in, out);
}

/// out = factor (in - offset), with the difference in double precision.
template <class Real>
void scale(int cells, double factor, double offset, const Real* in, Real* out) {
  for (int i = 0; i < cells; ++i) out[i] = static_cast<Real>(factor * (static_cast<double>(in[i]) - offset));
}

/// Σ in², column by column.
template <class Real>
void add_squares(int cells, const Real* HWY_RESTRICT in, double* HWY_RESTRICT sums) {
  double part[lanes] = {};
  int i = 0;
  for (; i + lanes <= cells; i += lanes)
    for (int k = 0; k < lanes; ++k) part[k] += static_cast<double>(in[i + k]) * static_cast<double>(in[i + k]);
  for (int k = 0; i < cells; ++i, ++k) part[k] += static_cast<double>(in[i]) * static_cast<double>(in[i]);
  for (int k = 0; k < lanes; ++k) sums[k] += part[k];
}

/// Σ in x^p for p below `powers`.
template <int powers, class Real>
void add_moments_of(int cells, const Real* HWY_RESTRICT in, const double* HWY_RESTRICT x, double* HWY_RESTRICT sums) {
  double part[powers][lanes] = {};
  const auto take = [&](int i, int k) {
    double value = static_cast<double>(in[i]);
    for (int p = 0; p < powers; ++p, value *= x[i]) part[p][k] += value;
  };
  int i = 0;
  for (; i + lanes <= cells; i += lanes)
    for (int k = 0; k < lanes; ++k) take(i + k, k);
  for (int k = 0; i < cells; ++i, ++k) take(i, k);
  for (int p = 0; p < powers; ++p)
    for (int k = 0; k < lanes; ++k) sums[p] += part[p][k];
}

template <class Real>
void add_moments(int cells, int powers, const Real* in, const double* x, double* sums) {
  if (powers == 1)
    add_moments_of<1>(cells, in, x, sums);
  else
    add_moments_of<physics::multipole_order + 1>(cells, in, x, sums);
}

template <class Real>
RowLoops<Real> loops() {
  return {relax<Real>,  residual<Real>, add_pairs<Real>,   add<Real>,
          spread<Real>, scale<Real>,    add_squares<Real>, add_moments<Real>};
}
RowLoops<float> float_loops() { return loops<float>(); }
RowLoops<double> double_loops() { return loops<double>(); }

}  // namespace pergola::multigrid::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::multigrid {
HWY_EXPORT(float_loops);
HWY_EXPORT(double_loops);
template <>
RowLoops<float> row_loops() {
  return HWY_DYNAMIC_DISPATCH(float_loops)();
}
template <>
RowLoops<double> row_loops() {
  return HWY_DYNAMIC_DISPATCH(double_loops)();
}
}  // namespace pergola::multigrid
#endif

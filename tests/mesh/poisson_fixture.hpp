#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "device/buffer.hpp"
#include "mesh/poisson.hpp"

namespace pergola {

inline Grid make_grid(std::array<int, 3> cells, Vec3<double> side, Boundary boundary, int dimensions = 3) {
  Grid grid;
  grid.dimensions = dimensions;
  grid.cells = cells;
  grid.box.side = side;
  grid.box.boundary = boundary;
  return grid;
}

/// Values at the centres of the cells, x fastest, without padding.
using CellFunction = std::function<double(double x, double y, double z)>;
inline std::vector<double> on_cells(const Grid& grid, const CellFunction& function) {
  const auto h = grid.spacing();
  std::vector<double> values;
  for (int k = 0; k < grid.cells[2]; ++k)
    for (int j = 0; j < grid.cells[1]; ++j)
      for (int i = 0; i < grid.cells[0]; ++i)
        values.push_back(function((i + 0.5) * h[0], (j + 0.5) * h[1], (k + 0.5) * h[2]));
  return values;
}

inline double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double result = 0;
  for (std::size_t i = 0; i < a.size(); ++i) result = std::max(result, std::abs(a[i] - b[i]));
  return result;
}

/// A solver with the memory that it asks for.
template <class Real>
class SolverOnGrid {
 public:
  SolverOnGrid(const Device& device, const Grid& grid, const PoissonFftOptions& options)
      : device_(device),
        grid_(grid),
        solver_(make_poisson_fft<Real>(device, grid, options)),
        layout_(solver_->layout()),
        memory_(device, layout_.size()),
        scratch_(device, solver_->scratch_bytes()) {}

  std::vector<double> solve(const std::vector<double>& density, double factor = 1) {
    std::vector<Real> field(static_cast<std::size_t>(layout_.size()), Real(0));
    each_cell([&](std::int64_t at, std::size_t cell) { field[at] = static_cast<Real>(density[cell]); });
    memory_.from_host(field.data());
    auto view = layout_;
    view.data = memory_.data();
    solver_->solve(view, factor, scratch_.data());
    return cells(memory_);
  }
  std::vector<double> spectral_force(int axis) {
    Buffer<Real> force(device_, layout_.size());
    auto view = layout_;
    view.data = force.data();
    solver_->spectral_force(axis, view, scratch_.data());
    return cells(force);
  }
  /// −∂φ/∂axis, or φ for axis 3, by way of the modes; on a GPU.
  std::vector<double> from_modes(const std::vector<double>& density, int axis, double factor = 1) {
    std::vector<Real> field(static_cast<std::size_t>(layout_.size()), Real(0));
    each_cell([&](std::int64_t at, std::size_t cell) { field[at] = static_cast<Real>(density[cell]); });
    memory_.from_host(field.data());
    Buffer<Real> found(device_, layout_.size());
    Buffer<std::byte> work(device_, solver_->mode_work_bytes());
    auto modes = layout_, to = layout_, spare = layout_;
    modes.data = memory_.data(), to.data = found.data();
    solver_->find_modes(modes, spare, factor, work.data());
    solver_->from_modes(axis, modes, to, spare, work.data());
    return cells(found);
  }
  /// The last potential with its padding.
  std::vector<Real> whole_field() const { return memory_.to_host(); }
  const Field<Real>& layout() const { return layout_; }
  PoissonSolver<Real>& solver() { return *solver_; }

 private:
  template <class Body>
  void each_cell(const Body& body) const {
    std::size_t cell = 0;
    for (int k = 0; k < grid_.cells[2]; ++k)
      for (int j = 0; j < grid_.cells[1]; ++j)
        for (int i = 0; i < grid_.cells[0]; ++i) body(layout_.index(i, j, k), cell++);
  }
  std::vector<double> cells(const Buffer<Real>& buffer) const {
    const auto field = buffer.to_host();
    std::vector<double> values(static_cast<std::size_t>(grid_.cell_count()));
    each_cell([&](std::int64_t at, std::size_t cell) { values[cell] = static_cast<double>(field[at]); });
    return values;
  }

  Device device_;
  Grid grid_;
  std::unique_ptr<PoissonSolver<Real>> solver_;
  Field<Real> layout_;
  Buffer<Real> memory_;
  Buffer<std::byte> scratch_;
};

}  // namespace pergola

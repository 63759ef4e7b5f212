#pragma once
#include <array>
#include <cstdint>

#include "base/host_device.hpp"
#include "particles/box.hpp"

namespace pergola {

/// A regular grid over a box, in two or three dimensions (two: one cell along z). Cell i of an axis reaches from i to
/// i + 1 in units of the spacing; its value stands for its centre, i + 1/2.
struct Grid {
  int dimensions = 3;
  std::array<int, 3> cells{1, 1, 1};
  Box box;

  bool periodic() const { return box.periodic(); }
  std::int64_t cell_count() const { return std::int64_t{cells[0]} * std::int64_t{cells[1]} * std::int64_t{cells[2]}; }
  std::array<double, 3> spacing() const {
    return {box.side.x / cells[0], box.side.y / cells[1], box.side.z / cells[2]};
  }
  double cell_volume() const {
    const auto h = spacing();
    return h[0] * h[1] * (dimensions == 3 ? h[2] : 1.0);
  }
};

/// In an isolated box a particle is on the mesh while it keeps this many cells away from every face, so that its cloud
/// and the stencil of the force around it read and write within the box and one cell of padding.
inline constexpr int isolated_margin = 2;

/// Values on a grid, x fastest: value(ix, iy, iz) = data[(iz ny + iy) pitch + ix]. Rows are padded to `pitch` for real
/// transforms in place. `wraps`: the cell beyond the last is the first, for reading.
template <class Real>
struct Field {
  Real* data = nullptr;
  int nx = 0, ny = 0, nz = 0;
  std::int64_t pitch = 0;
  bool wraps = true;

  PERGOLA_HD std::int64_t index(int ix, int iy, int iz) const { return (std::int64_t{iz} * ny + iy) * pitch + ix; }
  std::int64_t size() const { return pitch * ny * nz; }
  Field<const Real> read_only() const { return {data, nx, ny, nz, pitch, wraps}; }
};

/// Forces in the cells of some rows of a plane, as a solver hands them out and the exchange with particles takes them:
/// value x of row k along an axis at along[axis][k * pitch + x].
template <class Real>
struct ForceRows {
  int plane = 0, first = 0, count = 0;
  const Real* along[3] = {};
  std::int64_t pitch = 0;
};

}  // namespace pergola

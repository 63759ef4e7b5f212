#pragma once
// Centres, radii and softening of cells, one step of the upward pass: of leaves from their particles, of parents from
// their children. The CPU's and the GPU's passes use the same formulas; multipoles are in tree/moments.cpp.
// Always: every particle of a cell is within r of its centre, the centre of mass; ρ^order bounds the mean of |d|^order.
// Units: lengths of the cube's side, masses of the total mass, softening as the square of a length.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/host_device.hpp"
#include "tree/octree.hpp"

namespace pergola::tree {

/// No cell is scaled with less than this part of the cube's side.
inline constexpr double smallest_scale = 0x1p-42;

/// Weighted sums of positions.
struct Mean {
  double x = 0, y = 0, z = 0, weight = 0;
  PERGOLA_HD void add(double px, double py, double pz, double w) { x += w * px, y += w * py, z += w * pz, weight += w; }
};

/// The centre of a cell: the centre of mass, or without mass that of its particles.
PERGOLA_HD void set_centre(const Mean& by_mass, const Mean& by_count, CellShape& s) {
  const Mean& used = by_mass.weight > 0 ? by_mass : by_count;
  s.x = used.x / used.weight, s.y = used.y / used.weight, s.z = used.z / used.weight;
  s.mass = by_mass.weight;
}

/// Centre, radius, extent and softening of a leaf from its particles. Pass: UpwardPass or UpwardPassCuda.
template <class Pass>
PERGOLA_HD void shape_of_leaf(const Pass& pass, const CellLink* links, std::uint32_t cell) {
  const CellLink link = links[cell];
  const std::uint32_t end = link.first + link.count;
  CellShape s{};
  auto& e = pass.extent[cell];
  Mean by_mass, by_count;
  for (std::uint32_t k = link.first; k < end; ++k) {
    by_mass.add(pass.x[k], pass.y[k], pass.z[k], pass.mass[k]);
    by_count.add(pass.x[k], pass.y[k], pass.z[k], 1);
  }
  set_centre(by_mass, by_count, s);
  const double* const axes[3] = {pass.x, pass.y, pass.z};
  for (int a = 0; a < 3; ++a) {
    double low = axes[a][link.first], high = low;
    for (std::uint32_t k = link.first; k < end; ++k) {
      low = axes[a][k] < low ? axes[a][k] : low;
      high = axes[a][k] > high ? axes[a][k] : high;
    }
    e.low[a] = low, e.high[a] = high;
  }
  double largest = 0, second = 0;
  for (std::uint32_t k = link.first; k < end; ++k) {
    const double dx = pass.x[k] - s.x, dy = pass.y[k] - s.y, dz = pass.z[k] - s.z;
    const double square = dx * dx + dy * dy + dz * dz;
    largest = square > largest ? square : largest;
    second += pass.mass[k] * square;
  }
  s.r = std::sqrt(largest);
  e.second = s.mass > 0 ? second / s.mass : largest;
  s.epsilon2 = pass.same_epsilon2;
  if (pass.epsilon2) {
    s.epsilon2 = pass.epsilon2[link.first];
    for (std::uint32_t k = link.first; k < end; ++k) {
      if (pass.epsilon2[k] != s.epsilon2) s.mixed = 1;
      s.epsilon2 = pass.epsilon2[k] > s.epsilon2 ? pass.epsilon2[k] : s.epsilon2;
    }
  }
  pass.shape[cell] = s;
}

/// The same for a parent from its children. Its radius is the smaller of two bounds: the farthest child's distance plus
/// radius, and the farthest corner of the box around all particles.
template <class Pass>
PERGOLA_HD void shape_of_parent(const Pass& pass, const CellLink* links, std::uint32_t cell) {
  const CellLink link = links[cell];
  const std::uint32_t begin = link.child, end = link.child + link.children;
  CellShape s{};
  auto e = pass.extent[begin];
  Mean by_mass, by_count;
  s.epsilon2 = pass.shape[begin].epsilon2;
  for (std::uint32_t c = begin; c < end; ++c) {
    const CellShape& child = pass.shape[c];
    by_mass.add(child.x, child.y, child.z, child.mass);
    by_count.add(child.x, child.y, child.z, links[c].count);
    for (int a = 0; a < 3; ++a) {
      e.low[a] = pass.extent[c].low[a] < e.low[a] ? pass.extent[c].low[a] : e.low[a];
      e.high[a] = pass.extent[c].high[a] > e.high[a] ? pass.extent[c].high[a] : e.high[a];
    }
    if (child.mixed > 0 || child.epsilon2 != s.epsilon2) s.mixed = 1;
    s.epsilon2 = child.epsilon2 > s.epsilon2 ? child.epsilon2 : s.epsilon2;
  }
  set_centre(by_mass, by_count, s);
  double largest = 0, second = 0;
  for (std::uint32_t c = begin; c < end; ++c) {
    const CellShape& child = pass.shape[c];
    const double dx = child.x - s.x, dy = child.y - s.y, dz = child.z - s.z;
    const double square = dx * dx + dy * dy + dz * dz, reach = std::sqrt(square) + child.r;
    largest = reach > largest ? reach : largest;
    second += child.mass * (square + pass.extent[c].second);
  }
  const double centre[3] = {s.x, s.y, s.z};
  double corner = 0;
  for (int a = 0; a < 3; ++a) {
    const double below = centre[a] - e.low[a], above = e.high[a] - centre[a], side = below > above ? below : above;
    corner += side * side;
  }
  corner = std::sqrt(corner);
  s.r = largest < corner ? largest : corner;
  e.second = s.mass > 0 ? second / s.mass : s.r * s.r;
  pass.extent[cell] = e;
  pass.shape[cell] = s;
}

/// Average radius and scale. Σ m d^order ≤ r^(order − 2) Σ m d².
template <int order, class Pass>
PERGOLA_HD void finish_shape(const Pass& pass, std::uint32_t cell) {
  CellShape& s = pass.shape[cell];
  double bound = pass.extent[cell].second;
  for (int n = 2; n < order; ++n) bound *= s.r;
  s.rho = order == 2 ? std::sqrt(bound) : order == 4 ? std::sqrt(std::sqrt(bound)) : std::pow(bound, 1.0 / order);
  const double scale = s.r > smallest_scale ? s.r : smallest_scale;
  pass.scale[cell] = static_cast<std::remove_reference_t<decltype(pass.scale[cell])>>(scale);
}

}  // namespace pergola::tree

#pragma once
/// Mass on a mesh: the cloud of a particle, and its mass in fixed-point units (quanta), whose sums do not depend on the
/// order.
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/host_device.hpp"

namespace pergola::physics {

#include "physics/cloud.inl"

/// The cells, or grid points, that a particle's cloud touches along one axis and its share in each.
template <int order, class R>
struct AxisWeights {
  int first = 0;  // the lowest; may lie beyond the edge of the grid
  R weight[order] = {};
};

/// Weights of the nearest grid point (order 1), cloud-in-cell (2), triangular-shaped-cloud (3) and
/// piecewise-cubic-spline (4) assignment for a particle at u cells from the corner; the centre of cell i is at i + 1/2.
/// Hockney & Eastwood 1988, section 5-3.
template <int order, class R>
PERGOLA_HD AxisWeights<order, R> axis_weights(R u) {
  static_assert(order >= 1 && order <= 4);
  AxisWeights<order, R> result;
  if constexpr (order == 1) {
    result.first = static_cast<int>(std::floor(u));
    result.weight[0] = R(1);
  } else if constexpr (order % 2 == 0) {
    const R shifted = u - R(0.5), cell = std::floor(shifted);
    result.first = static_cast<int>(cell) - (order / 2 - 1);
    cloud_weights<order, false>(shifted - cell, R(0.5), R(1), result.weight);
  } else {
    const R cell = std::floor(u);
    result.first = static_cast<int>(cell) - 1;
    cloud_weights<3, false>(u - cell - R(0.5), R(0.5), R(1), result.weight);
  }
  return result;
}

/// The nearest whole number, the even one of two, of a number below 2⁵¹: next to 1.5 · 2⁵² it is rounded to a whole
/// number in the lowest bits. Unlike a conversion, this vectorises on every processor.
PERGOLA_HD std::int64_t nearest_whole(double number) {
  return std::bit_cast<std::int64_t>(number + 0x1.8p52) - std::bit_cast<std::int64_t>(0x1.8p52);
}

/// A mass as a whole number of quanta; at most most_quanta.
template <class R>
PERGOLA_HD std::int64_t quanta(R mass, double per_quantum) {
  return nearest_whole(static_cast<double>(mass) * per_quantum);
}

/// The most quanta of a particle (beyond, doubles would lose whole numbers) and of all particles.
inline constexpr double most_quanta = 0x1p50, most_in_all = 0x1p62;

/// The quantum, a power of two, for particles that together have `total` mass (of either sign: sum of magnitudes) and
/// none more than `largest`: as small as the sums allow.
inline double mass_quantum(double total, double largest) {
  const double least = std::fmax(total / most_in_all, largest / most_quanta);
  return least > 0 ? std::exp2(std::ceil(std::log2(least))) : 1.0;
}

/// A cell's part of a particle's `mass_quanta`, for the product of its axis weights. The last cell of a cloud gets the
/// rest, so that nothing is lost. Int: a whole number that holds the mass.
template <class Int, class R>
PERGOLA_HD Int quanta_share(Int mass_quanta, R weight) {
  return static_cast<Int>(std::rint(static_cast<R>(mass_quanta) * weight));
}

/// The same for a mass below short_quanta, without a conversion: next to 1.5 · 2²³ (in double 1.5 · 2⁵²) a number is
/// rounded to a whole number in the lowest bits.
inline constexpr std::int64_t short_quanta = std::int64_t{1} << 22;
PERGOLA_HD int short_quanta_share(int mass_quanta, float weight) {
  return std::bit_cast<int>(static_cast<float>(mass_quanta) * weight + 0x1.8p23f) - std::bit_cast<int>(0x1.8p23f);
}
PERGOLA_HD int short_quanta_share(int mass_quanta, double weight) {
  return static_cast<int>(std::bit_cast<std::int64_t>(static_cast<double>(mass_quanta) * weight + 0x1.8p52));
}

/// The same by nearest_whole().
template <class R>
PERGOLA_HD std::int64_t quanta_share_by_shift(std::int64_t mass_quanta, R weight) {
  return nearest_whole(static_cast<double>(static_cast<R>(mass_quanta) * weight));
}

/// Density from a cell's quanta; `factor` = quantum / cell volume.
template <class R>
PERGOLA_HD R density(std::int64_t sum, double factor) {
  return static_cast<R>(static_cast<double>(sum) * factor);
}

}  // namespace pergola::physics

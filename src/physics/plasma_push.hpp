#pragma once
/// The push of plasma particles: places in whole grains of a cell, charge in whole units, tiles, and pushers.
#include <cmath>
#include <cstdint>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/mesh_weights.hpp"
#include "physics/number.hpp"

namespace pergola::physics {

/// The pushers of plasma_push.inl.
enum class PusherKind { electric_kick, uniform_boris, relativistic_boris, higuera_cary };

#include "physics/plasma_push.inl"

/// Places of plasma particles are whole numbers of grains, relative to the corner of a tile: the same accuracy
/// everywhere in a box of any size, exact when a particle goes from tile to tile or is wrapped, and exact as a double.
/// A cell has 2^place_bits grains. A macro-particle's charge is counted in 2^charge_bits units.
template <class Real>
struct PlasmaCounts;
template <>
struct PlasmaCounts<float> {
  using Place = std::int32_t;  // up to ±128 cells
  using Share = std::int32_t;  // 2¹¹ particles at a point
  static constexpr int place_bits = 24, charge_bits = 20;
};
template <>
struct PlasmaCounts<double> {
  using Place = std::int64_t;
  using Share = std::int64_t;
  static constexpr int place_bits = 38, charge_bits = 36;
};

/// Grains per cell.
template <class Real>
inline constexpr Real place_grains = static_cast<Real>(std::int64_t{1} << PlasmaCounts<Real>::place_bits);

/// The grid points that a cloud touches along an axis: the first one (−1 is possible for the quadratic shape) is
/// relative to the corner that the place is relative to.
template <int points, class Real>
PERGOLA_HD AxisWeights<points, Real> axis_cloud(typename PlasmaCounts<Real>::Place place) {
  using Place = typename PlasmaCounts<Real>::Place;
  constexpr int bits = PlasmaCounts<Real>::place_bits;
  constexpr Place half = points == 3 ? Place{1} << (bits - 1) : 0, mask = (Place{1} << bits) - 1;
  const Place shifted = place + half;
  AxisWeights<points, Real> cloud;
  cloud.first = static_cast<int>(shifted >> bits) - (points - 2);
  cloud_weights<points, true>(static_cast<Real>((shifted & mask) - half) * (Real(1) / place_grains<Real>), Real(0.5),
                              Real(1), cloud.weight);
  return cloud;
}

/// The place in a cell from the point that cloud_weights() counts from.
template <int points, class Real, class Place>
PERGOLA_HD Real inside_cell(Place place) {
  static_assert(sizeof(Place) == sizeof(Real));
  constexpr int bits = PlasmaCounts<Real>::place_bits;
  constexpr Place half = points == 3 ? Place{1} << (bits - 1) : 0, mask = (Place{1} << bits) - 1;
  return static_cast<Real>(((place + half) & mask) - half) * (Real(1) / place_grains<Real>);
}

/// A grid point's units of charge, for the product of the weights along the axes. The last point of a cloud gets the
/// rest of 2^charge_bits, which may be some units below zero.
PERGOLA_HD std::int32_t charge_share(float weight) {
  return short_quanta_share(1 << PlasmaCounts<float>::charge_bits, weight);
}
PERGOLA_HD std::int64_t charge_share(double weight) {
  return quanta_share_by_shift(std::int64_t{1} << PlasmaCounts<double>::charge_bits, weight);
}

/// Numbers for a push over `time`. The angle of the rotation is exact, |t| = tan((q/m) B time / 2): the gyration
/// frequency does not depend on the step. Birdsall & Langdon 1985, section 4-3. `light_speed`: 0 for no relativity.
template <class Real>
BorisFactors<Real> boris_factors(double charge_per_mass, const Vec3<double>& magnetic_field, double time,
                                 double light_speed = 0) {
  const double strength = std::sqrt(dot(magnetic_field, magnetic_field));
  const double tangent = strength > 0 ? std::tan(0.5 * charge_per_mass * strength * time) : 0.0;
  const Vec3<double> t = (strength > 0 ? tangent / strength : 0.0) * magnetic_field;
  const Vec3<double> s = (2 / (1 + tangent * tangent)) * t;
  const auto real = [](double x) { return static_cast<Real>(x); };
  return {real(charge_per_mass * time),
          real(0.5 * charge_per_mass * time),
          {real(t.x), real(t.y), real(t.z)},
          {real(s.x), real(s.y), real(s.z)},
          real(light_speed > 0 ? 1 / (light_speed * light_speed) : 0)};
}

/// Grains that a particle with velocity v moves, for drift = time · place_grains; v · drift is rounded in Real first.
/// Beyond ±2⁶², or if v is not a number, the result is meaningless.
template <class Real>
PERGOLA_HD std::int64_t displacement(Real v, Real drift) {
  const Real moved = std::rint(v * drift);
  return static_cast<std::int64_t>(std::fabs(moved) < Real(0x1p62) ? moved : Real(0));
}

/// One axis of a box that is cut into tiles of `width` cells; the last tile has the rest.
struct TileAxis {
  int cells = 1, width = 1;

  PERGOLA_HD int tiles() const { return (cells + width - 1) / width; }
  PERGOLA_HD int corner(int tile) const { return tile * width; }
  PERGOLA_HD int cells_of(int tile) const { return tile * width + width <= cells ? width : cells - tile * width; }
};

/// Finds the tile of a place that may be any distance outside its own, in the periodic box, and replaces both. `place`
/// is relative to the corner of `tile`, before and after. Whole numbers cannot round onto the upper edge.
template <class Real>
PERGOLA_HD void settle(const TileAxis& axis, int& tile, std::int64_t& place) {
  constexpr int bits = PlasmaCounts<Real>::place_bits;
  const std::int64_t side = std::int64_t{axis.cells} << bits;
  std::int64_t global = (std::int64_t{axis.corner(tile)} << bits) + place;
  if (global < 0 || global >= side) {
    global %= side;
    if (global < 0) global += side;
  }
  tile = static_cast<int>(global >> bits) / axis.width;
  place = global - (std::int64_t{axis.corner(tile)} << bits);
}

}  // namespace pergola::physics

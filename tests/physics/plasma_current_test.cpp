// The current of moving clouds in whole units. References: the charge before and after each move, point by point, and
// the line integral of the current by quadrature.
#include "physics/plasma_current.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "base/philox.hpp"

namespace pergola {
namespace {

template <int dimensions_, int points_, class Real_>
struct Kind {
  using Real = Real_;
  using Whole = typename physics::PlasmaCounts<Real>::Place;
  static constexpr int dimensions = dimensions_, points = points_;
  static constexpr int bits = physics::PlasmaCounts<Real>::place_bits;
  static constexpr Whole cell = Whole{1} << bits, shift = points == 3 ? cell / 2 : 0;
};

template <class K>
class PlasmaCurrent : public ::testing::Test {};
using Kinds = ::testing::Types<Kind<2, 2, float>, Kind<2, 3, float>, Kind<3, 2, float>, Kind<3, 3, float>,
                               Kind<2, 2, double>, Kind<2, 3, double>, Kind<3, 2, double>, Kind<3, 3, double>>;
TYPED_TEST_SUITE(PlasmaCurrent, Kinds);

/// Numbers at the grid points around the moves of these tests, from −4 to 15 along each axis.
struct Around {
  static constexpr int side = 20;
  std::vector<std::int64_t> value = std::vector<std::int64_t>(side * side * side);
  std::int64_t& at(int x, int y, int z) {
    return value.at(static_cast<std::size_t>(((z + 4) * side + y + 4) * side + x + 4));
  }
};

/// Adds the units of charge of a particle at a place.
template <class K>
void add_charge(const typename K::Whole* place, std::int64_t sign, Around& grid) {
  typename K::Real in_cell[3];
  int first[3] = {};
  for (int a = 0; a < K::dimensions; ++a) {
    const auto shifted = place[a] + K::shift;
    first[a] = static_cast<int>(shifted >> K::bits) - (K::points - 2);
    in_cell[a] = static_cast<typename K::Real>((shifted & (K::cell - 1)) - K::shift) *
                 (1 / physics::place_grains<typename K::Real>);
  }
  typename K::Whole share[27];
  physics::whole_shares<K::dimensions, K::points>(in_cell, share);
  const int layers = K::dimensions == 3 ? K::points : 1;
  std::int64_t sum = 0;
  for (int p = 0; p < K::points * K::points * layers; ++p) {
    grid.at(first[0] + p % K::points, first[1] + p / K::points % K::points, first[2] + p / K::points / K::points) +=
        sign * share[p];
    sum += share[p];
  }
  ASSERT_EQ(sum, std::int64_t{1} << physics::PlasmaCounts<typename K::Real>::charge_bits);
}

/// Calls body(axis, x, y, z, flux) for the currents of a move, part by part; returns the number of parts.
template <class K, class Body>
int each_flux(const typename K::Whole* from, const typename K::Whole* to, typename K::Real across, const Body& body) {
  using Real = typename K::Real;
  using Whole = typename K::Whole;
  physics::ChargeMove<K::dimensions, Real, Whole> move{{}, {}, across}, rest;
  for (int a = 0; a < K::dimensions; ++a) move.from[a] = from[a] + K::shift, move.to[a] = to[a] + K::shift;
  for (int part = 1;; ++part) {
    const bool more = physics::cut_at_border<Real>(move, rest) > 0;
    Whole first[3] = {}, flux[54];
    physics::charge_fluxes<Real, K::dimensions, K::points>(move, first, flux);
    const Whole* next = flux;
    for (int a = 0; a < 3; ++a) {
      const int x = K::points - (a == 0), y = K::points - (a == 1), z = K::dimensions == 3 ? K::points - (a == 2) : 1;
      for (int p = 0; p < x * y * z; ++p)
        body(a, static_cast<int>(first[0]) + p % x, static_cast<int>(first[1]) + p / x % y,
             static_cast<int>(first[2]) + p / x / y, *next++);
    }
    EXPECT_EQ(next - flux, (physics::flux_count<K::dimensions, K::points>));
    if (!more) return part;
    move = rest;
  }
}

/// Places and moves of every kind: inside a cell, over borders, edges and corners, from and to borders, and none.
template <class K>
void draw_move(std::uint64_t i, typename K::Whole* from, typename K::Whole* to) {
  Philox random(5, 0, i);
  for (int a = 0; a < K::dimensions; ++a) {
    const double kind = random.uniform();
    const auto grains = [&](double cells) { return static_cast<typename K::Whole>(cells * double(K::cell)); };
    from[a] = grains(8 * random.uniform());
    if (kind < 0.15) from[a] = (from[a] >> (K::bits - 1)) << (K::bits - 1);  // a border of one of the shapes
    if (kind > 0.9)
      from[a] = ((from[a] >> K::bits) << K::bits) + static_cast<typename K::Whole>(5 * random.uniform()) - 2;
    const double way = random.uniform(), reach = way < 0.2 ? 1e-6 : way < 0.4 ? 0.05 : 0.7;
    to[a] = from[a] + grains(reach * (2 * random.uniform() - 1));
    if (way > 0.9) to[a] = from[a];
    if (way > 0.95) to[a] = ((from[a] + K::cell / 4) >> (K::bits - 1)) << (K::bits - 1);
  }
}

TYPED_TEST(PlasmaCurrent, ContinuityHoldsInWholeUnits) {
  using K = TypeParam;
  int parts[6] = {};
  Around charge;
  for (std::uint64_t i = 0; i < 30000; ++i) {
    typename K::Whole from[3], to[3];
    draw_move<K>(i, from, to);
    add_charge<K>(to, 1, charge), add_charge<K>(from, -1, charge);
    std::int64_t out_of_plane = 0;
    const int cut = each_flux<K>(from, to, 0, [&](int a, int x, int y, int z, std::int64_t flux) {
      if (a == K::dimensions)
        out_of_plane |= flux;
      else
        charge.at(x, y, z) += flux, charge.at(x + (a == 0), y + (a == 1), z + (a == 2)) -= flux;
    });
    ++parts[std::min(5, cut)];
    ASSERT_EQ(out_of_plane, 0);
    if (i % 50 != 0 && i > 500) continue;
    for (const std::int64_t rest : charge.value) ASSERT_EQ(rest, 0) << "move " << i;
  }
  for (int p = 1; p <= K::dimensions + 1; ++p) EXPECT_GT(parts[p], 50) << p;
  for (int p = K::dimensions + 2; p < 6; ++p) EXPECT_EQ(parts[p], 0) << p;
}

/// The spline of a shape: the cloud of a particle at a distance of x cells.
double spline(int points, double x) {
  x = std::fabs(x);
  if (points == 2) return x < 1 ? 1 - x : 0;
  return x < 0.5 ? 0.75 - x * x : x < 1.5 ? 0.5 * (1.5 - x) * (1.5 - x) : 0;
}

// ∫ of the velocity times the cloud, one spline lower along the current, over the straight line. For linear clouds the
// means are exact, for quadratic ones to third order in the length of the move.
TYPED_TEST(PlasmaCurrent, FluxesAreTheLineIntegralOfTheCurrent) {
  using K = TypeParam;
  const double unit = double(std::int64_t{1} << physics::PlasmaCounts<typename K::Real>::charge_bits);
  for (std::uint64_t i = 0; i < 100; ++i) {
    typename K::Whole from[3], to[3];
    draw_move<K>(i, from, to);
    double begin[3] = {}, change[3] = {0, 0, 0.3 * std::sin(double(i))}, length = 0;
    for (int a = 0; a < K::dimensions; ++a)
      begin[a] = double(from[a]) / double(K::cell), change[a] = double(to[a] - from[a]) / double(K::cell);
    for (const double one : change) length = std::max(length, std::fabs(one));
    std::map<std::array<int, 4>, double> currents;
    each_flux<K>(from, to, static_cast<typename K::Real>(change[2]), [&](int a, int x, int y, int z, auto flux) {
      currents[{a, x, y, z}] += double(flux);
    });
    for (const auto& [at, flux] : currents) {
      double sum = 0;
      constexpr int steps = 1000;
      for (int step = 0; step < steps; ++step) {
        double product = change[at[0]] / steps;
        for (int b = 0; b < K::dimensions; ++b) {
          const double x = begin[b] + change[b] * (step + 0.5) / steps - at[static_cast<std::size_t>(b) + 1];
          const double lower = K::points == 2 ? (x > 0 && x < 1 ? 1.0 : 0.0) : spline(2, x - 0.5);
          product *= b == at[0] ? lower : spline(K::points, x);
        }
        sum += product;
      }
      const double rounding = 10, quadrature = 0.5 * length / steps * unit;
      const double mean = K::points == 3 ? 0.25 * length * length * length * unit : 0;
      ASSERT_NEAR(flux, sum * unit, rounding + quadrature + mean) << "move " << i << " axis " << at[0];
    }
  }
}

TYPED_TEST(PlasmaCurrent, SlowParticlesDoNotDriftByRounding) {
  using K = TypeParam;
  typename K::Whole place[3] = {K::cell / 3, K::cell / 5, K::cell / 7};
  const auto begin = place[0];
  std::int64_t through = 0;
  for (int step = 0; step < 2000; ++step) {
    const typename K::Whole next[3] = {place[0] + 3, place[1] - 1, place[2]};
    each_flux<K>(place, next, 0, [&](int a, int, int, int, std::int64_t flux) { through += a == 0 ? flux : 0; });
    std::copy(next, next + 3, place);
  }
  const double unit = double(std::int64_t{1} << physics::PlasmaCounts<typename K::Real>::charge_bits);
  EXPECT_NEAR(double(through), double(place[0] - begin) / double(K::cell) * unit, 4);
}

}  // namespace
}  // namespace pergola

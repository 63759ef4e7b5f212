// What the order of a universe's start leaves in it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "sim/gravity_system.hpp"

namespace pergola {
namespace {

constexpr std::size_t cells = 8;
constexpr double box = 400, from = 0.1;

/// An Einstein–de Sitter universe of 32³ particles.
GravitySystem universe(int order, bool opposite) {
  return GravitySystem(parse_config(fmt::format(R"(
[run]
device = "cpu"
threads = 2
end_time = 0.4
[particles]
model = "cosmology"
n = "32^3"
box = {0}
redshift = 9
seed = 1
order = {1}
paired = {2}
[gravity]
solver = "mesh"
[gravity.mesh]
cells = 64
assignment = "tsc"
[time]
step = 0.125
[cosmology]
omega_matter = 1
omega_lambda = 0
)",
                                                box, order, opposite),
                                    "test"));
}

struct Moments {
  double square = 0, cube = 0;
};
/// <δ²> and <δ³> of the mass in cells, in triangular clouds three cells wide: smooth enough for four particles a cell.
Moments moments(const Particles& p) {
  std::vector<double> mass(cells * cells * cells, 0.0);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    std::array<int, 3> first;
    std::array<std::array<double, 3>, 3> weight;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double at = (axis == 0   ? p.x
                         : axis == 1 ? p.y
                                     : p.z)[i] /
                            box * cells +
                        cells,
                   off = at - std::floor(at) - 0.5;
      first[axis] = static_cast<int>(at) - 1;
      weight[axis] = {0.5 * (0.5 - off) * (0.5 - off), 0.75 - off * off, 0.5 * (0.5 + off) * (0.5 + off)};
    }
    for (std::size_t k = 0; k < 27; ++k) {
      const std::array<std::size_t, 3> next{k / 9, k / 3 % 3, k % 3};
      std::size_t cell = 0;
      double part = 1;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        cell = cell * cells + (static_cast<std::size_t>(first[axis]) + next[axis]) % cells;
        part *= weight[axis][next[axis]];
      }
      mass[cell] += part;
    }
  }
  Moments found;
  const double number = static_cast<double>(mass.size()), mean = static_cast<double>(p.x.size()) / number;
  for (const double value : mass) {
    const double contrast = value / mean - 1, square = contrast * contrast / number;
    found.square += square, found.cube += square * contrast;
  }
  return found;
}

/// The skewness S₃ = <δ³>/<δ²>² of a universe and the one of opposite waves: what the waves happen to have of it falls
/// out of the two together.
class Pair {
 public:
  explicit Pair(int order) : one_(universe(order, false)), other_(universe(order, true)) {}
  double skewness(double a) {
    one_.run_until(a), other_.run_until(a);
    const Moments one = moments(one_.particles()), other = moments(other_.particles());
    return 2 * (one.cube + other.cube) / std::pow(one.square + other.square, 2);
  }

 private:
  GravitySystem one_, other_;
};

/// What S₃ lacks at x = a/a₀ where Zel'dovich's approximation began at a₀. Scoccimarro 1998, MNRAS 299, 1097.
double transient(double x) { return 1.2 / x - 12.0 / 35 * std::pow(x, -3.5); }

// Reference: perturbation theory. Transients of a start to first order fall only as 1/a; one to second order has none.
// How large they are depends on the few waves of the box, how they fall does not.
TEST(Transients, OfFirstOrderFallAsPerturbationTheorySaysAndSecondOrderHasNone) {
  Pair first(1), second(2);
  std::map<double, double> of_first, of_second;
  for (const double x : {1.0, 2.0, 4.0})
    of_first[x] = first.skewness(x * from), of_second[x] = second.skewness(x * from);
  const double begin = of_second[1] - of_first[1];
  EXPECT_NEAR(begin, transient(1), 0.3);
  for (const double x : {2.0, 4.0})
    EXPECT_NEAR((of_second[x] - of_first[x]) / begin, transient(x) / transient(1), 0.01) << x;
  EXPECT_LT(std::abs(of_second[4] - of_second[1]), 0.3 * std::abs(of_first[4] - of_first[1]));
}

}  // namespace
}  // namespace pergola

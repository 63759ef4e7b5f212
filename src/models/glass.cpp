#include "models/glass.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "device/device.hpp"
#include "gravity/solver.hpp"
#include "models/sampling.hpp"
#include "particles/box.hpp"
#include "physics/lagrangian.hpp"
#include "physics/mesh_weights.hpp"

// Gravity with a negative sign drives random points apart until they pull almost nowhere. Forces come from the TreePM
// solver in a periodic box of side 1 with total mass 1. Each round moves a point by what would undo a small wave, at
// most by a quarter of the mean distance. A tile of at most 16 points a side is made once and repeated.
namespace pergola {

namespace {

constexpr std::uint32_t glass_stream = 15;
constexpr int glass_rounds = 40;  // what is left is then 0.004 of a distance per round, and falls slowly
constexpr int smallest_tile = 8, largest_tile = 16;

/// The largest number of whole points per side of a tile; 0: none.
int tile_of(int side) {
  if (side <= largest_tile) return side;
  for (int tile = largest_tile; tile >= smallest_tile; --tile)
    if (side % tile == 0) return tile;
  return 0;
}

/// A softening of a twentieth of the mean distance: close pairs must be driven apart too.
SolverOptions glass_gravity(double distance) {
  SolverOptions options;
  options.solver = "treepm";
  options.softening = Softening::same(0.05 * distance);
  options.tree.accuracy = 1e-3;
  options.mesh.box = {{0, 0, 0}, {1, 1, 1}, Boundary::periodic};
  return options;
}

}  // namespace

std::array<std::vector<double>, 3> make_glass(int side, std::uint64_t seed, int threads) {
  const std::int64_t n = static_cast<std::int64_t>(side) * side * side;
  const double distance = 1.0 / side, most = distance / 4;
  Particles points = equal_masses(n, 1);
  draw_particles(
      points, seed, threads,
      [](Philox& random) {
        PhaseSpacePoint p{};
        for (double* x : {&p.x.x, &p.x.y, &p.x.z}) *x = random.uniform();
        return p;
      },
      glass_stream);
  const Device device = Device::open("cpu", threads);
  const auto solver = make_solver(glass_gravity(distance), device);
  const std::array<std::vector<double>*, 3> places{&points.x, &points.y, &points.z};
  for (int round = 0; round < glass_rounds; ++round) {
    const ForceResult forces = evaluate_forces(*solver, device, points, want_acceleration);
    for (std::size_t i = 0; i < points.x.size(); ++i) {
      const double pull[3] = {forces.ax[i], forces.ay[i], forces.az[i]};
      double move[3], square = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        move[axis] = physics::undoing_displacement(pull[axis], 1.0, 1.0);
        square += move[axis] * move[axis];
      }
      const double part = std::min(1.0, most / std::sqrt(std::max(square, 1e-300)));
      for (std::size_t axis = 0; axis < 3; ++axis)
        (*places[axis])[i] = wrap((*places[axis])[i] + part * move[axis], 0.0, 1.0);
    }
  }
  return {points.x, points.y, points.z};
}

StartPlaces StartPlaces::glass(int side, std::uint64_t seed, int threads) {
  StartPlaces places(side);
  places.tile_ = tile_of(side);
  if (places.tile_ == 0)
    throw Error(ErrorKind::input, fmt::format("cosmology: n: expected the cube of a number with a divisor from {} to "
                                              "{}, the side of a tile of the glass, found {}^3",
                                              smallest_tile, largest_tile, side));
  places.points_ = make_glass(static_cast<int>(places.tile_), seed, threads);
  for (auto& axis : places.points_)
    for (double& x : axis) x *= static_cast<double>(places.tile_);
  return places;
}

/// Between the places of the lattice by a cloud of 3 × 3 × 3 cells. window() names its order, to undo its smoothing.
double StartPlaces::of(const std::vector<double>& field, std::int64_t i) const {
  if (tile_ == 0) return field[static_cast<std::size_t>(i)];
  std::array<physics::AxisWeights<3, double>, 3> cloud;
  for (std::size_t axis = 0; axis < 3; ++axis)
    cloud[axis] = physics::axis_weights<3>(at(i, axis) + 0.5);  // the places are the centres of cells
  const auto index = [&](std::size_t axis, int k) { return (cloud[axis].first + k + side_) % side_; };
  double sum = 0;
  for (int z = 0; z < 3; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 3; ++x)
        sum += cloud[0].weight[x] * cloud[1].weight[y] * cloud[2].weight[z] *
               field[static_cast<std::size_t>((index(2, z) * side_ + index(1, y)) * side_ + index(0, x))];
  return sum;
}

}  // namespace pergola

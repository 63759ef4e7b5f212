#include "plasma/stream_loops.hpp"

#include <cmath>

namespace pergola::plasma {

namespace {

template <int dimensions, int points, class Real>
struct ParticleCloud {
  Real weight[dimensions][points];
  int first = 0;  // point of a patch

  explicit ParticleCloud(const typename physics::PlasmaCounts<Real>::Place* place) {
    using Area = Patch<dimensions, points>;
    int stride = 1;
    for (int a = 0; a < dimensions; ++a) {
      const auto cloud = physics::axis_cloud<points, Real>(place[a]);
      for (int i = 0; i < points; ++i) weight[a][i] = cloud.weight[i];
      first += (cloud.first + Area::before) * stride;
      stride *= Area::side;
    }
  }
  /// Where a point of the cloud lies in a patch, from the first.
  static int offset(int point) {
    constexpr int side = Patch<dimensions, points>::side;
    return (point / points / points * side + point / points % points) * side + point % points;
  }
};

template <int points>
constexpr int power(int dimensions) {
  return dimensions == 3 ? points * points * points : points * points;
}

template <int dimensions, int points, class Real>
void deposit_one(const typename physics::PlasmaCounts<Real>::Place* place, std::int64_t* charge) {
  using Cloud = ParticleCloud<dimensions, points, Real>;
  constexpr int last = power<points>(dimensions) - 1;
  const Cloud cloud(place);
  std::int64_t rest = std::int64_t{1} << physics::PlasmaCounts<Real>::charge_bits;
  for (int p = 0; p < last; ++p) {
    Real weight = cloud.weight[0][p % points] * cloud.weight[1][p / points % points];
    if (dimensions == 3) weight *= cloud.weight[dimensions - 1][p / points / points];
    const std::int64_t share = physics::charge_share(weight);
    charge[cloud.first + Cloud::offset(p)] += share;
    rest -= share;
  }
  charge[cloud.first + Cloud::offset(last)] += rest;
}

template <int dimensions, class Real>
void place_of(const TileParticles<Real>& particles, std::int64_t i,
              typename physics::PlasmaCounts<Real>::Place (&place)[3]) {
  for (int a = 0; a < dimensions; ++a) place[a] = particles.place(a)[i];
}

template <int dimensions, int points, class Real>
void deposit(const TileParticles<Real>& particles, std::int64_t begin, std::int64_t end, std::int64_t* charge) {
  typename physics::PlasmaCounts<Real>::Place place[3] = {};
  for (std::int64_t i = begin; i < end; ++i) {
    place_of<dimensions>(particles, i, place);
    deposit_one<dimensions, points, Real>(place, charge);
  }
}

/// The velocity of a particle after a push.
template <int dimensions, int points, int velocities, bool magnetised, class Real>
Vec3<Real> pushed(const PushTask<Real>& task, const TileParticles<Real>& particles, std::int64_t i) {
  using Cloud = ParticleCloud<dimensions, points, Real>;
  constexpr int size = Patch<dimensions, points>::size, count = power<points>(dimensions);
  typename physics::PlasmaCounts<Real>::Place place[3] = {};
  place_of<dimensions>(particles, i, place);
  const Cloud cloud(place);
  Real electric[3] = {};
  for (int a = 0; a < dimensions; ++a) {
    Real value[count];
    for (int p = 0; p < count; ++p) value[p] = task.field[a * size + cloud.first + Cloud::offset(p)];
    electric[a] = physics::interpolate<dimensions, points>(cloud.weight, value);
  }
  const Vec3<Real> v{particles.velocity(0)[i], particles.velocity(1)[i],
                     velocities == 3 ? particles.velocity(2)[i] : Real(0)};
  return physics::boris_push<dimensions, velocities, magnetised>(v, {electric[0], electric[1], electric[2]},
                                                                 task.factors);
}

/// Where a particle goes: false where that cannot be said.
template <int dimensions, class Real>
bool find_new_place(const PushTask<Real>& task, const Real (&velocity)[3], const std::int64_t (&from)[3],
                    Leaver<Real>& particle) {
  constexpr Real bound = static_cast<Real>(std::int64_t{1} << 60);
  auto tile = task.grid->tile(task.tile);
  for (int a = 0; a < 3; ++a) {
    particle.velocity[a] = velocity[a];
    if (!(std::fabs(velocity[a] * task.drift) < bound)) return false;
  }
  for (int a = 0; a < dimensions; ++a) {
    std::int64_t place = from[a] + physics::displacement(velocity[a], task.drift);
    physics::settle<Real>(task.grid->axis[a], tile[a], place);
    particle.place[a] = static_cast<typename physics::PlasmaCounts<Real>::Place>(place);
  }
  particle.tile = task.grid->number(tile);
  return true;
}

template <int dimensions, int points, int velocities, bool magnetised, class Real>
void push(const PushTask<Real>& task, const TileParticles<Real>& particles, std::int64_t* charge,
          PushRest<Real>& rest) {
  for (std::int64_t i = 0; i < particles.count(); ++i) {
    const Vec3<Real> v = pushed<dimensions, points, velocities, magnetised>(task, particles, i);
    const Real velocity[3] = {v.x, v.y, v.z};
    std::int64_t from[3] = {};
    for (int a = 0; a < dimensions; ++a) from[a] = particles.place(a)[i];
    Leaver<Real> moved;
    moved.rank = particles.rank()[i];
    if (!find_new_place<dimensions>(task, velocity, from, moved)) {
      rest.lost.push_back({moved.rank, {v.x, v.y, v.z}});
    } else if (moved.tile == task.tile) {
      for (int a = 0; a < dimensions; ++a) particles.place(a)[i] = moved.place[a];
      for (int a = 0; a < velocities; ++a) particles.velocity(a)[i] = velocity[a];
    } else {
      rest.leavers.push_back(moved);
      rest.holes.push_back(static_cast<std::uint32_t>(i));
      continue;
    }
    deposit<dimensions, points>(particles, i, i + 1, charge);
  }
}

template <int dimensions, int points, int velocities, bool magnetised, class Real>
void find_bounds(const PushTask<Real>& task, const TileParticles<Real>& particles, TileBounds& bounds) {
  for (std::int64_t i = 0; i < particles.count(); ++i) {
    const Vec3<Real> v = pushed<dimensions, points, velocities, magnetised>(task, particles, i);
    const Vec3<double> wide{v.x, v.y, v.z};
    bounds.square = std::fmax(bounds.square, dot(wide, wide));
    bounds.component =
        std::fmax(bounds.component, std::fmax(std::fabs(wide.x), std::fmax(std::fabs(wide.y), std::fabs(wide.z))));
  }
}

template <int dimensions, int points, int velocities, bool magnetised, class Real>
void add_up(const PushTask<Real>& task, const TileParticles<Real>& particles, double squares_per_quantum,
            double components_per_quantum, TileSums& sums) {
  for (std::int64_t i = 0; i < particles.count(); ++i) {
    const Vec3<Real> v = pushed<dimensions, points, velocities, magnetised>(task, particles, i);
    const Vec3<double> wide{v.x, v.y, v.z};
    sums.square += physics::quanta(dot(wide, wide), squares_per_quantum);
    sums.component[0] += physics::quanta(wide.x, components_per_quantum);
    sums.component[1] += physics::quanta(wide.y, components_per_quantum);
    sums.component[2] += physics::quanta(wide.z, components_per_quantum);
  }
}

template <int dimensions, int points, class Real>
void fetch(const TileGrid& grid, int number, const Real* field, std::int64_t pitch, Real* patch) {
  using Area = Patch<dimensions, points>;
  const auto tile = grid.tile(number);
  const auto wrapped = [](const physics::TileAxis& axis, int point) {
    point %= axis.cells;
    return point < 0 ? point + axis.cells : point;
  };
  const int ny = grid.axis[1].cells, layers = Area::rows / Area::side;
  const int x0 = grid.axis[0].corner(tile[0]) - Area::before;
  for (int layer = 0; layer < layers; ++layer) {
    const int z = wrapped(grid.axis[2], grid.axis[2].corner(tile[2]) + layer - (dimensions == 3 ? Area::before : 0));
    for (int row = 0; row < Area::side; ++row) {
      const int y = wrapped(grid.axis[1], grid.axis[1].corner(tile[1]) + row - Area::before);
      const Real* const from = field + (std::int64_t{z} * ny + y) * pitch;
      Real* const to = patch + (layer * Area::side + row) * Area::side;
      if (x0 >= 0 && x0 + Area::side <= grid.axis[0].cells)
        for (int x = 0; x < Area::side; ++x) to[x] = from[x0 + x];
      else
        for (int x = 0; x < Area::side; ++x) to[x] = from[wrapped(grid.axis[0], x0 + x)];
    }
  }
}

template <int dimensions, int points, int velocities, bool magnetised, class Real>
StreamLoops<Real> loops() {
  return {Patch<dimensions, points>::size,
          fetch<dimensions, points, Real>,
          push<dimensions, points, velocities, magnetised, Real>,
          deposit<dimensions, points, Real>,
          deposit_one<dimensions, points, Real>,
          find_bounds<dimensions, points, velocities, magnetised, Real>,
          add_up<dimensions, points, velocities, magnetised, Real>};
}

template <int dimensions, int points, int velocities, class Real>
StreamLoops<Real> loops_of(const PlasmaOptions& options) {
  return options.magnetised() ? loops<dimensions, points, velocities, true, Real>()
                              : loops<dimensions, points, velocities, false, Real>();
}

template <int points, class Real>
StreamLoops<Real> loops_of(const PlasmaOptions& options) {
  if (options.dimensions == 3) return loops_of<3, points, 3, Real>(options);
  return options.velocities == 3 ? loops_of<2, points, 3, Real>(options) : loops_of<2, points, 2, Real>(options);
}

}  // namespace

template <class Real>
StreamLoops<Real> choose_stream_loops(const PlasmaOptions& options) {
  return options.shape == PlasmaShape::quadratic ? loops_of<3, Real>(options) : loops_of<2, Real>(options);
}

template StreamLoops<float> choose_stream_loops(const PlasmaOptions&);
template StreamLoops<double> choose_stream_loops(const PlasmaOptions&);

}  // namespace pergola::plasma

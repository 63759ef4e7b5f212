#include "models/merge.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "models/model.hpp"
#include "models/model_source.hpp"
#include "physics/kepler.hpp"
#include "time/integrator.hpp"

namespace pergola {
namespace {

Particles point(double mass) {
  Particles p;
  p.resize(1);
  p.mass[0] = mass;
  p.x[0] = 3, p.vy[0] = -2;  // anywhere: it is centred
  return p;
}

struct Pair {
  Vec3<double> x, v;  // of the second as seen from the first
};

/// The centres of mass of the particles up to `first` and of the others.
Pair centres(const Particles& p, std::size_t first) {
  Vec3<double> x[2]{}, v[2]{};
  double mass[2]{};
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const std::size_t k = i >= first;
    mass[k] += p.mass[i];
    x[k] = x[k] + p.mass[i] * Vec3<double>{p.x[i], p.y[i], p.z[i]};
    v[k] = v[k] + p.mass[i] * Vec3<double>{p.vx[i], p.vy[i], p.vz[i]};
  }
  EXPECT_NEAR(dot(x[0] + x[1], x[0] + x[1]) + dot(v[0] + v[1], v[0] + v[1]), 0, 1e-18);
  return {1 / mass[1] * x[1] - 1 / mass[0] * x[0], 1 / mass[1] * v[1] - 1 / mass[0] * v[0]};
}

MergeOptions orbit(double pericentre, double eccentricity, double separation, double g = 1) {
  MergeOptions options;
  options.pericentre = pericentre;
  options.eccentricity = eccentricity;
  options.separation = separation;
  options.gravitational_constant = g;
  return options;
}

// Reference: the two-body problem: e and q = L²/(μ (1 + e)) from energy and angular momentum of the centres of mass.
TEST(Merge, TheCentresHaveTheOrbitAskedFor) {
  const double g = 3;
  ModelOptions stars;
  stars.n = 500;
  const Particles a = make_model("plummer", stars);
  stars.n = 300;
  stars.values = {{"mass", 2.0}};
  const Particles b = make_model("king", stars);
  for (const auto& [q, e, r] :
       {std::array{2.0, 0.0, 2.0}, {1.5, 0.7, 6.0}, {1.5, 0.5, 4.5}, {2.0, 1.0, 11.0}, {0.5, 2.5, 8.0}}) {
    const Pair pair = centres(merge_on_orbit(a, b, orbit(q, e, r, g), 2), 500);
    const auto elements = physics::orbit_elements(pair.x, pair.v, g * 3);
    const auto turn = cross(pair.x, pair.v);
    EXPECT_NEAR(elements.eccentricity, e, 1e-9);
    EXPECT_NEAR(dot(turn, turn) / (g * 3 * (1 + e)), q, 1e-9);
    EXPECT_NEAR(std::sqrt(dot(pair.x, pair.x)), r, 1e-9);
    EXPECT_LE(dot(pair.x, pair.v), 1e-9);
    EXPECT_GT(turn.z, 0);
    EXPECT_NEAR(std::hypot(turn.x, turn.y), 0, 1e-9);
  }
}

TEST(Merge, PiecesHaveTheBitsOfTheWhole) {
  ModelOptions stars;
  stars.n = 5000;  // more than a chunk of the sums
  const Particles a = make_model("plummer", stars);
  stars.n = 300;
  const Particles b = make_model("king", stars);
  MergeOptions options = orbit(2, 1, 11);
  options.first = {20, 30}, options.second = {70, 40};
  const Particles whole = merge_on_orbit(a, b, options, 1);
  MergedSource source(std::make_unique<HostParticles>(a), make_model_source("king", stars, 2), options, 2);
  ASSERT_EQ(source.count(), 5300);
  Particles all, piece;
  for (const auto& [first, n] : {std::pair{0, 1000}, {1000, 4100}, {5100, 0}, {5100, 200}}) {  // one across the border
    source.read(first, n, piece);
    ASSERT_EQ(piece.size(), n);
    all.append(piece);
  }
  EXPECT_EQ(all.id, whole.id);
  EXPECT_EQ(all.mass, whole.mass);
  EXPECT_EQ(all.x, whole.x);
  EXPECT_EQ(all.z, whole.z);
  EXPECT_EQ(all.vy, whole.vy);
  EXPECT_EQ(std::set(all.id.begin(), all.id.end()).size(), 5300u);
}

// Reference: Hermite's integration of the two points: at the time to pericentre they are there, on the +x axis, at the
// distance asked for.
TEST(Merge, TwoPointsReachThePericentreInTime) {
  for (const auto& [q, e, r] : {std::array{1.0, 0.6, 3.0}, {1.0, 1.0, 5.0}, {0.7, 1.8, 6.0}}) {
    const auto options = orbit(q, e, r);
    const Particles start = merge_on_orbit(point(0.75), point(1.25), options, 1);
    SolverOptions gravity;
    gravity.precision = Precision::double_;
    const auto system =
        make_integrator(TimeOptions{}, gravity, {Device::open("cpu", 1), serial_communicator(), nullptr});
    const double end = physics::kepler_time_to_pericentre(2.0, q, e, r);
    system->start(start, 0);
    system->finish(end);
    const Pair there = centres(system->state_at(end), 1);
    EXPECT_NEAR(there.x.x, q, 1e-4 * q) << e;
    EXPECT_NEAR(there.x.y, 0, 1e-4 * q) << e;
    EXPECT_NEAR(there.v.x, 0, 1e-4) << e;
  }
}

// Reference: half a period from the apocentre, and the apocentre's speed.
TEST(Merge, MayBeginAtTheApocentre) {
  EXPECT_NEAR(physics::kepler_time_to_pericentre(2.0, 1.0, 0.5, 3.0), physics::kepler_period(2.0, 2.0) / 2, 1e-9);
  const auto state = merge_orbit(2, orbit(1, 0.5, 3));
  EXPECT_NEAR(state.x.x, -3, 1e-9);
  EXPECT_NEAR(state.v.y, -physics::vis_viva_speed(2.0, 3.0, 0.5), 1e-9);
}

/// The direction of the angular momentum of particles first … last − 1 about their centre.
Vec3<double> spin(const Particles& p, std::size_t first, std::size_t last) {
  Vec3<double> x{}, v{}, sum{};
  const double n = static_cast<double>(last - first);
  for (std::size_t i = first; i < last; ++i) {
    x = x + 1 / n * Vec3<double>{p.x[i], p.y[i], p.z[i]};
    v = v + 1 / n * Vec3<double>{p.vx[i], p.vy[i], p.vz[i]};
  }
  for (std::size_t i = first; i < last; ++i)
    sum = sum + cross(Vec3<double>{p.x[i], p.y[i], p.z[i]} - x, Vec3<double>{p.vx[i], p.vy[i], p.vz[i]} - v);
  return 1 / std::sqrt(dot(sum, sum)) * sum;
}

// Reference: orbital elements over the disc's plane as the reference plane: the orbit's axis is `inclination` away from
// the disc's, the node is n × L, and the argument is the angle from the node to the pericentre of the companion, which
// for the second galaxy is on the other side.
TEST(Merge, DiscsStandToTheOrbitAsAskedFor) {
  ModelOptions disc;
  disc.n = 2000;
  disc.values = {{"toomre_q", 0.0}, {"scale_height", 0.0}};
  const Particles one = make_model("exponential-disc", disc);
  auto options = orbit(2, 1, 10);
  options.first = {30, 40};
  options.second = {120, -70};
  const Particles p = merge_on_orbit(one, one, options, 2);
  const Vec3<double> axis{0, 0, 1};
  for (const auto& [k, tilt, pericentre] :
       {std::tuple{0u, options.first, Vec3<double>{1, 0, 0}}, {1u, options.second, Vec3<double>{-1, 0, 0}}}) {
    const auto n = spin(p, k * 2000, (k + 1) * 2000);
    EXPECT_NEAR(std::acos(n.z) * 180 / std::numbers::pi, tilt.inclination, 0.01);
    const auto node = cross(n, axis);
    const double angle = std::atan2(dot(axis, cross(node, pericentre)), dot(node, pericentre));
    EXPECT_NEAR(angle * 180 / std::numbers::pi, tilt.argument, 0.05);
  }
}

TEST(Merge, IdsAreUniqueAndSpeciesStay) {
  ModelOptions stars;
  stars.n = 50;
  const Particles p = merge_on_orbit(make_model("galaxy", stars), make_model("plummer", stars), orbit(2, 1, 10), 1);
  EXPECT_EQ(std::set<std::uint64_t>(p.id.begin(), p.id.end()).size(), 100u);
  EXPECT_EQ(p.id[50], 51u);
  EXPECT_EQ(p.species[30], 2);
  Particles last = point(1);
  last.id[0] = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THROW(merge_on_orbit(point(1), last, orbit(2, 1, 10), 1), Error);
}

TEST(Merge, RefusesWhatIsNoOrbit) {
  for (const auto& options : {orbit(2, 1, 1), orbit(2, 0.5, 6.1)}) EXPECT_THROW(merge_orbit(1, options), Error);
  EXPECT_THROW(merge_on_orbit(point(1), point(0), orbit(1, 1, 3), 1), Error);
}

}  // namespace
}  // namespace pergola

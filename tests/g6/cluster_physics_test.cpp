// One cluster against tests/g6/naive.hpp, which is the independent reference throughout.
#include <algorithm>
#include <numeric>

#include "g6/cluster.hpp"
#include "g6/naive.hpp"
#include "test_devices.hpp"

namespace pergola::g6 {
namespace {

JParticle j_particle(const NaiveParticle& p) {
  const auto scaled = [](double factor, const double* value) {
    return Vec3<double>{factor * value[0], factor * value[1], factor * value[2]};
  };
  return {p.index, p.t, p.mass, scaled(1, p.x), scaled(1, p.v), scaled(2, p.a2), scaled(6, p.j6), scaled(18, p.k18)};
}

void send(Cluster& cluster, const std::vector<NaiveParticle>& particles) {
  for (std::size_t j = 0; j < particles.size(); ++j)
    cluster.set_j_particle(static_cast<std::int64_t>(j), j_particle(particles[j]));
}

/// Particles that ask, with positions that are nobody's prediction.
struct Asking {
  std::vector<int> index;
  std::vector<double> x, v, radius2;
  double epsilon2 = 0;

  Asking(const std::vector<NaiveParticle>& particles, int first, int count, double eps2, double h2)
      : radius2(static_cast<std::size_t>(count), h2), epsilon2(eps2) {
    for (int i = 0; i < count; ++i) {
      const auto& p = particles[static_cast<std::size_t>(first + i)];
      index.push_back(p.index);
      for (int k = 0; k < 3; ++k) x.push_back(p.x[k] + 1e-3 * (k - 1)), v.push_back(0.5 - p.v[k]);
    }
  }
  const double* position(std::size_t i) const { return x.data() + 3 * i; }
  const double* velocity(std::size_t i) const { return v.data() + 3 * i; }
  IParticles block() const {
    return {std::ssize(index),
            index.data(),
            reinterpret_cast<const double(*)[3]>(x.data()),
            reinterpret_cast<const double(*)[3]>(v.data()),
            epsilon2,
            radius2.data()};
  }
};

class ClusterPhysics : public DeviceTest {
 protected:
  Cluster cluster(Precision precision, bool self_neighbour = false) const {
    ClusterOptions options;
    options.precision = precision;
    options.self_neighbour = self_neighbour;
    return Cluster(device(), options);
  }

  /// The block against the reference. Mixed precision sums 256 sources in fp32: as many roundings of up to 2^-25 of the
  /// sum, a random walk of 16 steps' length, 5e-7; here twice that.
  static void expect_right(Cluster& cluster, const std::vector<NaiveParticle>& particles, double ti,
                           const Asking& asking, Precision precision) {
    const double tolerance = precision == Precision::mixed ? 1e-6 : 1e-13;
    const std::size_t step = asking.index.size() < 100 ? 1 : 37;
    for (std::size_t i = 0; i < asking.index.size(); i += step) {
      const auto right =
          naive_force(particles, ti, asking.index[i], asking.position(i), asking.velocity(i), asking.epsilon2);
      const auto k = static_cast<std::int64_t>(i);
      const auto a = cluster.acceleration(k), j = cluster.jerk(k);
      const double got_a[3] = {a.x, a.y, a.z}, got_j[3] = {j.x, j.y, j.z};
      for (int axis = 0; axis < 3; ++axis) {
        ASSERT_NEAR(got_a[axis], static_cast<double>(right.a[axis]), tolerance * static_cast<double>(right.a_size))
            << i;
        ASSERT_NEAR(got_j[axis], static_cast<double>(right.j[axis]), tolerance * static_cast<double>(right.j_size))
            << i;
      }
      ASSERT_NEAR(cluster.potential(k), static_cast<double>(right.potential),
                  tolerance * static_cast<double>(-right.potential))
          << i;
    }
  }
};

TEST_P(ClusterPhysics, ForcesAreThoseOfTheNaiveSumSoftenedAndNot) {
  const auto particles = naive_particles(1500, 1);
  for (const auto precision : {Precision::mixed, Precision::double_})
    for (const double eps2 : {0.0, 1.0 / 65536})
      for (const int count : {1, 31, 48, 700}) {
        auto one = cluster(precision);
        send(one, particles);
        one.set_time(0.125);
        const Asking asking(particles, 100, count, eps2, 0);
        one.start(std::ssize(particles), asking.block());
        one.finish(false);
        expect_right(one, particles, 0.125, asking, precision);
      }
}

TEST_P(ClusterPhysics, ManyTargetsAreAnsweredAsWell) {
  const auto particles = naive_particles(4000, 2);
  auto one = cluster(Precision::mixed);
  send(one, particles);
  const Asking asking(particles, 0, 4000, 1e-4, 0);
  one.start(std::ssize(particles), asking.block());
  one.finish(true);
  expect_right(one, particles, 0, asking, Precision::mixed);
}

/// Each order of the predictor by itself: a wrong power or factor of dt is an error of order one here.
TEST_P(ClusterPhysics, EveryOrderOfThePredictorCounts) {
  for (int order = 1; order <= 4; ++order) {
    const auto particles = naive_particles(200, 3, order);
    auto one = cluster(Precision::double_);
    send(one, particles);
    for (const double ti : {0.0, 0.75, -0.25}) {
      one.set_time(ti);
      const Asking asking(particles, 0, 16, 0.01, 0);
      one.start(std::ssize(particles), asking.block());
      one.finish(false);
      expect_right(one, particles, ti, asking, Precision::double_);
    }
  }
}

TEST_P(ClusterPhysics, OnlyAddressesBelowNjAct) {
  const auto particles = naive_particles(600, 4);
  auto one = cluster(Precision::double_);
  send(one, particles);
  const Asking asking(particles, 0, 40, 0, 0);
  for (const int nj : {600, 20, 599, 1, 0}) {
    one.start(nj, asking.block());
    one.finish(true);
    expect_right(one, {particles.begin(), particles.begin() + nj}, 0, asking, Precision::double_);
  }
}

TEST_P(ClusterPhysics, TheNearestNeighbourIsKnownByItsIndex) {
  auto particles = naive_particles(3000, 5);
  for (auto& p : particles) p.index = 2'000'000'000 - 7 * p.index;  // far above 2^24, where floats have gaps
  particles[17].index = -5;
  for (const auto precision : {Precision::mixed, Precision::double_})
    for (const int count : {3, 64, 3000}) {
      auto one = cluster(precision);
      send(one, particles);
      const Asking asking(particles, 0, count, 0.01, 0);
      for (int repeat = 0; repeat < 2; ++repeat) {  // the second block starts the search with the forces
        one.start(std::ssize(particles), asking.block());
        one.finish(true);
        for (std::size_t i = 0; i < asking.index.size(); i += count < 100 ? 1 : 37) {
          const auto right =
              naive_force(particles, 0, asking.index[i], asking.position(i), asking.velocity(i), asking.epsilon2);
          ASSERT_EQ(one.nearest(static_cast<std::int64_t>(i)), right.nearest) << i;
          ASSERT_NEAR(one.nearest_distance(static_cast<std::int64_t>(i)),
                      static_cast<double>(std::sqrt(right.nearest2)), 1e-6);
        }
      }
    }
}

TEST_P(ClusterPhysics, NeighbourListsHoldWhatIsWithinTheRadiusOfEach) {
  const auto particles = naive_particles(2000, 6);
  for (const bool self : {false, true})
    for (const auto precision : {Precision::mixed, Precision::double_}) {
      auto one = cluster(precision, self);
      send(one, particles);
      Asking asking(particles, 50, 60, 0.01, 0);
      for (std::size_t i = 0; i < asking.radius2.size(); ++i) asking.radius2[i] = 2e-5 * static_cast<double>(i * i);
      one.start(std::ssize(particles), asking.block());
      one.finish(true);
      ASSERT_TRUE(one.read_neighbour_lists());
      ASSERT_TRUE(one.neighbours(0).empty());
      std::size_t found = 0;
      for (std::size_t i = 0; i < asking.index.size(); ++i) {
        const auto right = naive_force(particles, 0, asking.index[i], asking.position(i), asking.velocity(i), 0,
                                       asking.radius2[i], self);
        const auto list = one.neighbours(static_cast<std::int64_t>(i));
        ASSERT_EQ(std::vector<int>(list.begin(), list.end()), right.neighbours) << i;
        found += right.neighbours.size();
      }
      ASSERT_GT(found, 1000u);
    }
}

TEST_P(ClusterPhysics, ListsThatAreTooLongAreReportedAndEmpty) {
  const auto particles = naive_particles(300, 7);
  ClusterOptions options;
  options.most_neighbours = 1000;
  Cluster one(device(), options);
  send(one, particles);
  const Asking wide(particles, 0, 10, 0, 100.0), narrow(particles, 0, 10, 0, 0.001);
  one.start(300, wide.block());
  one.finish(true);
  EXPECT_FALSE(one.read_neighbour_lists());
  EXPECT_TRUE(one.neighbours(3).empty());
  one.start(300, narrow.block());
  one.finish(true);
  EXPECT_TRUE(one.read_neighbour_lists());
}

TEST_P(ClusterPhysics, AllParticlesWithTheIndexOfTheAskingOneAreLeftOut) {
  auto particles = naive_particles(700, 8);
  for (const std::size_t j : {3u, 4u, 5u, 300u, 699u}) particles[j].index = 3;
  for (const std::size_t j : {10u, 20u}) particles[j].index = 10;
  auto one = cluster(Precision::double_);
  send(one, particles);
  const Asking asking(particles, 0, 30, 0, 0.05);
  one.start(700, asking.block());
  one.finish(false);
  expect_right(one, particles, 0, asking, Precision::double_);
  one.finish(true);
  ASSERT_TRUE(one.read_neighbour_lists());
  expect_right(one, particles, 0, asking, Precision::double_);
  for (std::size_t i = 0; i < asking.index.size(); ++i) {
    const auto right = naive_force(particles, 0, asking.index[i], asking.position(i), asking.velocity(i), 0, 0.05);
    ASSERT_EQ(one.nearest(static_cast<std::int64_t>(i)), right.nearest) << i;
    const auto list = one.neighbours(static_cast<std::int64_t>(i));
    ASSERT_EQ(std::vector<int>(list.begin(), list.end()), right.neighbours) << i;
  }
  // With the repeated ones beyond nj, or overwritten, they are particles like all others.
  one.start(200, asking.block());
  one.finish(false);
  expect_right(one, {particles.begin(), particles.begin() + 200}, 0, asking, Precision::double_);
  for (const std::size_t j : {4u, 5u, 20u, 300u, 699u})
    particles[j].index = 5000 + static_cast<int>(j), one.set_j_particle(static_cast<int>(j), j_particle(particles[j]));
  one.start(700, asking.block());
  one.finish(false);
  expect_right(one, particles, 0, asking, Precision::double_);
}

TEST_P(ClusterPhysics, AddressesThatWereNeverSetDoNotAct) {
  const auto all = naive_particles(40, 9);
  std::vector<NaiveParticle> set;
  for (const auto precision : {Precision::mixed, Precision::double_}) {
    set.clear();
    auto one = cluster(precision);
    for (std::size_t j = 0; j < all.size(); j += 3) {
      one.set_j_particle(static_cast<std::int64_t>(j), j_particle(all[j]));
      set.push_back(all[j]);
    }
    const Asking asking(all, 0, 12, 0, 1e12);
    EXPECT_THROW(one.start(41, asking.block()), Error);  // beyond the last that was set
    one.start(40, asking.block());
    one.finish(true);
    expect_right(one, set, 0, asking, precision);
    ASSERT_TRUE(one.read_neighbour_lists());
    for (std::size_t i = 0; i < asking.index.size(); ++i) {
      const auto right = naive_force(set, 0, asking.index[i], asking.position(i), asking.velocity(i), 0, 1e12);
      ASSERT_EQ(one.nearest(static_cast<std::int64_t>(i)), right.nearest);
      ASSERT_EQ(one.neighbours(static_cast<std::int64_t>(i)).size(), std::ssize(right.neighbours));
    }
  }
}

TEST_P(ClusterPhysics, WhatIsSetAfterTheStartCountsForTheNextBlock) {
  const auto before = naive_particles(500, 10);
  auto after = naive_particles(500, 11);
  for (auto& p : after) p.index += 100'000;
  auto one = cluster(Precision::double_);
  send(one, before);
  one.set_time(0.1);
  const Asking asking(before, 0, 20, 0, 0.02), asking_later(after, 0, 20, 0, 0.02);
  one.start(500, asking.block());
  send(one, after);
  one.set_time(0.2);
  one.finish(true);
  ASSERT_TRUE(one.read_neighbour_lists());
  expect_right(one, before, 0.1, asking, Precision::double_);
  for (std::size_t i = 0; i < asking.index.size(); ++i) {
    const auto right = naive_force(before, 0.1, asking.index[i], asking.position(i), asking.velocity(i), 0, 0.02);
    ASSERT_EQ(one.nearest(static_cast<std::int64_t>(i)), right.nearest);
    const auto list = one.neighbours(static_cast<std::int64_t>(i));
    ASSERT_EQ(std::vector<int>(list.begin(), list.end()), right.neighbours);
  }
  one.start(500, asking.block());  // never finished
  one.start(500, asking_later.block());
  one.finish(false);
  one.finish(false);
  expect_right(one, after, 0.2, asking_later, Precision::double_);
}

TEST_P(ClusterPhysics, AFewParticlesThatChangeAreSentAgain) {
  auto particles = naive_particles(20000, 12);
  const auto other = naive_particles(20000, 13);
  auto one = cluster(Precision::double_);
  send(one, particles);
  const Asking asking(particles, 0, 8, 0, 0);
  one.start(20000, asking.block());
  one.finish(false);
  for (const std::size_t j : {0u, 17u, 255u, 256u, 19999u}) {
    const int index = particles[j].index;
    particles[j] = other[j];
    particles[j].index = index;
    one.set_j_particle(static_cast<std::int64_t>(j), j_particle(other[19999 - j]));
    one.set_j_particle(static_cast<std::int64_t>(j), j_particle(particles[j]));  // the last one counts
  }
  one.start(20000, asking.block());
  one.finish(false);
  expect_right(one, particles, 0, asking, Precision::double_);
}

TEST_P(ClusterPhysics, TwoClustersDoNotMix) {
  const auto first = naive_particles(900, 14), second = naive_particles(800, 15);
  auto one = cluster(Precision::double_), two = cluster(Precision::double_);
  send(one, first);
  send(two, second);
  one.set_time(0.3);
  two.set_time(-0.1);
  const Asking asking(first, 0, 33, 0, 0), asking_two(second, 5, 50, 0.1, 0);
  one.start(900, asking.block());
  two.start(800, asking_two.block());
  two.finish(false);
  one.finish(false);
  expect_right(one, first, 0.3, asking, Precision::double_);
  expect_right(two, second, -0.1, asking_two, Precision::double_);
}

TEST_P(ClusterPhysics, ParticlesInOnePlaceWithoutSofteningAreAnErrorThatNamesThem) {
  auto particles = naive_particles(100, 16, 0);
  std::copy_n(particles[40].x, 3, particles[60].x);
  auto one = cluster(Precision::mixed);
  send(one, particles);
  Asking asking(particles, 40, 1, 0, 0);
  std::copy_n(particles[40].x, 3, asking.x.data());
  one.start(100, asking.block());
  one.finish(false);
  try {
    one.require_finite();
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("index 40"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("index 60"), std::string::npos) << error.what();
  }
}

TEST_P(ClusterPhysics, AJParticleCanBeLookedAt) {
  const auto particles = naive_particles(5, 17);
  auto one = cluster(Precision::mixed);
  send(one, particles);
  EXPECT_EQ(one.j_particle(3).x.y, particles[3].x[1]);
  const Asking asking(particles, 0, 1, 0, 0);
  one.start(5, asking.block());
  one.finish(false);
  EXPECT_EQ(one.j_particle(3).snap.z, 18 * particles[3].k18[2]);
  EXPECT_THROW(one.j_particle(5), Error);
  EXPECT_THROW(one.set_j_particle(-1, {}), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, ClusterPhysics, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola::g6

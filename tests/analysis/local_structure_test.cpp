#include "analysis/local_structure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "domain/slabs_by_count.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

Particles scattered_points(std::int64_t n, double side) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(11, 0, i);
    p.id[i] = i;
    p.mass[i] = 1 + random.uniform();
    p.x[i] = side * random.uniform(), p.y[i] = side * random.uniform(), p.z[i] = side * random.uniform();
    p.vx[i] = random.uniform(), p.vy[i] = random.uniform(), p.vz[i] = random.uniform();
  }
  return p;
}

/// Reference: distances to all others, sorted.
double distance_by_force(const Particles& p, std::size_t i, int neighbours, double periodic_side) {
  const auto axis = [&](double d) { return periodic_side > 0 ? d - periodic_side * std::round(d / periodic_side) : d; };
  std::vector<double> all;
  for (std::size_t j = 0; j < p.id.size(); ++j)
    if (j != i) all.push_back(std::hypot(axis(p.x[j] - p.x[i]), axis(p.y[j] - p.y[i]), axis(p.z[j] - p.z[i])));
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(neighbours) - 1];
}

TEST(LocalStructure, FindsTheNeighboursThatATestOfAllFinds) {
  const double side = 3;
  const Particles p = scattered_points(600, side);
  const Box open, periodic{{0, 0, 0}, {side, side, side}, Boundary::periodic};
  const LocalStructure in_open = local_structure(p, open, 20, 2), in_box = local_structure(p, periodic, 20, 2);
  bool edge_matters = false;
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    EXPECT_NEAR(in_open.length[i], distance_by_force(p, i, 20, 0), 1e-12);
    EXPECT_NEAR(in_box.length[i], distance_by_force(p, i, 20, side), 1e-12);
    edge_matters = edge_matters || in_box.length[i] < 0.9 * in_open.length[i];
  }
  EXPECT_TRUE(edge_matters);
}

TEST(LocalStructure, IsTheSameOnAnyNumberOfThreads) {
  const Particles p = scattered_points(5000, 1);
  const LocalStructure one = local_structure(p, Box{}, 32, 1), three = local_structure(p, Box{}, 32, 3);
  EXPECT_EQ(one.length, three.length);
  EXPECT_EQ(one.density, three.density);
  EXPECT_EQ(one.dispersion, three.dispersion);
}

/// Particles anywhere, and a lattice, where many are equally far; of several ranks each has every so many of them.
TEST(LocalStructure, IsTheSameOnAnyNumberOfRanks) {
  Particles lattice = scattered_points(512, 1);
  for (std::size_t i = 0; i < 512; ++i) {
    lattice.id[i] = 511 - i;
    lattice.x[i] = 0.125 * static_cast<double>(i % 8), lattice.y[i] = 0.125 * static_cast<double>(i / 8 % 8);
    lattice.z[i] = 0.125 * static_cast<double>(i / 64);
  }
  for (const Particles& all : {scattered_points(400, 1), lattice, scattered_points(5, 1)})
    for (const Box& box : {Box{}, Box{{0, 0, 0}, {1, 1, 1}, Boundary::periodic}}) {
      const LocalStructure one = local_structure(all, box, 20, 1);
      for (const int ranks : {2, 7})
        run_on_thread_ranks(ranks, [&](Communicator& communicator) {
          Particles own;
          for (std::size_t i = 0; i < all.id.size(); ++i) {
            if (static_cast<int>(i) % ranks != communicator.rank()) continue;
            own.id.push_back(all.id[i]), own.species.push_back(all.species[i]), own.mass.push_back(all.mass[i]);
            own.x.push_back(all.x[i]), own.y.push_back(all.y[i]), own.z.push_back(all.z[i]);
            own.vx.push_back(all.vx[i]), own.vy.push_back(all.vy[i]), own.vz.push_back(all.vz[i]);
          }
          for (const bool slabs : {false, true}) {
            if (slabs) own = in_slabs_by_count(communicator, std::move(own), 1);
            const LocalStructure found = local_structure(own, box, 20, 1, communicator);
            for (std::size_t k = 0; k < own.id.size(); ++k) {
              const auto i =
                  static_cast<std::size_t>(std::find(all.id.begin(), all.id.end(), own.id[k]) - all.id.begin());
              EXPECT_EQ(found.length[k], one.length[i]);
              EXPECT_EQ(found.density[k], one.density[i]);
              EXPECT_EQ(found.dispersion[k], one.dispersion[i]);
            }
          }
        });
    }
}

TEST(LocalStructure, DensityOfRandomPointsIsTheirMeanAndDispersionThatOfTheirVelocities) {
  const Particles p = scattered_points(4000, 1);
  const LocalStructure found = local_structure(p, {{0, 0, 0}, {1, 1, 1}, Boundary::periodic}, 64, 2);
  double inverse = 0, square = 0;
  for (std::size_t i = 0; i < p.id.size(); ++i)
    inverse += 1 / found.density[i], square += found.dispersion[i] * found.dispersion[i];
  // 1.5 per particle; Poisson: the mean of 1/density is that of the volume, k/(k) of them. Uniform velocities have a
  // variance of 1/12, of 65 about their own mean 64/65 of it.
  EXPECT_NEAR(4000 * 1.5 * inverse / 4000, 1, 0.03);
  EXPECT_NEAR(square / 4000, 64.0 / 65 / 12, 0.0015);
}

TEST(LocalStructure, OneParticleHasNothingNearIt) {
  EXPECT_EQ(local_structure(scattered_points(1, 1), Box{}, 32, 1).length, std::vector<double>{0});
}

}  // namespace
}  // namespace pergola

// Maps of particles that are spread over ranks. The reference is one rank, which has them all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "particles/particle_source.hpp"
#include "picture/projection.hpp"

namespace pergola {
namespace {

/// A clump in a sea, with masses of many sizes, so that sums of them as reals would be rounded.
Particles sea(std::int64_t n) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(21, 0, i);
    const double width = i % 3 == 0 ? 0.05 : 1;
    p.x[i] = width * (random.uniform() - 0.5), p.y[i] = width * (random.uniform() - 0.5);
    p.z[i] = width * (random.uniform() - 0.5);
    p.mass[i] = std::exp(5 * random.uniform());
  }
  return p;
}

Particles part_of(const Particles& all, const Communicator& ranks) {
  const Shares shares{all.size(), ranks.size()};
  Particles part;
  HostParticles(all).read(shares.first(ranks.rank()), shares.count(ranks.rank()), part);
  return part;
}

bool same_spots(const std::vector<Spot>& a, const std::vector<Spot>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Spot& one, const Spot& other) {
    return one.x == other.x && one.y == other.y && one.mass == other.mass;
  });
}

void expect_map_of_one_rank(const Particles& all, const ProjectionOptions& options, const std::vector<int>& counts) {
  const Projection one = project(all, options);
  for (const int count : counts)
    run_on_thread_ranks(count, [&](Communicator& ranks) {
      const Projection map = project(part_of(all, ranks), options, ranks);
      EXPECT_EQ(map.density, one.density) << count << " ranks";
      EXPECT_TRUE(same_spots(map.spots, one.spots)) << count << " ranks";
      EXPECT_EQ(map.shown, one.shown);
      EXPECT_EQ(map.particles, one.particles);
    });
}

TEST(DistributedProjection, IsThatOfOneRank) {
  const Particles all = sea(3000);
  expect_map_of_one_rank(all, {SightLine::z, {{0.1, 0, 0}, 0.8}, 64, 1}, {1, 2, 3, 4, 7, 64});
  expect_map_of_one_rank(all, {SightLine::x, {{0.4, 0.4, 0.4}, 1}, 64, 1, 1}, {2, 3, 7});
  expect_map_of_one_rank(sea(5), {SightLine::y, {{0, 0, 0}, 2}, 64, 1}, {7});
}

TEST(DistributedProjection, OfMasslessAndOfManyParticlesIsThatOfOneRank) {
  Particles all = sea(70000);  // too many for spots
  expect_map_of_one_rank(all, {SightLine::z, {{0, 0, 0}, 2}, 32, 1}, {3});
  ASSERT_TRUE(project(all, {SightLine::z, {{0, 0, 0}, 2}, 32, 1}).spots.empty());
  all = sea(200);
  std::fill(all.mass.begin(), all.mass.end(), 0.0);
  expect_map_of_one_rank(all, {SightLine::z, {{0, 0, 0}, 1}, 32, 1}, {3});
}

TEST(DistributedProjection, DoesNotDependOnTheOrderOfTheParticles) {
  const Particles all = sea(2000);
  Particles turned = all;
  for (auto* values : {&turned.x, &turned.y, &turned.z, &turned.mass}) std::reverse(values->begin(), values->end());
  const ProjectionOptions options{SightLine::z, {{0, 0, 0}, 1}, 64, 1};
  EXPECT_EQ(project(all, options).density, project(turned, options).density);
}

// Reference: medians by sorting all.
TEST(DistributedFrame, IsThatOfOneRank) {
  for (const std::int64_t n : {1, 5, 16, 17, 1000}) {
    const Particles all = sea(n);
    const Frame one = automatic_frame(all, SightLine::y);
    auto sorted = all.x;
    std::sort(sorted.begin(), sorted.end());
    if (n >= 17) {
      EXPECT_EQ(one.center.x, sorted[static_cast<std::size_t>(0.5 * static_cast<double>(n - 1))]);
    }
    for (const int count : {2, 3, 7})
      run_on_thread_ranks(count, [&](Communicator& ranks) {
        const Frame frame = automatic_frame(part_of(all, ranks), SightLine::y, ranks);
        EXPECT_EQ(frame.width, one.width) << n << " on " << count;
        EXPECT_EQ(frame.center.x, one.center.x);
        EXPECT_EQ(frame.center.y, one.center.y);
        EXPECT_EQ(frame.center.z, one.center.z);
      });
  }
}

TEST(DistributedProjection, OfNothingIsRefusedByAll) {
  run_on_thread_ranks(3, [&](Communicator& ranks) {
    EXPECT_THROW(project(Particles{}, {SightLine::z, {{0, 0, 0}, 1}, 32, 1}, ranks), Error);
  });
}

}  // namespace
}  // namespace pergola

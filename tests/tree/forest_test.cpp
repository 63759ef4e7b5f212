#include "tree/forest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/philox.hpp"
#include "marks.hpp"
#include "particles/box.hpp"

namespace pergola::tree {
namespace {

PERGOLA_MARK(threads, "*");

constexpr std::int64_t many = std::int64_t{1} << 40;

Forest forest_in(const Vec3<double>& period, double cut_off, std::int64_t n = many) {
  const TreeSoftening same;
  return find_forest({period, cut_off}, n, same, 1);
}

// Reference: pairs that are drawn within the cut-off radius, of particles that have moved as far out of their roots as
// they may.
TEST(Forest, PairsWithinTheCutOffAreOfNeighbours) {
  for (const auto& [period, cut_off] : {std::pair<Vec3<double>, double>{{1, 1, 1}, 0.02},
                                        {{1, 1, 1}, 0.099},
                                        {{1, 1, 1}, 0.3},
                                        {{1, 0.65, 0.45}, 0.06},
                                        {{0.5, 1, 0.25}, 0.1},
                                        {{0.3, 0.26, 1}, 0.05}}) {
    const Forest forest = forest_in(period, cut_off);
    ASSERT_GT(forest.level, 0);
    const double sides[3] = {period.x, period.y, period.z};
    Philox random(3, 0, 0);
    for (int axis = 0; axis < 3; ++axis) {
      const auto along = roots_along(forest, sides[axis]);
      const auto index = [&](double x) {
        return static_cast<std::uint16_t>(wrap(x, 0.0, sides[axis]) / forest.side());
      };
      const auto moved = [&] { return forest.slack() * (2 * random.uniform() - 1); };
      for (int k = 0; k < 2000; ++k) {
        const double now = sides[axis] * random.uniform(), other = now + cut_off * (2 * random.uniform() - 1);
        const std::uint16_t i = index(now + moved()), j = index(other + moved());
        const RootsAlong& around = along[i];
        EXPECT_EQ(std::count(around.index, around.index + around.count, j), 1)
            << i << " and " << j << " of a period of " << sides[axis] << ", cut-off " << cut_off;
      }
    }
  }
}

TEST(Forest, RootsOfACubeHaveThoseNextToThem) {
  const Forest forest = forest_in({1, 1, 1}, 0.09);
  ASSERT_EQ(forest.level, 3);
  const auto along = roots_along(forest, 1);
  for (std::uint16_t i = 0; i < 8; ++i) {
    ASSERT_EQ(along[i].count, 3u);
    for (const int step : {-1, 0, 1})
      EXPECT_EQ(std::count(along[i].index, along[i].index + 3, (i + 8 + step) % 8), 1) << i;
  }
}

TEST(Forest, IsOneTreeWhereRootsWouldBeSmallOrFewParticlesAreThere) {
  EXPECT_EQ(forest_in({1, 1, 1}, 0.45).level, 0);
  EXPECT_EQ(forest_in({1, 1, 1}, 0.01, 8 * static_cast<std::int64_t>(root_particles) - 1).level, 0);
  EXPECT_EQ(forest_in({1, 1, 1}, 0.01, 8 * static_cast<std::int64_t>(root_particles)).level, 1);
  TreeSoftening different;
  different.uniform = false, different.apart = 0.2;
  EXPECT_EQ(find_forest({{1, 1, 1}, 0.01}, many, different, 1).level, softening_level(1, 0.2));
}

TEST(Forest, RootsOfVeryManyParticlesAreSmallerThanRootBlocks) {
  constexpr auto fewest = static_cast<std::int64_t>(root_particles) << 24;
  EXPECT_EQ(forest_in({1, 1, 1}, 0.001, fewest - 1).level, 7);
  EXPECT_EQ(forest_in({1, 1, 1}, 0.0032).level, 7);  // 1.22 cut-off radii wide they would be
  const Forest seven = forest_in({1, 1, 1}, 0.001, fewest - 1), eight = forest_in({1, 1, 1}, 0.001, fewest);
  EXPECT_EQ(eight.level, 8);
  EXPECT_EQ(seven.root_blocks(), seven.places());
  EXPECT_EQ(8 * eight.root_blocks(), eight.places());
  // The plot of a root is the root of level 7 that it is in.
  const auto at = [](const Forest& forest, const Vec3<double>& unit) {
    return upper_key(unit) >> 3 * (key_levels - forest.level);
  };
  Philox random(5, 0, 0);
  for (int k = 0; k < 100; ++k) {
    const Vec3<double> unit{random.uniform(), random.uniform(), random.uniform()};
    EXPECT_EQ(at(eight, unit) >> eight.root_block_shift(), at(seven, unit));
  }
}

TEST(Forest, PlacesAreHeadsOfKeys) {
  const std::uint32_t x = 93, y = 217, z = 126;
  const auto place = static_cast<std::uint32_t>(interleave(x, y, z));
  EXPECT_EQ(root_index(place, 0), x);
  EXPECT_EQ(root_index(place, 1), y);
  EXPECT_EQ(root_index(place, 2), z);
}

}  // namespace
}  // namespace pergola::tree

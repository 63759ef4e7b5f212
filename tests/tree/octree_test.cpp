#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "marks.hpp"
#include "tree/keys.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/shape.hpp"
#include "tree/tree_case.hpp"

namespace pergola::tree {
namespace {

PERGOLA_MARK(threads, "*");

class OctreeCells : public testing::Test {
 protected:
  struct Built {
    Frame frame;
    std::vector<std::uint32_t> order, parent, level_begin;
    std::vector<CellLink> link;
  };
  static Built build(const ClumpOfParticles& p) {
    const double length = 1e-3;
    OctreeCpu<double> tree(Device::open("cpu", 2));
    tree.build(p.points(), {.epsilon = &length}, 4, false);
    const Cells& cells = tree.cells();
    return {tree.frame(), {tree.order(), tree.order() + p.size()}, cells.parent, cells.level_begin, cells.link};
  }
};

TEST_F(OctreeCells, FrameHoldsTheParticles) {
  const ClumpOfParticles p(3000);
  const Frame frame = build(p).frame;
  const auto [low_x, high_x] = std::minmax_element(p.x.begin(), p.x.end());
  const auto [low_y, high_y] = std::minmax_element(p.y.begin(), p.y.end());
  const auto [low_z, high_z] = std::minmax_element(p.z.begin(), p.z.end());
  EXPECT_EQ(frame.corner.x, *low_x);
  EXPECT_EQ(frame.corner.y, *low_y);
  EXPECT_EQ(frame.corner.z, *low_z);
  EXPECT_EQ(frame.side, std::max({*high_x - *low_x, *high_y - *low_y, *high_z - *low_z}));
  EXPECT_NEAR(frame.mass, std::accumulate(p.mass.begin(), p.mass.end(), 0.0), 1e-13);
}

TEST_F(OctreeCells, EveryParticleIsInOneLeaf) {
  ClumpOfParticles p(3000);
  for (std::size_t k = 0; k < 200; ++k) p.x[3 * k] = p.y[3 * k] = p.z[3 * k] = 0.5;  // more than a leaf in one place
  const Built tree = build(p);
  auto order = tree.order;
  std::sort(order.begin(), order.end());
  for (std::uint32_t k = 0; k < order.size(); ++k) ASSERT_EQ(order[k], k);
  EXPECT_EQ(tree.link[0].first, 0u);
  EXPECT_EQ(tree.link[0].count, 3000u);
  std::vector<int> leaves(3000, 0);
  for (std::uint32_t cell = 0; cell < tree.link.size(); ++cell) {
    const CellLink& link = tree.link[cell];
    EXPECT_EQ(link.count > leaf_capacity, link.children > 0);
    if (link.children == 0)
      for (std::uint32_t k = link.first; k < link.first + link.count; ++k) ++leaves[k];
    std::uint32_t next = link.first;
    for (std::uint32_t c = link.child; c < link.child + link.children; ++c) {
      EXPECT_EQ(tree.parent[c], cell);
      EXPECT_EQ(tree.link[c].first, next);
      EXPECT_GT(tree.link[c].count, 0u);
      next += tree.link[c].count;
    }
    if (link.children > 0) {
      EXPECT_GE(link.children, 2u);
      EXPECT_EQ(next, link.first + link.count);
    }
  }
  EXPECT_EQ(std::count(leaves.begin(), leaves.end(), 1), 3000);
}

// Children of a cell are the octants of the smallest cube of the keys that holds the cell's particles.
TEST_F(OctreeCells, ChildrenAreOctants) {
  const ClumpOfParticles p(3000);
  const Built tree = build(p);
  std::vector<std::uint64_t> key;
  for (const std::uint32_t i : tree.order)
    key.push_back(
        upper_key({(p.x[i] - tree.frame.corner.x) / tree.frame.side, (p.y[i] - tree.frame.corner.y) / tree.frame.side,
                   (p.z[i] - tree.frame.corner.z) / tree.frame.side}));
  EXPECT_TRUE(std::is_sorted(key.begin(), key.end()));
  for (const CellLink& link : tree.link) {
    if (link.children == 0) continue;
    int shift = 3 * (key_levels - 1);  // of the first digit in which the cell's particles differ
    while (key[link.first] >> shift == key[link.first + link.count - 1] >> shift) shift -= 3;
    std::uint64_t before = 0;
    for (std::uint32_t c = link.child; c < link.child + link.children; ++c) {
      const CellLink& child = tree.link[c];
      const std::uint64_t octant = key[child.first] >> shift;
      EXPECT_EQ(key[child.first + child.count - 1] >> shift, octant);
      EXPECT_TRUE(c == link.child || octant > before);
      before = octant;
    }
  }
}

TEST_F(OctreeCells, ParentsAreOneLevelAbove) {
  const Built tree = build(ClumpOfParticles(3000));
  const auto& begin = tree.level_begin;
  ASSERT_GE(begin.size(), 4u);
  EXPECT_EQ(begin[0], 0u);
  EXPECT_EQ(begin[1], 1u);
  EXPECT_EQ(begin.back(), tree.link.size());
  for (std::size_t level = 1; level + 1 < begin.size(); ++level)
    for (std::uint32_t cell = begin[level]; cell < begin[level + 1]; ++cell) {
      EXPECT_GE(tree.parent[cell], begin[level - 1]);
      EXPECT_LT(tree.parent[cell], begin[level]);
    }
}

/// A particle of a cell, from the cell's centre.
struct Placed {
  double x, y, z, mass;
  double distance() const { return std::sqrt(x * x + y * y + z * z); }
};

/// A tree on the CPU and its particles in its order and units.
template <class T>
struct OctreeOnCpu {
  OctreeOnCpu(const ClumpOfParticles& p, int order, const TreeSoftening& softening,
              const std::uint8_t* species = nullptr)
      : tree(Device::open("cpu", 1)), source(p) {
    auto points = p.points();
    points.species = species;
    tree.build(points, softening, order, false);
  }
  std::vector<Placed> particles(std::uint32_t cell) const {
    const TreeView<T> view = tree.view();
    const CellShape& s = view.shape[cell];
    const Frame& f = tree.frame();
    std::vector<Placed> all;
    for (std::uint32_t k = view.link[cell].first; k < view.link[cell].first + view.link[cell].count; ++k) {
      const std::uint32_t i = tree.order()[k];
      all.push_back({(source.x[i] - f.corner.x) / f.side - s.x, (source.y[i] - f.corner.y) / f.side - s.y,
                     (source.z[i] - f.corner.z) / f.side - s.z, source.mass[i] / f.mass});
    }
    return all;
  }
  OctreeCpu<T> tree;
  const ClumpOfParticles& source;
};

constexpr double one_length[6] = {0.01, 0.01, 0.01, 0.01, 0.01, 0.01};
constexpr TreeSoftening same_length{one_length, true, SofteningKernel::plummer, 0};

/// M_n = Σ m (−d/s)^n / n!, term by term.
std::vector<double> multipoles_by_sum(const std::vector<Placed>& particles, double scale, int order) {
  std::vector<double> sum(static_cast<std::size_t>(physics::expansion_terms(order)), 0.0);
  for (const Placed& p : particles) {
    double power[3][highest_order + 1];  // (−d/s)^n / n! by axis
    for (int n = 0; n <= order; ++n)
      for (int axis = 0; axis < 3; ++axis) {
        const double d = axis == 0 ? p.x : axis == 1 ? p.y : p.z;
        power[axis][n] = n == 0 ? 1 : power[axis][n - 1] * (-d / scale) / n;
      }
    for (std::size_t term = 0; term < sum.size(); ++term) {
      const physics::MultiIndex n = physics::index_of(static_cast<int>(term));
      sum[term] += p.mass * power[0][n.i] * power[1][n.j] * power[2][n.k];
    }
  }
  return sum;
}

template <class T>
void expect_multipoles_are_sums(double tolerance) {
  const ClumpOfParticles p(800);
  for (int order = lowest_order; order <= highest_order; ++order) {
    const OctreeOnCpu<T> built(p, order, same_length);
    const TreeView<T> view = built.tree.view();
    int parents = 0;
    for (std::uint32_t cell = 0; cell < built.tree.cells().size(); ++cell) {
      parents += view.link[cell].children > 0;
      const auto expected = multipoles_by_sum(built.particles(cell), static_cast<double>(view.scale[cell]), order);
      const T* const found = view.multipole + std::int64_t{cell} * multipole_stride(order);
      for (std::size_t term = 0; term < expected.size(); ++term)
        EXPECT_NEAR(static_cast<double>(found[term]), expected[term], tolerance * view.shape[cell].mass)
            << "order " << order << ", cell " << cell << ", term " << term;
    }
    EXPECT_GT(parents, 3);
  }
}

// Reference: the sum over the cell's particles, of leaves and of parents, whose children are shifted. Rounding errors
// are a few units of the last place of the mass.
TEST(Moments, AreSumsOverTheParticles) {
  expect_multipoles_are_sums<double>(1e-13);
  expect_multipoles_are_sums<float>(2e-6);
}

TEST(Moments, CentresAndMassesAreThoseOfTheParticles) {
  const ClumpOfParticles p(800);
  const OctreeOnCpu<double> built(p, 4, same_length);
  for (std::uint32_t cell = 0; cell < built.tree.cells().size(); ++cell) {
    double mass = 0, x = 0, y = 0, z = 0;
    for (const Placed& of : built.particles(cell))
      mass += of.mass, x += of.mass * of.x, y += of.mass * of.y, z += of.mass * of.z;
    const CellShape& s = built.tree.view().shape[cell];
    EXPECT_NEAR(s.mass, mass, 1e-14);
    for (const double off : {x, y, z}) EXPECT_NEAR(off / mass, 0, 1e-14) << cell;
    EXPECT_DOUBLE_EQ(s.epsilon2, std::pow(0.01 / built.tree.frame().side, 2));
    EXPECT_EQ(s.mixed, 0);
  }
}

// The radius of a leaf is that of its particles; a parent's is at least that, and at most twice that.
TEST(Moments, RadiiHoldTheParticles) {
  const ClumpOfParticles p(800);
  const OctreeOnCpu<double> built(p, 4, same_length);
  const TreeView<double> view = built.tree.view();
  for (std::uint32_t cell = 0; cell < built.tree.cells().size(); ++cell) {
    double farthest = 0;
    for (const Placed& of : built.particles(cell)) farthest = std::max(farthest, of.distance());
    const double r = view.shape[cell].r;
    if (view.link[cell].children == 0) {
      EXPECT_NEAR(r, farthest, 1e-15);
    } else {
      EXPECT_GE(r, farthest * (1 - 1e-14));
    }
    EXPECT_LE(r, 2 * farthest + 1e-15);
    EXPECT_EQ(view.scale[cell], std::max(r, smallest_scale));
  }
}

// ρ^p = <d²> r^(p − 2), which is at least <d^p>.
TEST(Moments, AverageRadiusBoundsTheMoment) {
  const ClumpOfParticles p(800);
  for (int order = lowest_order; order <= highest_order; ++order) {
    const OctreeOnCpu<double> built(p, order, same_length);
    for (std::uint32_t cell = 0; cell < built.tree.cells().size(); ++cell) {
      const CellShape& s = built.tree.view().shape[cell];
      double second = 0, all = 0;
      for (const Placed& of : built.particles(cell))
        second += of.mass * of.distance() * of.distance(), all += of.mass * std::pow(of.distance(), order);
      EXPECT_NEAR(std::pow(s.rho, order) * s.mass, second * std::pow(s.r, order - 2),
                  1e-12 * s.mass * std::pow(s.r, order))
          << "order " << order << ", cell " << cell;
      EXPECT_GE(std::pow(s.rho, order) * s.mass, all * (1 - 1e-12));
    }
  }
}

TEST(Moments, CellsKnowTheLargestOfTheirSofteningLengths) {
  const ClumpOfParticles p(800);
  std::vector<std::uint8_t> species(p.mass.size());
  for (std::size_t k = 0; k < species.size(); ++k) species[k] = p.x[k] > 0.7 ? 1 : p.y[k] > 0.9 ? 2 : 0;
  const double lengths[6] = {0.01, 0.03, 0.002, 0.01, 0.01, 0.01};
  const OctreeOnCpu<double> built(p, 3, {lengths, false, SofteningKernel::plummer, 0.05}, species.data());
  const TreeView<double> view = built.tree.view();
  int mixed = 0;
  for (std::uint32_t cell = 0; cell < built.tree.cells().size(); ++cell) {
    double largest = 0, smallest = 1;
    for (std::uint32_t k = view.link[cell].first; k < view.link[cell].first + view.link[cell].count; ++k) {
      const double length = lengths[species[built.tree.order()[k]]];
      largest = std::max(largest, length), smallest = std::min(smallest, length);
    }
    EXPECT_DOUBLE_EQ(view.shape[cell].epsilon2, std::pow(largest / built.tree.frame().side, 2));
    EXPECT_EQ(view.shape[cell].mixed, largest > smallest ? 1 : 0);
    mixed += largest > smallest;
  }
  EXPECT_GT(mixed, 3);
}

// Refreshed cells have the moments of where their particles are now.
TEST(Moments, FollowTheParticles) {
  ClumpOfParticles p(800);
  OctreeOnCpu<double> built(p, 5, same_length);
  for (std::size_t k = 0; k < p.x.size(); ++k) p.x[k] += 0.002 * std::sin(40 * p.y[k]), p.z[k] -= 0.001 * p.x[k];
  ASSERT_TRUE(built.tree.refresh(p.points(), same_length, 5));
  const TreeView<double> view = built.tree.view();
  for (std::uint32_t cell = 0; cell < built.tree.cells().size(); ++cell) {
    const auto expected = multipoles_by_sum(built.particles(cell), view.scale[cell], 5);
    for (std::size_t term = 0; term < expected.size(); ++term)
      EXPECT_NEAR(view.multipole[std::int64_t{cell} * multipole_stride(5) + static_cast<std::int64_t>(term)],
                  expected[term], 1e-13 * view.shape[cell].mass)
          << "cell " << cell << ", term " << term;
  }
}

}  // namespace
}  // namespace pergola::tree

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "gravity/tree.hpp"
#include "marks.hpp"
#include "tree/spread_octree.hpp"
#include "tree/walk.hpp"

namespace pergola::tree {
namespace {

PERGOLA_MARK(threads, "*");
PERGOLA_MARK(heavy, "*DistributedWork.TheSecondTreeIsCutByTheWorkOfTheFirst*");

/// Half of them anywhere in a cube, half in a clump, where particles have more near ones.
struct Clustered {
  explicit Clustered(std::int64_t n) : mass(static_cast<std::size_t>(n), 1.0 / static_cast<double>(n)) {
    for (std::size_t k = 0; k < mass.size(); ++k) {
      Philox random(5, 0, k);
      for (auto* axis : {&x, &y, &z}) {
        const double u = random.uniform(), v = u - 0.5;
        axis->push_back(k % 2 == 0 ? u : 0.3 + v * v * v);
      }
    }
  }
  Points<double> points() const {
    Points<double> all;
    all.count = size();
    all.x = x.data(), all.y = y.data(), all.z = z.data(), all.mass = mass.data();
    return all;
  }
  /// Those at these places.
  Clustered of(const std::vector<std::int64_t>& places) const {
    Clustered some(0);
    for (const std::int64_t place : places) {
      const auto k = static_cast<std::size_t>(place);
      some.x.push_back(x[k]), some.y.push_back(y[k]), some.z.push_back(z[k]), some.mass.push_back(mass[k]);
    }
    return some;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(mass.size()); }
  std::vector<double> x, y, z, mass;
};

using Fields = std::vector<std::array<double, 4>>;

struct Output {
  const std::uint32_t* order;
  Fields* fields;
  static void put(void* context, std::uint32_t place, const double (&field)[4]) {
    const auto& out = *static_cast<Output*>(context);
    std::copy_n(field, 4, (*out.fields)[out.order[place]].begin());
  }
};

const Softening softening = Softening::same(1e-3);
const Opening opening = tree_opening({}, softening);

void walk_all(const OctreeCpu<double>& tree, const ActiveSet& active, const Sink& sink) {
  const auto view = tree.view();
  for (const auto& task : begin_walk(view, OpenSpace(), opening, active, 512, sink))
    walk(view, OpenSpace(), opening, active, task, sink);
}

struct Evaluation {
  std::vector<std::int64_t> work;  // by rank
  Fields fields;                   // in the order of the input
};

/// Evaluations of the same particles, each with a tree of its own; asks(k): whether the particle asks.
template <class Asks>
std::vector<Evaluation> evaluate(const Clustered& particles, int ranks, int times, const Asks& asks) {
  std::vector<Evaluation> all(static_cast<std::size_t>(times));
  for (Evaluation& one : all)
    one.work.resize(static_cast<std::size_t>(ranks)), one.fields.resize(static_cast<std::size_t>(particles.size()));
  const Shares shares{particles.size(), ranks};
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    DistributedOctree<double> tree(Device::open("cpu", 1),
                                   std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
    std::vector<std::int64_t> here(static_cast<std::size_t>(shares.count(communicator.rank())));
    std::iota(here.begin(), here.end(), shares.first(communicator.rank()));
    for (Evaluation& one : all) {
      const TreeSoftening soft = tree_softening(softening, opening);
      here = tree.divide(particles.of(here).points(), soft, nullptr).there(here.data());
      std::sort(here.begin(), here.end());
      const Clustered own = particles.of(here);
      tree.build(own.points(), soft, opening.order, true);
      std::vector<std::uint8_t> marks;
      for (const std::int64_t k : here) marks.push_back(asks(k) ? 1 : 0);
      const ActiveSet active = tree.asking(marks);
      tree.fetch_for_walk(OpenSpace(), opening, active);
      Fields found(here.size());
      Output out{tree.order(), &found};
      walk_all(tree, active, tree.counting({&out, &Output::put}));
      for (std::size_t k = 0; k < here.size(); ++k) one.fields[static_cast<std::size_t>(here[k])] = found[k];
      one.work[static_cast<std::size_t>(communicator.rank())] = tree.work();
    }
  });
  return all;
}

/// Of the busiest rank over the mean.
double imbalance(const std::vector<std::int64_t>& work) {
  const auto most = static_cast<double>(*std::max_element(work.begin(), work.end()));
  return most * static_cast<double>(work.size()) /
         static_cast<double>(std::accumulate(work.begin(), work.end(), std::int64_t{0}));
}

// Reference: one rank, bit by bit; and that even shares are those with a ratio of 1.
TEST(DistributedWork, TheSecondTreeIsCutByTheWorkOfTheFirst) {
  const Clustered particles(30000);
  const auto several = evaluate(particles, 16, 3, [](std::int64_t) { return true; });
  EXPECT_GT(imbalance(several[0].work), 1.15);
  EXPECT_LT(imbalance(several[1].work), 1.05);
  EXPECT_EQ(several[2].work, several[1].work);  // the same counts give the same cuts
  OctreeCpu<double> one(Device::open("cpu", 1));
  one.build(particles.points(), tree_softening(softening, opening), opening.order, true);
  Fields fields(several[0].fields.size());
  Output out{one.order(), &fields};
  walk_all(one, {}, {&out, &Output::put});
  for (const Evaluation& evaluation : several) EXPECT_TRUE(evaluation.fields == fields);
}

TEST(DistributedWork, OnlyThoseWhoAskAreCounted) {
  const Clustered particles(20000);
  const auto asks = [&](std::int64_t k) { return particles.x[static_cast<std::size_t>(k)] > 0.6; };
  const auto several = evaluate(particles, 8, 2, asks);
  EXPECT_GT(imbalance(several[0].work), 1.5);
  EXPECT_LT(imbalance(several[1].work), 1.2);
  EXPECT_TRUE(several[1].fields == several[0].fields);
}

// Reference: n particles of one leaf are n² pairs, and n for each that asks.
TEST(DistributedWork, PairsAreThoseOfTheLists) {
  const Clustered particles(leaf_capacity);
  OctreeCpu<double> tree(Device::open("cpu", 1));
  tree.build(particles.points(), tree_softening(softening, opening), opening.order, true);
  Fields fields(leaf_capacity);
  Output out{tree.order(), &fields};
  std::vector<std::uint64_t> work(tree.cells().size());
  walk_all(tree, {}, {&out, &Output::put, work.data(), {.pair = 1}});
  EXPECT_EQ(work, std::vector<std::uint64_t>{leaf_capacity * leaf_capacity});
  std::vector<std::uint8_t> some(leaf_capacity), cell(1, 1);
  some[3] = some[7] = 1;
  walk_all(tree, {some.data(), cell.data()}, {&out, &Output::put, work.data(), {.pair = 1}});
  EXPECT_EQ(work, std::vector<std::uint64_t>{leaf_capacity * leaf_capacity + 2 * leaf_capacity});
}

}  // namespace
}  // namespace pergola::tree

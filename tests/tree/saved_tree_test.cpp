#include "tree/saved_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "comm/shares.hpp"
#include "comm/thread_ranks.hpp"
#include "device/buffer.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/spread_state.hpp"
#include "models/model.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

constexpr std::int64_t n = 3000;

/// A tree in a checkpoint, made by the solver, and taken up by another one after a change.
class SavedTree : public DeviceTest {
 protected:
  static SolverOptions options() {
    SolverOptions o;
    o.solver = "tree";
    o.softening = Softening::same(0.02);
    return o;
  }
  StateBlocks saved() const {
    const auto solver = make_solver<double>(options(), device(1));
    return saved_by(*solver, 0, n);
  }
  /// By a solver that has made forces of particles first … first + count − 1.
  StateBlocks saved_by(Solver<double>& solver, std::int64_t first, std::int64_t count) const {
    ModelOptions model;
    model.n = n;
    const auto p = make_model("plummer", model);
    const auto d = device(1);
    const auto own = [&](const std::vector<double>& all) {
      return Buffer<double>(d, std::vector<double>(all.begin() + first, all.begin() + first + count));
    };
    const Buffer<double> x = own(p.x), y = own(p.y), z = own(p.z), mass = own(p.mass);
    const Buffer<std::uint64_t> id(d, std::vector<std::uint64_t>(p.id.begin() + first, p.id.begin() + first + count));
    Buffer<double> ax(d, count), ay(d, count), az(d, count);
    Sources<double> sources;
    sources.count = count;
    sources.x = x.data(), sources.y = y.data(), sources.z = z.data(), sources.mass = mass.data(),
    sources.id = id.data();
    Forces<double> forces;
    forces.ax = ax.data(), forces.ay = ay.data(), forces.az = az.data();
    solver.prepare(sources);
    solver.evaluate({nullptr, count, n, 0}, want_acceleration, forces);
    StateBlocks blocks;
    solver.save(blocks);
    return blocks;
  }
  /// use(communicator, solver) on each of so many ranks.
  template <class Use>
  void on_ranks(int number, const Use& use) const {
    run_on_thread_ranks(number, [&](Communicator& communicator) {
      const std::shared_ptr<Communicator> ranks(&communicator, [](Communicator*) {});
      const auto solver = make_spread_solver<double>(options(), device(1), ranks);
      use(communicator, *solver);
    });
  }
  template <class T>
  static void change(StateBlocks& blocks, const char* name, const std::function<void(std::vector<T>&)>& how) {
    auto values = blocks.get<T>(name, blocks.blocks().at(name).size() / sizeof(T));
    how(values);
    blocks.put(name, values);
  }
  /// By one process, and by all ranks of several on CPUs, each of which reads a part of it.
  void expect_refused(const StateBlocks& blocks, const char* block) const {
    const auto expect = [&](AnySolver& solver) {
      try {
        solver.restore(blocks, n);
        FAIL() << block << " was taken";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_NE(std::string(error.what()).find(block), std::string::npos) << error.what();
      }
    };
    expect(*make_solver(options(), device(1)));
    if (GetParam() == "cpu") on_ranks(3, [&](Communicator&, Solver<double>& solver) { expect(solver); });
  }
};

TEST_P(SavedTree, IsTakenAsItWasSaved) { EXPECT_TRUE(make_solver(options(), device(1))->restore(saved(), n)); }

// A checkpoint of a run on many ranks is that of one process, byte for byte, and no rank has more of it than its share.
TEST_P(SavedTree, OfRanksIsThatOfOneAndEachHasItsShare) {
  if (GetParam() != "cpu") GTEST_SKIP() << "on GPUs rank 0 gathers it";
  const auto one = saved();
  for (const int number : {2, 7, 64}) {
    StateBlocks all;
    on_ranks(number, [&](Communicator& communicator, Solver<double>& solver) {
      const Shares shares{n, number};
      const int rank = communicator.rank();
      const StateBlocks of_rank = saved_by(solver, shares.first(rank), shares.count(rank));
      StateSource own;
      dynamic_cast<SpreadSolverState&>(solver.plain()).save(own);
      std::int64_t spread = 0;
      for (const StateRange& range : own.ranges()) {
        if (range.total == 0) continue;
        EXPECT_EQ(range.count, (Shares{range.total, number}.count(rank))) << range.name;
        spread += range.total;
      }
      EXPECT_GT(spread, n);  // the order and the cells
      if (communicator.is_root()) all = of_rank;
    });
    EXPECT_EQ(all.blocks(), one.blocks()) << number << " ranks";
  }
}

// Checksums of a checkpoint say nothing about what a program wrote into it.
TEST_P(SavedTree, NumbersThatLeadOutOfTheTreeAreRefused) {
  using Numbers = std::vector<std::uint32_t>;
  using Links = std::vector<tree::CellLink>;
  const auto good = saved();
  const auto numbers = [&](const char* name, const std::function<void(Numbers&)>& how) {
    auto blocks = good;
    change<std::uint32_t>(blocks, name, how);
    expect_refused(blocks, name);
  };
  numbers("tree.order", [](Numbers& v) { v[17] = n; });
  numbers("tree.order", [](Numbers& v) { v[17] = v[18]; });
  numbers("tree.parent", [](Numbers& v) { v[3] = 0xffffffffu; });
  numbers("tree.level_begin", [](Numbers& v) { v[1] = 7; });
  numbers("tree.level_begin", [](Numbers& v) { v.back() += 1; });
  const auto links = [&](const std::function<void(Links&)>& how) {
    auto blocks = good;
    change<tree::CellLink>(blocks, "tree.link", how);
    expect_refused(blocks, "tree.");
  };
  links([](Links& v) { v[0].count = n + 1; });
  links([](Links& v) { v[0].child = 0; });
  links([](Links& v) { v[0].child = 0xffffffffu; });
  links([](Links& v) { v[0].children = 9; });
  links([](Links& v) { v[0].children = 0; });
  links([](Links& v) { v[1].first = 5; });
  links([](Links& v) {
    for (std::size_t k = 1; k < v.size(); ++k) v[k].children = 0;
  });
  links([](Links& v) { v.back().children = 1; });
  links([](Links& v) { v.back().count = 0xffffffffu; });
  const auto value = [&](const char* name, std::int64_t number) {
    auto blocks = good;
    blocks.put_value(name, number);
    expect_refused(blocks, "tree.");
  };
  for (const char* name : {"tree.cells", "tree.levels", "tree.accelerations"})
    for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{1} << 60, std::int64_t{1}}) value(name, number);
  auto blocks = good;
  auto frame = good.get_value<tree::Frame>("tree.frame");
  frame.side = 0;
  blocks.put_value("tree.frame", frame);
  expect_refused(blocks, "tree.frame");
  blocks = good;
  change<double>(blocks, "tree.acceleration", [](std::vector<double>& v) { v[5] = std::nan(""); });
  expect_refused(blocks, "tree.acceleration");
}

INSTANTIATE_TEST_SUITE_P(Devices, SavedTree, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

#include "tree/saved_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "device/buffer.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/spread_state.hpp"
#include "marks.hpp"
#include "models/model.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

constexpr std::int64_t n = 3000;

/// Counts what is read.
class CountedInput final : public StateInput {
 public:
  explicit CountedInput(StateInput& from) : from_(from) {}
  std::vector<std::string> names() const override { return from_.names(); }
  bool has(const std::string& name) const override { return from_.has(name); }
  std::uint64_t bytes(const std::string& name) const override { return from_.bytes(name); }
  void read(const std::string& name, std::uint64_t first, void* to, std::uint64_t bytes) override {
    from_.read(name, first, to, bytes);
    count_ += bytes;
  }
  std::uint64_t count() const { return count_; }

 private:
  StateInput& from_;
  std::uint64_t count_ = 0;
};

/// A tree in a checkpoint, made by the solver, and taken up by another one after a change.
class SavedTree : public DeviceTest {
 protected:
  static SolverOptions options() {
    SolverOptions o;
    o.solver = "tree";
    o.softening = Softening::same(0.02);
    return o;
  }
  /// In a box: on GPUs a forest of many roots, some of them empty.
  static SolverOptions in_box() {
    SolverOptions o;
    o.solver = "treepm";
    o.softening = Softening::same(0.002);
    o.softening.kernel = SofteningKernel::spline;
    o.tree.accuracy = 1e-2;
    o.own["treepm.cells"] = std::int64_t{32};
    o.own["treepm.split"] = 0.5, o.own["treepm.cut_off"] = 1.0, o.own["treepm.root_particles"] = 0.1;
    set_box(o, {{0, 0, 0}, {1, 1, 1}, Boundary::periodic});
    return o;
  }
  static Particles particles(std::int64_t count, bool box) {
    ModelOptions model;
    model.n = count;
    Particles p = make_model("plummer", model);
    if (box)
      for (std::size_t i = 0; i < p.x.size(); ++i)
        for (std::vector<double>* const axis : {&p.x, &p.y, &p.z})
          (*axis)[i] = wrap(0.5 + (i % 2 ? 0.3 : 0.03) * (*axis)[i], 0.0, 1.0);
    return p;
  }
  StateBlocks saved(const SolverOptions& by = options()) const {
    const auto solver = make_solver<double>(by, device(1));
    return saved_by(*solver, 0, n, by.solver == "treepm");
  }
  /// By a solver that has made forces of particles first … first + count − 1.
  StateBlocks saved_by(Solver<double>& solver, std::int64_t first, std::int64_t count, bool box = false) const {
    const Particles p = particles(n, box);
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
    sources.id = id.data(), sources.mass_quantum = 0x1p-44;
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
  void on_ranks(int number, const Use& use, const SolverOptions& by = options()) const {
    run_on_thread_ranks(number, [&](Communicator& communicator) {
      const std::shared_ptr<Communicator> ranks(&communicator, [](Communicator*) {});
      const auto solver = make_distributed_solver<double>(by, device(1), ranks);
      use(communicator, *solver);
    });
  }
  template <class T>
  static void change(StateBlocks& blocks, const char* name, const std::function<void(std::vector<T>&)>& how) {
    auto values = blocks.get<T>(name, blocks.blocks().at(name).size() / sizeof(T));
    how(values);
    blocks.put(name, values);
  }
  /// By one process, and by all ranks of several, each of which reads a part of it.
  void expect_refused(const StateBlocks& blocks, const char* block, const SolverOptions& by = options()) const {
    const auto expect = [&](AnySolver& solver) {
      try {
        solver.restore(blocks, n);
        FAIL() << block << " was taken";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_NE(std::string(error.what()).find(block), std::string::npos) << error.what();
      }
    };
    expect(*make_solver(by, device(1)));
    on_ranks(
        3, [&](Communicator&, Solver<double>& solver) { expect(solver); }, by);
  }
};

TEST_P(SavedTree, IsTakenAsItWasSaved) { EXPECT_TRUE(make_solver(options(), device(1))->restore(saved(), n)); }

// A checkpoint of a run on many ranks is that of one process, byte for byte, and no rank has more of it than its share.
TEST_P(SavedTree, OfRanksIsThatOfOneAndEachHasItsShare) {
  for (const SolverOptions& by : {options(), in_box()}) {
    const bool box = by.solver == "treepm";
    const auto one = saved(by);
    EXPECT_EQ(one.blocks().contains("tree.root"), box && GetParam() == "cuda");
    for (const int number : GetParam() == "cuda" ? std::vector{2, 4, 7} : std::vector{2, 7, 64}) {
      StateBlocks all;
      on_ranks(
          number,
          [&](Communicator& communicator, Solver<double>& solver) {
            const Shares shares{n, number};
            const int rank = communicator.rank();
            const StateBlocks of_rank = saved_by(solver, shares.first(rank), shares.count(rank), box);
            StateSource own;
            dynamic_cast<DistributedSolverState&>(solver.plain()).save(own);
            std::int64_t spread = 0;
            std::uint64_t of_each = 0;  // bytes that all ranks have
            for (const StateRange& range : own.ranges()) {
              if (range.total == 0) of_each += range.bytes();
              if (range.total == 0) continue;
              EXPECT_EQ(range.count, (Shares{range.total, number}.count(rank))) << range.name;
              spread += range.total;
            }
            EXPECT_GT(spread, n);  // the order and the cells
            EXPECT_LT(of_each, 512);
            if (communicator.is_root()) all = of_rank;
          },
          by);
      EXPECT_EQ(all.blocks(), one.blocks()) << by.solver << ", " << number << " ranks";
    }
  }
}

// Nor has it more when it takes one up: what it reads is its share, the top of all, and roots around its own.
TEST_P(SavedTree, OfManyParticlesIsReadInShares) {
  constexpr std::int64_t many = 200000;
  constexpr int number = 4;
  const Particles p = particles(many, false);
  const auto d = device(1);
  const Buffer<double> x(d, p.x), y(d, p.y), z(d, p.z), mass(d, p.mass);
  const Buffer<std::uint64_t> id(d, p.id);
  Sources<double> sources;
  sources.count = many;
  sources.x = x.data(), sources.y = y.data(), sources.z = z.data(), sources.mass = mass.data(), sources.id = id.data();
  const auto solver = make_solver<double>(options(), d);
  solver->prepare(sources);
  StateBlocks blocks;
  solver->save(blocks);
  std::uint64_t all = 0;
  for (const auto& [name, bytes] : blocks.blocks()) all += bytes.size();
  on_ranks(number, [&](Communicator& communicator, Solver<double>& of_rank) {
    BlocksInput from(blocks);
    CountedInput counted(from);
    EXPECT_TRUE(dynamic_cast<DistributedSolverState&>(of_rank.plain()).restore(counted, many));
    EXPECT_LT(counted.count(), all / number * 13 / 10) << "rank " << communicator.rank();
  });
}

// Of a forest as of a tree; roots have their own numbers.
TEST_P(SavedTree, NumbersThatLeadOutOfABoxAreRefused) {
  const SolverOptions by = in_box();
  const auto good = saved(by);
  const auto refused = [&](const char* name, std::size_t at, std::uint32_t number) {
    auto blocks = good;
    change<std::uint32_t>(blocks, name, [&](auto& v) { v[at] = number; });
    expect_refused(blocks, "tree.", by);
  };
  refused("tree.order", 17, n);
  refused("tree.order", 17, good.get<std::uint32_t>("tree.order", n)[18]);
  refused("tree.parent", 0, 1);
  refused("tree.level_begin", 1, 7);
  refused("tree.link", 0, 1);  // the first particle of a root
  refused("tree.link", 1, 0);  // and how many it has
  auto blocks = good;
  change<double>(blocks, "tree.centre", [](auto& v) { v[3] = std::nan(""); });
  expect_refused(blocks, "tree.centre", by);
  if (!good.blocks().contains("tree.root")) return;
  refused("tree.root", 1, 0);
  refused("tree.root", 2, 0xffffffffu);
  for (const std::int64_t level : {0, 9}) {
    blocks = good;
    blocks.put_value("tree.root_level", level);
    expect_refused(blocks, "tree.root_level", by);
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

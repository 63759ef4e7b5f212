#include "tree/saved_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "device/buffer.hpp"
#include "gravity/solver.hpp"
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
    ModelOptions model;
    model.n = n;
    const auto p = make_model("plummer", model);
    const auto d = device(1);
    const Buffer<double> x(d, p.x), y(d, p.y), z(d, p.z), mass(d, p.mass);
    Buffer<double> ax(d, n), ay(d, n), az(d, n);
    Sources<double> sources;
    sources.count = n;
    sources.x = x.data(), sources.y = y.data(), sources.z = z.data(), sources.mass = mass.data();
    Forces<double> forces;
    forces.ax = ax.data(), forces.ay = ay.data(), forces.az = az.data();
    const auto solver = make_solver<double>(options(), d);
    solver->prepare(sources);
    solver->evaluate({nullptr, n, n, 0}, want_acceleration, forces);
    StateBlocks blocks;
    solver->save(blocks);
    return blocks;
  }
  template <class T>
  static void change(StateBlocks& blocks, const char* name, const std::function<void(std::vector<T>&)>& how) {
    auto values = blocks.get<T>(name, blocks.blocks().at(name).size() / sizeof(T));
    how(values);
    blocks.put(name, values);
  }
  void expect_refused(const StateBlocks& blocks, const char* block) const {
    try {
      make_solver(options(), device(1))->restore(blocks, n);
      FAIL() << block << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find(block), std::string::npos) << error.what();
    }
  }
};

TEST_P(SavedTree, IsTakenAsItWasSaved) { EXPECT_TRUE(make_solver(options(), device(1))->restore(saved(), n)); }

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

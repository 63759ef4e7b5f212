#include "tree/kept_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "../gravity/owned_particles.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "device/buffer.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
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
class KeptTrees : public DeviceTest {
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
  /// The arrays of particles first … first + count − 1.
  struct Arrays {
    Arrays(const Device& d, const Particles& p, std::int64_t first, std::int64_t count) {
      const auto own = [&](const std::vector<double>& all) {
        return Buffer<double>(d, std::vector<double>(all.begin() + first, all.begin() + first + count));
      };
      x = own(p.x), y = own(p.y), z = own(p.z), mass = own(p.mass);
      id = Buffer<std::uint64_t>(d, std::vector<std::uint64_t>(p.id.begin() + first, p.id.begin() + first + count));
    }
    Sources<double> sources() const {
      Sources<double> all;
      all.count = x.size();
      all.x = x.data(), all.y = y.data(), all.z = z.data(), all.mass = mass.data(), all.id = id.data();
      all.mass_quantum = 0x1p-44;
      return all;
    }
    Buffer<double> x, y, z, mass;
    Buffer<std::uint64_t> id;
  };
  StateBlocks saved(const SolverOptions& by = options()) const {
    const Device on = device(1);
    const auto solver = make_solver<double>(by, on);
    OwnedParticles<double> own(on, *solver, nullptr);
    find_forces(own, 0, n, by.solver == "treepm");
    return own.saved();
  }
  /// Of particles first … first + count − 1.
  void find_forces(OwnedParticles<double>& own, std::int64_t first, std::int64_t count, bool box) const {
    const Arrays arrays(own.device(), particles(n, box), first, count);
    own.prepare(arrays.sources());
    own.evaluate(nullptr, want_acceleration);
  }
  /// use(communicator, particles) on each of so many ranks.
  template <class Use>
  void on_ranks(int number, const Use& use, const SolverOptions& by = options()) const {
    run_on_thread_ranks(number, [&](Communicator& communicator) {
      const std::shared_ptr<Communicator> ranks(&communicator, [](Communicator*) {});
      const Device on = device(1);
      const auto solver = make_dividing_solver<double>(by, on, ranks);
      OwnedParticles<double> own(on, *solver, ranks);
      use(communicator, own);
    });
  }
  template <class T>
  static void change(StateBlocks& blocks, const char* name, const std::function<void(std::vector<T>&)>& how) {
    auto values = blocks.get<T>(name, blocks.blocks().at(name).size() / sizeof(T));
    how(values);
    blocks.put(name, values);
  }
  /// By one process; and by all ranks of several, where each reads it.
  void expect_refused(const StateBlocks& blocks, const char* block, const SolverOptions& by = options()) const {
    const auto expect = [&](OwnedParticles<double>& own) {
      try {
        BlocksInput from(blocks);
        own.restore(from);
        FAIL() << block << " was taken";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_NE(std::string(error.what()).find(block), std::string::npos) << error.what();
      }
    };
    const Device on = device(1);
    const auto solver = make_solver<double>(by, on);
    OwnedParticles<double> alone(on, *solver, nullptr);
    expect(alone);
    if (block != std::string("tree.upper_key") && block != std::string("tree.acceleration"))
      on_ranks(
          3, [&](Communicator&, OwnedParticles<double>& own) { expect(own); }, by);
  }
  bool is_taken(const SolverOptions& by, const StateBlocks& blocks) const {
    const Device on = device(1);
    const auto solver = make_solver<double>(by, on);
    OwnedParticles<double> own(on, *solver, nullptr);
    BlocksInput from(blocks);
    return own.restore(from);
  }
};

TEST_P(KeptTrees, IsTakenAsItWasSaved) {
  EXPECT_TRUE(is_taken(options(), saved()));
  EXPECT_FALSE(is_taken(options(), saved(in_box())));
}

// A checkpoint of a run on many ranks is that of one process, byte for byte, and no rank has more of it than its share.
TEST_P(KeptTrees, OfRanksIsThatOfOneAndEachHasItsShare) {
  for (const SolverOptions& by : {options(), in_box()}) {
    const bool box = by.solver == "treepm";
    const auto one = saved(by);
    EXPECT_EQ(one.get_value<std::int64_t>("tree.root_level") > 0, box && GetParam() == "cuda");
    for (const int number : GetParam() == "cuda" ? std::vector{2, 4, 7} : std::vector{2, 7, 64}) {
      StateBlocks all;
      on_ranks(
          number,
          [&](Communicator& communicator, OwnedParticles<double>& own) {
            const Shares shares{n, number};
            const int rank = communicator.rank();
            find_forces(own, shares.first(rank), shares.count(rank), box);
            StateSource source;
            own.kept.save(source), own.FieldList::save(source);
            std::uint64_t of_each = 0;  // bytes that all ranks have
            for (const StateRange& range : source.ranges()) {
              if (range.per_particle)
                EXPECT_EQ(range.count, shares.count(rank)) << range.name;
              else
                of_each += range.bytes();
            }
            EXPECT_LT(of_each, 128);
            const StateBlocks found = own.saved();
            if (communicator.is_root()) all = found;
          },
          by);
      EXPECT_EQ(all.blocks(), one.blocks()) << by.solver << ", " << number << " ranks";
    }
  }
}

TEST_P(KeptTrees, IsReadInShares) {
  const StateBlocks blocks = saved();
  std::uint64_t all = 0;
  for (const auto& [name, bytes] : blocks.blocks()) all += bytes.size();
  on_ranks(4, [&](Communicator& communicator, OwnedParticles<double>& own) {
    BlocksInput from(blocks);
    CountedInput counted(from);
    EXPECT_TRUE(own.restore(counted));
    EXPECT_LT(counted.count(), all / 4 + 128) << "rank " << communicator.rank();
  });
}

// Checksums of a checkpoint say nothing about what a program wrote into it.
TEST_P(KeptTrees, NumbersThatCannotBeAreRefused) {
  for (const SolverOptions& by : {options(), in_box()}) {
    const auto good = saved(by);
    const auto value = [&](const char* name, auto number) {
      auto blocks = good;
      blocks.put_value(name, number);
      expect_refused(blocks, name, by);
    };
    for (const char* name : {"tree.side", "tree.mass"})
      for (const double number : {0.0, -1.0, std::nan(""), HUGE_VAL}) value(name, number);
    for (const std::int64_t level : {-2, 21}) value("tree.digit_level", level);
    for (const std::int64_t level : {-1, 9}) value("tree.root_level", level);
    const auto one_of = [&](const char* name, std::size_t at, auto number) {
      auto blocks = good;
      change<decltype(number)>(blocks, name, [&](auto& v) { v[at] = number; });
      expect_refused(blocks, name, by);
    };
    one_of("tree.corner", 2, std::nan(""));
    one_of("tree.upper_key", n - 1, std::uint64_t{1} << 63);
    for (const double a : {-1.0, std::nan("")}) one_of("tree.acceleration", 5, a);
    for (const char* name : {"tree.upper_key", "tree.acceleration"}) {
      auto blocks = good;
      change<std::uint64_t>(blocks, name, [](auto& v) { v.pop_back(); });
      expect_refused(blocks, name, by);
    }
  }
}

// Reference: the direct sum. Whatever the keys, every particle is in one leaf; accuracy is that of the walk's opening.
TEST_P(KeptTrees, AnyKeysMakeATree) {
  const Particles p = particles(n, false);
  auto of_pairs = options();
  of_pairs.solver = "direct", of_pairs.precision = Precision::double_;
  const ForceResult exact =
      evaluate_forces(*make_solver(of_pairs, Device::open("cpu", 1)), Device::open("cpu", 1), p, want_acceleration);
  const std::uint64_t beyond = std::uint64_t{1} << 63;
  for (const int which : {0, 1, 2}) {
    auto blocks = saved();
    change<std::uint64_t>(blocks, "tree.upper_key", [&](auto& v) {
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = which == 0 ? 0 : which == 1 ? beyond - 1 - v[i] : i % 3 << 60;
    });
    blocks.put_value("tree.spread", std::int64_t{1} << 60);  // so that it is not built anew
    const auto d = device(1);
    const auto solver = make_solver<double>(options(), d);
    OwnedParticles<double> own(d, *solver, nullptr);
    BlocksInput from(blocks);
    ASSERT_TRUE(own.restore(from));
    const Arrays arrays(d, p, 0, n);
    own.update(arrays.sources());
    const auto [x, y, z, potential] = own.evaluate(nullptr, want_acceleration);
    std::vector<double> errors;
    for (std::size_t i = 0; i < x.size(); ++i)
      errors.push_back(std::hypot(x[i] - exact.ax[i], y[i] - exact.ay[i], z[i] - exact.az[i]) /
                       std::hypot(exact.ax[i], exact.ay[i], exact.az[i]));
    std::nth_element(errors.begin(), errors.begin() + n / 2, errors.end());
    EXPECT_LT(errors[n / 2], 2e-3) << which;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, KeptTrees, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

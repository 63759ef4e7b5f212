#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "device/buffer.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/tree.hpp"
#include "gravity/treepm.hpp"
#include "marks.hpp"
#include "owned_particles.hpp"
#include "particles/particles.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");
PERGOLA_MARK(heavy, "*DistributedTreePm.AnyPrecisionWillDo*");
PERGOLA_MARK(heavy, "*DistributedTreePm.HasTheForcesOfOneRankBitByBit*");
PERGOLA_MARK(heavy, "*DistributedTreePm.SofteningMayDifferBySpecies*");

// Reference: the solver of one rank on the same device, whose forces are compared bit by bit.

constexpr Box box{{-0.5, 0, 0.25}, {2, 2, 2}, Boundary::periodic};
constexpr unsigned all_answers = want_acceleration | want_potential;

/// Half of them in a clump across a corner of the box; they drift with time, also through its sides.
Particles drifting(std::int64_t n, double time) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    Philox random(7, 0, i);
    const double scale = i % 2 ? 2 : 0.2;
    const auto along = [&](double corner) {
      const double at = corner + scale * (random.uniform() - 0.5), velocity = 0.1 + 0.05 * random.uniform();
      return wrap(at + velocity * time, corner, 2.0);
    };
    p.x[i] = along(box.corner.x), p.y[i] = along(box.corner.y), p.z[i] = along(box.corner.z);
    p.mass[i] = (0.5 + random.uniform()) / static_cast<double>(n);
    p.species[i] = static_cast<std::uint8_t>(1 + i % 2);
    p.id[i] = i;
  }
  return p;
}

SolverOptions treepm(double accuracy = 1e-2) {
  SolverOptions o;
  o.solver = "treepm";
  o.gravitational_constant = 3;
  o.softening = Softening::same(0.002);
  o.tree.accuracy = accuracy;
  set_box(o, box);
  return o;
}

/// A rank's stretch of the particles on its device.
template <class Real>
struct Kept {
  Kept(const Device& device, const Particles& p, std::int64_t first, std::int64_t count)
      : x(device, part(p.x, first, count)),
        y(device, part(p.y, first, count)),
        z(device, part(p.z, first, count)),
        mass(device, part(p.mass, first, count)),
        species(device, stretch(p.species, first, count)),
        id(device, stretch(p.id, first, count)) {}
  template <class T>
  static std::vector<T> stretch(const std::vector<T>& all, std::int64_t first, std::int64_t count) {
    return {all.begin() + first, all.begin() + first + count};
  }
  static std::vector<Real> part(const std::vector<double>& all, std::int64_t first, std::int64_t count) {
    return {all.begin() + first, all.begin() + first + count};
  }
  Sources<Real> sources(double quantum) const {
    Sources<Real> s;
    s.count = x.size();
    s.x = x.data(), s.y = y.data(), s.z = z.data(), s.mass = mass.data();
    s.species = species.data(), s.id = id.data();
    s.mass_quantum = quantum;
    return s;
  }
  Buffer<Real> x, y, z, mass;
  Buffer<std::uint8_t> species;
  Buffer<std::uint64_t> id;
};

template <class Real>
using Answer = std::array<std::vector<Real>, 4>;

class DistributedTreePm : public DeviceTest {
 protected:
  /// At a time, and at two later ones: of all, of some, and of all again after the solver has served somebody else and
  /// after `resumed` ranks have gone on from what was saved.
  template <class Real>
  std::vector<Answer<Real>> answers(const SolverOptions& options, std::int64_t n, int ranks, int resumed) const {
    std::vector<Answer<Real>> all(4);
    StateBlocks saved;
    const auto with = [&](int number, const auto& use) {
      run_on_thread_ranks(std::max(number, 1), [&](Communicator& communicator) {
        const Device on = device(1);
        const Shares shares{n, std::max(number, 1)};
        const std::int64_t first = shares.first(communicator.rank()), count = shares.count(communicator.rank());
        const std::shared_ptr<Communicator> all_ranks =
            number == 0 ? nullptr : std::shared_ptr<Communicator>(&communicator, [](Communicator*) {});
        const auto solver =
            number == 0 ? make_solver<Real>(options, on) : make_dividing_solver<Real>(options, on, all_ranks);
        OwnedParticles<Real> own(on, *solver, all_ranks);
        // Forces on all particles, or on every `stride`-th one.
        const auto add = [&](int stride, unsigned want, Answer<Real>& to) {
          std::vector<std::int64_t> places;
          for (std::int64_t i = 0; i < count; ++i)
            if ((first + i) % stride == 0) places.push_back(i);
          const Answer<Real> found = own.evaluate(stride > 1 ? &places : nullptr, want);
          for (std::size_t f = 0; f < found.size(); ++f)
            if (auto gathered = gather_on_root(communicator, found[f]); communicator.is_root())
              to[f] = std::move(gathered);
        };
        const auto at = [&](double time) { return Kept<Real>(on, drifting(n, time), first, count); };
        use(communicator, *solver, own, add, at);
      });
    };
    constexpr double quantum = 0x1p-44;
    with(ranks, [&](Communicator& communicator, Solver<Real>& solver, OwnedParticles<Real>& own, const auto& add,
                    const auto& at) {
      const auto start = at(0), later = at(0.2), last = at(0.4);
      own.prepare(start.sources(quantum));
      add(1, all_answers, all[0]);
      own.renew(later.sources(quantum));
      add(7, want_acceleration, all[1]);
      StateBlocks blocks = own.saved();
      if (communicator.is_root()) saved = std::move(blocks);
      OwnedParticles<Real> others(own.device(), solver, ranks == 0 ? nullptr : own.ranks());
      others.prepare(last.sources(quantum));
      solver.give_back_memory();
      own.renew(last.sources(quantum));
      add(1, all_answers, all[2]);
    });
    with(resumed, [&](Communicator&, Solver<Real>&, OwnedParticles<Real>& own, const auto& add, const auto& at) {
      const auto last = at(0.4);
      BlocksInput from(saved);
      ASSERT_TRUE(own.restore(from));
      own.renew(last.sources(quantum));
      add(1, all_answers, all[3]);
    });
    return all;
  }

  template <class Real>
  void expect_bits_of_one_rank(const SolverOptions& options, std::int64_t n, const std::vector<int>& numbers) const {
    const auto one = answers<Real>(options, n, 0, 0);
    EXPECT_EQ(one[2], one[3]);
    EXPECT_NE(one[0], one[2]);
    for (const int ranks : numbers) {
      const auto several = answers<Real>(options, n, ranks, ranks == 2 ? 3 : 2);
      for (std::size_t k = 0; k < one.size(); ++k)
        for (std::size_t f = 0; f < 4; ++f)
          EXPECT_TRUE(several[k][f] == one[k][f]) << ranks << " ranks, answer " << k << ", field " << f;
    }
  }
};

TEST_P(DistributedTreePm, HasTheForcesOfOneRankBitByBit) {
  expect_bits_of_one_rank<double>(treepm(), 20000, {1, 2, 3, 4, 7});
}

TEST_P(DistributedTreePm, AnyPrecisionWillDo) {
  SolverOptions options = treepm();
  options.precision = Precision::single;
  expect_bits_of_one_rank<float>(options, 20000, {3});
  options.precision = Precision::double_;
  expect_bits_of_one_rank<double>(options, 10000, {2});
}

TEST_P(DistributedTreePm, SofteningMayDifferBySpecies) {
  SolverOptions options = treepm();
  options.softening.epsilon[2] = 0.004;
  expect_bits_of_one_rank<double>(options, 20000, {4});
}

// Trees beside the mesh and after it, as memory allows; by default the former where the test runs.
TEST_P(DistributedTreePm, MeshAndTreesMayFollowEachOther) {
  if (GetParam() != "cuda") GTEST_SKIP() << "ranks on GPUs";
  SolverOptions options = treepm();
  options.own["treepm.overlap"] = std::int64_t{2};
  expect_bits_of_one_rank<double>(options, 20000, {1, 2, 7});
  options.precision = Precision::single;
  expect_bits_of_one_rank<float>(options, 20000, {3});
  options.softening.epsilon[2] = 0.004;
  expect_bits_of_one_rank<float>(options, 20000, {4});
}

/// One root: all particles are on one rank, and the others have none.
TEST_P(DistributedTreePm, ParticlesMayBeFew) { expect_bits_of_one_rank<double>(treepm(), 500, {3}); }

/// As those of more than 10⁹ particles are. Reference of the forces: larger roots with a tenth of the tolerance.
TEST_P(DistributedTreePm, RootsMayBeSmallerThanTheRootBlocksOfRanks) {
  constexpr std::int64_t n = 20000;
  SolverOptions options = treepm();
  options.precision = Precision::single;
  options.softening.kernel = SofteningKernel::spline;  // Plummer's would want a longer cut-off
  options.own["treepm.cells"] = std::int64_t{336};
  options.own["treepm.split"] = 0.5, options.own["treepm.cut_off"] = 1.0;
  SolverOptions of_larger = options;
  of_larger.tree.accuracy = 0.1 * options.tree.accuracy;
  EXPECT_EQ(treepm_parameters(of_larger, n, box).cut_off, treepm_parameters(options, n, box).cut_off);
  options.own["treepm.root_particles"] = 1e-3;
  const TreePmParameters found = treepm_parameters(options, n, box);
  const tree::Forest forest = treepm_forest(found, n, tree_softening(options.softening, found.opening));
  ASSERT_GT(forest.level, forest.root_block_level());
  if (!device().is_cuda()) GTEST_SKIP() << "forests are of GPUs";
  const auto larger = answers<float>(of_larger, n, 0, 0).front();
  expect_bits_of_one_rank<float>(options, n, {1, 3});
  const auto smaller = answers<float>(options, n, 0, 0).front();
  double differences = 0, squares = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t i = 0; i < larger[axis].size(); ++i) {
      const double a = larger[axis][i], b = smaller[axis][i];
      differences += (a - b) * (a - b), squares += a * a;
    }
  EXPECT_LT(std::sqrt(differences / squares), options.tree.accuracy);
}

INSTANTIATE_TEST_SUITE_P(Devices, DistributedTreePm, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

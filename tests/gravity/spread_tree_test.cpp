#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "device/buffer.hpp"
#include "gravity/solver_entry.hpp"
#include "marks.hpp"
#include "owned_particles.hpp"
#include "particles/particles.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");
PERGOLA_MARK(heavy, "*DistributedTree.HasTheForcesOfOneRankBitByBit*");

/// A cluster of Plummer's density, cut at ten lengths; masses by `unequal`, species 1 and 2.
Particles cluster(std::int64_t n, bool unequal) {
  Particles particles;
  particles.resize(n);
  for (std::size_t k = 0; k < particles.id.size(); ++k) {
    Philox random(11, 0, k);
    const double r = std::min(10.0, 1 / std::sqrt(std::pow(random.uniform() + 1e-9, -2.0 / 3) - 1));
    const double z = 2 * random.uniform() - 1, phi = 2 * M_PI * random.uniform(), across = std::sqrt(1 - z * z);
    particles.x[k] = r * across * std::cos(phi), particles.y[k] = r * across * std::sin(phi), particles.z[k] = r * z;
    particles.mass[k] = (unequal ? 0.1 + random.uniform() : 0.3) / static_cast<double>(n);
    particles.species[k] = static_cast<std::uint8_t>(1 + k % 2);
  }
  return particles;
}

/// Counts what a rank sends to others; what ranks combine goes to one of them and from there to all.
class Counting final : public Communicator {
 public:
  explicit Counting(Communicator& of) : of_(of) {}
  int rank() const override { return of_.rank(); }
  int size() const override { return of_.size(); }
  void barrier() override { of_.barrier(); }
  void broadcast(void* data, std::size_t bytes, int root) override {
    if (root == rank()) add(bytes, size() - 1);
    of_.broadcast(data, bytes, root);
  }
  void all_gather_in_place(void* all, const std::vector<std::size_t>& piece_bytes) override {
    add(piece_bytes[static_cast<std::size_t>(rank())], size() - 1);
    of_.all_gather_in_place(all, piece_bytes);
  }
  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override {
    for (const Outgoing& message : out)
      if (message.rank != rank()) add(message.bytes, 1);
    of_.exchange(out, in);
  }
  void all_reduce(std::int64_t* values, std::size_t count, Reduction reduction) override {
    add(count * sizeof *values, 2);  // to the one who combines, and from him
    of_.all_reduce(values, count, reduction);
  }
  void all_reduce(double* values, std::size_t count, Reduction reduction) override {
    add(count * sizeof *values, 2);
    of_.all_reduce(values, count, reduction);
  }
  bool all_have_failed(double seconds) override { return of_.all_have_failed(seconds); }
  void abort(int code) override { of_.abort(code); }

  std::int64_t sent = 0;

 private:
  void add(std::size_t bytes, int times) { sent += static_cast<std::int64_t>(bytes) * times; }
  Communicator& of_;
};

template <class Real>
struct Answer {
  std::array<std::vector<Real>, 4> field;  // accelerations and potentials
  explicit Answer(std::int64_t n = 0) {
    for (auto& values : field) values.resize(static_cast<std::size_t>(n));
  }
};

/// Arrays of the particles on a device in the numbers of a precision.
template <class Real>
struct Arrays {
  Arrays(const Device& device, const Particles& of)
      : x(device, {of.x.begin(), of.x.end()}),
        y(device, {of.y.begin(), of.y.end()}),
        z(device, {of.z.begin(), of.z.end()}),
        mass(device, {of.mass.begin(), of.mass.end()}),
        species(device, of.species),
        id(device, of.id) {}
  Sources<Real> share(std::int64_t first, std::int64_t count, bool with_id) const {
    Sources<Real> sources;
    sources.count = count;
    if (count == 0) return sources;
    sources.x = x.data() + first, sources.y = y.data() + first, sources.z = z.data() + first;
    sources.mass = mass.data() + first, sources.species = species.data() + first;
    if (with_id) sources.id = id.data() + first;
    return sources;
  }
  Buffer<Real> x, y, z, mass;
  Buffer<std::uint8_t> species;
  Buffer<std::uint64_t> id;
};

constexpr unsigned all_answers = want_acceleration | want_potential;

/// The answers of the targets, which stand from `first` on among all; index on the host.
template <class Real>
void evaluate(Solver<Real>& solver, const Device& device, const std::vector<std::int64_t>* index, std::int64_t count,
              std::int64_t first, Answer<Real>& answer) {
  const Buffer<std::int64_t> places(device, index ? *index : std::vector<std::int64_t>());
  std::array<Buffer<Real>, 4> field;
  for (auto& values : field) values = Buffer<Real>(device, count);
  Forces<Real> forces;
  forces.ax = field[0].data(), forces.ay = field[1].data(), forces.az = field[2].data();
  forces.potential = field[3].data();
  solver.evaluate({index ? places.data() : nullptr, count, count}, all_answers, forces);
  for (std::size_t f = 0; f < field.size(); ++f) field[f].to_host(answer.field[f].data() + first);
}

template <class Real>
Answer<Real> on_one_rank(const std::string& spec, const SolverOptions& options, const Particles& particles,
                         bool with_id) {
  const Device device = Device::open(spec, 1);
  const Arrays<Real> arrays(device, particles);
  const auto n = particles.size();
  Answer<Real> answer(n);
  const auto solver = make_solver<Real>(options, device);
  solver->prepare(arrays.share(0, n, with_id));
  evaluate<Real>(*solver, device, nullptr, n, 0, answer);
  return answer;
}

template <class Real>
Answer<Real> on_ranks(const std::string& spec, int ranks, const SolverOptions& options, const Particles& particles,
                      bool with_id, std::int64_t* sent = nullptr) {
  const Shares shares{particles.size(), ranks};
  Answer<Real> answer(particles.size());
  std::mutex mutex;
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    Counting counting(communicator);
    const Device device = Device::open(spec, ranks == 3 ? 2 : 1);  // threads do not matter either
    const Arrays<Real> arrays(device, particles);
    const auto solver =
        make_distributed_solver<Real>(options, device, std::shared_ptr<Communicator>(&counting, [](Communicator*) {}));
    const std::int64_t first = shares.first(counting.rank()), count = shares.count(counting.rank());
    for (int time = 0; time < 2; ++time) {  // the second tree is cut by the work of the first
      counting.sent = 0;
      solver->prepare(arrays.share(first, count, with_id));
      evaluate<Real>(*solver, device, nullptr, count, first, answer);
    }
    const std::lock_guard lock(mutex);
    if (sent) *sent += counting.sent;
  });
  return answer;
}

SolverOptions tree_options(double softening, double accuracy) {
  SolverOptions options;
  options.solver = "tree";
  options.softening = Softening::same(softening);
  options.tree.accuracy = accuracy;
  return options;
}

template <class Real>
void expect_bits_of_one_rank(const std::string& spec, const SolverOptions& options, const Particles& particles,
                             const std::vector<int>& numbers, bool with_id = true) {
  const auto one = on_one_rank<Real>(spec, options, particles, with_id);
  for (const int ranks : numbers) {
    const auto several = on_ranks<Real>(spec, ranks, options, particles, with_id);
    for (std::size_t k = 0; k < one.field.size(); ++k)
      EXPECT_TRUE(several.field[k] == one.field[k])
          << ranks << " ranks, " << particles.size() << " particles, field " << k;
  }
}

class DistributedTree : public DeviceTest {};

TEST_P(DistributedTree, HasTheForcesOfOneRankBitByBit) {
  std::vector<int> numbers{1, 2, 3, 4, 7};
  if (GetParam() == "cpu") numbers.push_back(64);
  expect_bits_of_one_rank<double>(GetParam(), tree_options(0.01, 1e-3), cluster(6000, false), numbers);
}

TEST_P(DistributedTree, MassesMayDiffer) {
  expect_bits_of_one_rank<double>(GetParam(), tree_options(0.01, 1e-2), cluster(3000, true), {2, 7}, false);
}

TEST_P(DistributedTree, CellsMayBeOpenedByTheirAngle) {
  SolverOptions options = tree_options(0.01, 1e-3);
  options.tree.opening = TreeOptions::Opening::geometric;
  expect_bits_of_one_rank<double>(GetParam(), options, cluster(3000, true), {3, 5});
}

TEST_P(DistributedTree, AnyPrecisionWillDo) {
  SolverOptions options = tree_options(0.01, 1e-3);
  options.precision = Precision::single;
  expect_bits_of_one_rank<float>(GetParam(), options, cluster(3000, true), {4});
  options.precision = Precision::double_;
  options.tree.accuracy = 1e-4;
  expect_bits_of_one_rank<double>(GetParam(), options, cluster(2000, true), {3});
}

TEST_P(DistributedTree, SofteningMayDifferBySpeciesAndKernel) {
  SolverOptions options = tree_options(0.01, 1e-3);
  options.softening.epsilon[2] = 0.2;
  expect_bits_of_one_rank<double>(GetParam(), options, cluster(3000, true), {4, 7});
  options.softening.kernel = SofteningKernel::spline;
  expect_bits_of_one_rank<double>(GetParam(), options, cluster(3000, true), {2, 7});
}

TEST_P(DistributedTree, ParticlesMayLieInOnePlaceAndBeFewerThanRanks) {
  const SolverOptions options = tree_options(0.01, 1e-3);
  Particles particles = cluster(700, true);
  for (std::size_t k = 0; k < 400; ++k)
    particles.x[k] = 1 + 1e-9 * particles.x[k], particles.y[k] = 1e-9 * particles.y[k],
    particles.z[k] = 1e-9 * particles.z[k];
  for (std::size_t k = 0; k < 200; ++k) particles.x[k] = 2, particles.y[k] = particles.z[k] = 0;
  expect_bits_of_one_rank<double>(GetParam(), options, particles, {2, 5}, true);
  expect_bits_of_one_rank<double>(GetParam(), options, particles, {3}, false);
  expect_bits_of_one_rank<double>(GetParam(), options, cluster(5, true), {7});
  expect_bits_of_one_rank<double>(GetParam(), options, cluster(1, true), {3});
}

/// A box of side 1: particles anywhere, a clump about a corner, which is in eight parts, and some on the faces.
Particles clustered_box(std::int64_t n) {
  Particles particles = cluster(n, true);
  for (std::size_t k = 0; k < particles.id.size(); ++k) {
    Philox random(12, 0, k);
    for (double* x : {&particles.x[k], &particles.y[k], &particles.z[k]})
      *x = k % 2 == 0 ? random.uniform() : 0.02 * *x;  // also beyond the box
  }
  for (std::size_t k = 0; k < particles.id.size(); k += 50)
    particles.x[k] = k % 100 == 0 ? 0 : 1, particles.y[k] = k % 150 == 0 ? 1 : particles.y[k];
  return particles;
}

Particles lattice(std::size_t side) {
  Particles particles = cluster(static_cast<std::int64_t>(side * side * side), false);
  for (std::size_t k = 0; k < particles.id.size(); ++k) {
    const auto at = [&](std::size_t place) { return static_cast<double>(place % side) / static_cast<double>(side); };
    particles.x[k] = at(k), particles.y[k] = at(k / side), particles.z[k] = at(k / side / side);
  }
  return particles;
}

SolverOptions box_options(const std::string& solver, double accuracy) {
  SolverOptions options = tree_options(1e-3, accuracy);
  options.solver = solver;
  options.mesh.box = {{0, 0, 0}, {1, 1, 1}, Boundary::periodic};
  return options;
}

TEST(DistributedTreePm, HasTheForcesOfOneRankBitByBit) {
  expect_bits_of_one_rank<double>("cpu", box_options("treepm", 1e-2), clustered_box(2500), {1, 2, 3, 4, 7, 64});
  expect_bits_of_one_rank<double>("cpu", box_options("treepm", 1e-2), lattice(12), {2, 7});
}

TEST(DistributedTreePm, IsTheTreeInAPeriodicBox) {
  EXPECT_TRUE(on_ranks<double>("cpu", 3, box_options("tree", 1e-2), clustered_box(500), true).field ==
              on_one_rank<double>("cpu", box_options("treepm", 1e-2), clustered_box(500), true).field);
}

TEST(DistributedTreePm, FindsItsBoxInOpenSpace) {
  SolverOptions options = tree_options(0.01, 1e-2);
  options.solver = "treepm";
  options.mesh.box.boundary = Boundary::isolated;
  expect_bits_of_one_rank<double>("cpu", options, cluster(1000, true), {2, 7});
}

TEST(DistributedTreePm, AnyPrecisionSofteningAndBoxWillDo) {
  SolverOptions options = box_options("treepm", 1e-3);
  options.precision = Precision::single;
  expect_bits_of_one_rank<float>("cpu", options, clustered_box(1000), {4});
  options.precision = Precision::double_;
  options.softening.epsilon[2] = 0.01;
  options.softening.kernel = SofteningKernel::spline;
  options.mesh.box = {{-0.5, 0, 0.25}, {2, 1, 1}, Boundary::periodic};
  expect_bits_of_one_rank<double>("cpu", options, clustered_box(1000), {3});
  options.tree.opening = TreeOptions::Opening::geometric;
  expect_bits_of_one_rank<double>("cpu", options, clustered_box(1000), {2}, false);
  expect_bits_of_one_rank<double>("cpu", box_options("treepm", 1e-2), clustered_box(3), {5});
}

/// The forces on those of a rank's particles that ask, by their places among all, after all have moved a little: the
/// tree keeps its cells.
Answer<double> after_a_move(Solver<double>& solver, const Device& device, const Particles& particles,
                            const std::vector<std::int64_t>& asking, std::int64_t first, std::int64_t count,
                            const std::shared_ptr<Communicator>& ranks) {
  Particles moved = particles;
  for (std::size_t k = 0; k < moved.id.size(); ++k)
    moved.x[k] += 1e-3 * std::sin(static_cast<double>(k)), moved.y[k] -= 1e-3 * std::cos(static_cast<double>(k));
  const Arrays<double> before(device, particles), now(device, moved);
  std::vector<std::int64_t> here;
  for (const std::int64_t place : asking)
    if (place >= first && place < first + count) here.push_back(place - first);
  OwnedParticles<double> own(device, solver, ranks);
  Answer<double> answer;
  for (int time = 0; time < 2; ++time) {  // the second tree is cut by the work of the first
    own.prepare(before.share(first, count, true));
    own.evaluate(&here, all_answers);
    solver.give_back_memory();
    EXPECT_TRUE(own.update(now.share(first, count, true)));
    answer.field = own.evaluate(&here, all_answers);
    own.kept.forget();
  }
  return answer;
}

void expect_bits_of_one_rank_after_a_move(const std::string& spec, const SolverOptions& options,
                                          const Particles& particles, const std::vector<std::int64_t>& asking) {
  const Device of_one = Device::open(spec, 1);
  const auto alone = make_solver<double>(options, of_one);
  const Answer<double> one = after_a_move(*alone, of_one, particles, asking, 0, particles.size(), nullptr);
  for (const int ranks : {2, 3, 7}) {
    Answer<double> several;
    const Shares shares{particles.size(), ranks};
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const Device device = Device::open(spec, 1);
      const std::shared_ptr<Communicator> all(&communicator, [](Communicator*) {});
      const auto solver = make_dividing_solver<double>(options, device, all);
      const int rank = communicator.rank();
      const Answer<double> own =
          after_a_move(*solver, device, particles, asking, shares.first(rank), shares.count(rank), all);
      for (std::size_t k = 0; k < own.field.size(); ++k)
        if (auto found = gather_on_root(communicator, own.field[k]); communicator.is_root())
          several.field[k] = std::move(found);
    });
    for (std::size_t k = 0; k < one.field.size(); ++k)
      EXPECT_TRUE(several.field[k] == one.field[k]) << ranks << " ranks, field " << k;
  }
}

TEST_P(DistributedTree, KeepsItsCellsForAFewThatAsk) {
  std::vector<std::int64_t> some;
  for (std::int64_t k = 3; k < 1500; k += 40) some.push_back(k);
  expect_bits_of_one_rank_after_a_move(GetParam(), tree_options(0.01, 1e-3), cluster(1500, true), some);
  if (GetParam() == "cpu")
    expect_bits_of_one_rank_after_a_move("cpu", box_options("treepm", 1e-2), clustered_box(1500), some);
}

TEST_P(DistributedTree, OneParticleMayAsk) {
  expect_bits_of_one_rank_after_a_move(GetParam(), tree_options(0.01, 1e-3), cluster(1500, true), {700});
  if (GetParam() == "cpu")
    expect_bits_of_one_rank_after_a_move("cpu", box_options("treepm", 1e-2), clustered_box(1500), {51});
}

TEST(DistributedTreeOnCpus, ARankSendsLittleOfWhatItHas) {
  // Beside particles that go to the ranks of their cells and forces that come back (at most 4 + 1 + 4 numbers of eight
  // bytes here), cells and particles near the domains' faces. All to all would be 3 times 41 bytes and as much of
  // cells.
  std::int64_t sent = 0;
  const std::int64_t n = 20000;
  on_ranks<double>("cpu", 4, tree_options(0.01, 1e-2), cluster(n, false), true, &sent);
  const double each = static_cast<double>(sent) / static_cast<double>(n);
  EXPECT_GT(each, 0.7 * (4 + 1 + 4) * 8);
  EXPECT_LT(each, 150);
}

TEST_P(DistributedTree, ParticlesInOnePlaceWithoutSofteningAreNamedByAllRanks) {
  Particles particles = cluster(300, false);
  particles.x[250] = particles.x[40], particles.y[250] = particles.y[40], particles.z[250] = particles.z[40];
  const Shares shares{300, 3};
  std::vector<std::string> words(3);
  run_on_thread_ranks(3, [&](Communicator& communicator) {
    const Device device = this->device(1);
    const Arrays<double> arrays(device, particles);
    const auto solver = make_distributed_solver<double>(
        tree_options(0, 1e-3), device, std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
    const std::int64_t first = shares.first(communicator.rank()), count = shares.count(communicator.rank());
    Answer<double> answer(count);
    solver->prepare(arrays.share(first, count, true));
    try {
      evaluate<double>(*solver, device, nullptr, count, 0, answer);
    } catch (const CoincidentParticles& found) {
      words[static_cast<std::size_t>(communicator.rank())] = fmt::format("{} {}", found.first(), found.second());
    }
  });
  for (const auto& one : words) EXPECT_EQ(one, "40 250");
}

void expect_error_of_all_ranks(const std::string& spec, const SolverOptions& options) {
  Particles particles = cluster(300, false);
  particles.y[7] = std::nan("");
  const Shares shares{300, 3};
  std::vector<int> failed(3);
  run_on_thread_ranks(3, [&](Communicator& communicator) {
    const Device device = Device::open(spec, 1);
    const Arrays<double> arrays(device, particles);
    const auto solver = make_distributed_solver<double>(
        options, device, std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
    try {
      solver->prepare(arrays.share(shares.first(communicator.rank()), shares.count(communicator.rank()), true));
    } catch (const Error& error) {
      failed[static_cast<std::size_t>(communicator.rank())] = error.kind() == ErrorKind::numerics;
    }
  });
  EXPECT_EQ(failed, std::vector<int>({1, 1, 1})) << options.solver;
}

TEST_P(DistributedTree, APlaceThatIsNoNumberIsAnErrorOfAllRanks) {
  expect_error_of_all_ranks(GetParam(), tree_options(0.1, 1e-3));
  if (GetParam() != "cpu") return;
  expect_error_of_all_ranks("cpu", box_options("treepm", 1e-2));
  SolverOptions open = tree_options(0.01, 1e-2);
  open.solver = "treepm";
  open.mesh.box.boundary = Boundary::isolated;
  expect_error_of_all_ranks("cpu", open);
}

INSTANTIATE_TEST_SUITE_P(Devices, DistributedTree, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/ewald_sum.hpp"
#include "analysis/force_audit.hpp"
#include "base/philox.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/treepm.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

// Reference: Ewald's sum in double precision, which knows no mesh and no split of this kind.

constexpr double side = 2;
constexpr Box box{{-0.5, 0, 0.25}, {side, side, side}, Boundary::periodic};

double unit(std::uint32_t seed, std::size_t i, int k) {
  std::uint32_t words[8];
  const Philox random(seed, 0, i);
  random.block(0, words);
  random.block(1, words + 4);
  return (words[k] + 0.5) / 4294967296.0;
}

/// "random"; "clustered": most of them in five clumps; "heavy": one with a third of the mass; "lattice", "loose
/// lattice": displaced by an rms of 0.05 and 0.3 of their spacing.
Particles model(const std::string& name, int per_side) {
  Particles p;
  p.resize(std::int64_t{per_side} * per_side * per_side);
  const double n = static_cast<double>(p.x.size());
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    double at[3];
    for (int a = 0; a < 3; ++a) {
      at[a] = unit(5, i, a);
      const auto cell = static_cast<int>(i) / (a == 0 ? per_side * per_side : a == 1 ? per_side : 1) % per_side;
      if (name.ends_with("lattice")) at[a] = (cell + 0.5 + (name == "lattice" ? 0.1 : 0.6) * (at[a] - 0.5)) / per_side;
      if (name == "clustered" && i % 8 != 0)
        at[a] = unit(6, i % 5, a) + 0.02 * std::tan(3 * (unit(5, i, a + 3) - 0.5)) / (1.0 + static_cast<double>(i % 5));
    }
    p.x[i] = wrap(box.corner.x + side * at[0], box.corner.x, side);
    p.y[i] = wrap(box.corner.y + side * at[1], box.corner.y, side);
    p.z[i] = wrap(box.corner.z + side * at[2], box.corner.z, side);
    p.mass[i] = 1 / n;
    p.id[i] = i;
  }
  if (name == "heavy") p.mass[17] = 0.5;
  return p;
}

SolverOptions options(double accuracy, Precision precision = Precision::mixed) {
  SolverOptions o;
  o.solver = "treepm";
  o.gravitational_constant = 3;
  o.softening = Softening::same(0.001);
  o.precision = precision;
  o.tree.accuracy = accuracy;
  set_box(o, box);
  return o;
}

double size(const ForceResult& f, std::size_t i) {
  return std::sqrt(f.ax[i] * f.ax[i] + f.ay[i] * f.ay[i] + f.az[i] * f.az[i]);
}

struct Compared {
  ForceErrors errors;
  double rms;  // of the differences over that of the accelerations
};

class TreePm : public DeviceTest {
 protected:
  ForceResult forces(const SolverOptions& o, const Particles& p, int threads = 2) const {
    const auto on = device(threads);
    return evaluate_forces(*make_solver(o, on), on, p, want_acceleration | want_potential);
  }
  Compared compare(const SolverOptions& o, const Particles& p, std::int64_t sample = 200) const {
    const auto found = forces(o, p);
    const auto places = sample_places(p.size(), sample);
    const auto exact = ewald_sum(p, places, box, o.softening, o.gravitational_constant, Device::open("cpu", 2));
    ForceResult some;
    double differences = 0, squares = 0;
    for (std::size_t k = 0; k < places.size(); ++k) {
      const auto i = static_cast<std::size_t>(places[k]);
      some.ax.push_back(found.ax[i]), some.ay.push_back(found.ay[i]), some.az.push_back(found.az[i]);
      const double dx = some.ax[k] - exact.ax[k], dy = some.ay[k] - exact.ay[k], dz = some.az[k] - exact.az[k];
      differences += dx * dx + dy * dy + dz * dz;
      squares += size(exact, k) * size(exact, k);
    }
    return {force_errors(some, exact), std::sqrt(differences / squares)};
  }
};

TEST_P(TreePm, AgreesWithEwaldForAPairAtAnyDistance) {
  Particles p;
  p.resize(2);
  p.mass = {0.25, 0.75};
  p.id = {1, 2};
  for (const double d : {0.003, 0.05, 0.2, 0.45, 0.7, 0.95}) {
    p.x = {box.corner.x + 0.01, wrap(box.corner.x + 0.01 - d, box.corner.x, side)};
    p.y = {0.7, 0.7 + 0.4 * d}, p.z = {0.3, wrap(0.3 - 0.2 * d, box.corner.z, side)};
    for (const Precision precision : {Precision::mixed, Precision::double_}) {
      const auto found = compare(options(1e-4, precision), p);
      EXPECT_LT(found.errors.max, 3e-4) << d;
    }
  }
}

TEST_P(TreePm, KeepsTheAccuracyAskedForAgainstEwald) {
  for (const std::string name : {"random", "clustered", "heavy"})
    for (const double accuracy : {1e-2, 1e-3, 1e-4}) {
      const auto found = compare(options(accuracy), model(name, 12));
      EXPECT_LT(found.errors.median, accuracy) << name;
      EXPECT_LT(found.errors.p99, 6 * accuracy) << name;
    }
}

TEST_P(TreePm, KeepsItNearALatticeWhereForcesCancel) {
  for (const double accuracy : {1e-2, 6e-3, 4.5e-3, 3.3e-3, 1.5e-3, 1e-3, 1e-4})
    EXPECT_LT(compare(options(accuracy), model("lattice", 16)).rms, accuracy) << accuracy;
  for (const double accuracy : {1e-2, 1e-3, 1e-4})
    EXPECT_LT(compare(options(accuracy), model("loose lattice", 16)).rms, accuracy) << accuracy;
}

/// Plummer's softening has no end: the mesh has it beyond the cut-off radius. Cells are a multiple of the lattice's,
/// also where that has the factor 11.
TEST_P(TreePm, KeepsItNearALatticeWithMuchSoftening) {
  struct Case {
    int per_side;
    double part, accuracy;
  };
  for (const auto& [per_side, part, accuracy] : {Case{12, 1.0 / 8, 1e-2},
                                                 {16, 1.0 / 16, 1e-3},
                                                 {24, 1.0 / 20, 3e-4},
                                                 {11, 1.0 / 30, 4e-3},
                                                 {12, 1.0 / 60, 1e-4}}) {
    SolverOptions o = options(accuracy);
    o.softening = Softening::same(part * side / per_side);
    EXPECT_LT(compare(o, model("lattice", per_side)).rms, accuracy) << per_side << " " << accuracy;
  }
}

/// In the boxes above some leaves look for images of their pairs; here the cut-off radius is a ninth of the box, and
/// none does.
TEST_P(TreePm, KeepsItWhereTheCutOffIsFarBelowTheBox) {
  const auto found = compare(options(1e-2), model("random", 32), 100);
  EXPECT_LT(found.errors.median, 1e-2);
  EXPECT_LT(found.errors.p99, 6e-2);
  EXPECT_LT(found.rms, 1e-2);
}

/// Sides that are no multiples of the roots of a GPU's forest, whose neighbours are found through them.
TEST_P(TreePm, KeepsItInABoxThatIsNoCube) {
  constexpr Box brick{{-0.5, 0, 0.25}, {2, 1.3, 0.9}, Boundary::periodic};
  Particles p = model("random", 41);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    p.y[i] = brick.corner.y + brick.side.y / side * (p.y[i] - box.corner.y);
    p.z[i] = brick.corner.z + brick.side.z / side * (p.z[i] - box.corner.z);
  }
  SolverOptions o = options(1e-2);
  set_box(o, brick);
  const auto places = sample_places(p.size(), 60);
  const auto all = forces(o, p);
  const auto exact = ewald_sum(p, places, brick, o.softening, o.gravitational_constant, Device::open("cpu", 2));
  ForceResult some;
  for (const std::int64_t place : places) {
    const auto i = static_cast<std::size_t>(place);
    some.ax.push_back(all.ax[i]), some.ay.push_back(all.ay[i]), some.az.push_back(all.az[i]);
  }
  const ForceErrors errors = force_errors(some, exact);
  EXPECT_LT(errors.median, 1e-2);
  EXPECT_LT(errors.p99, 6e-2);
}

TEST_P(TreePm, SoftensWithBothKernelsAndBySpecies) {
  Particles p = model("clustered", 10);
  for (std::size_t i = 0; i < p.species.size(); ++i) p.species[i] = i % 3 == 0 ? 2 : 1;
  for (const SofteningKernel kernel : {SofteningKernel::plummer, SofteningKernel::spline}) {
    auto o = options(1e-3);
    o.softening.epsilon = {0.0, 0.002, 0.006, 0.0, 0.0, 0.0};
    o.softening.kernel = kernel;
    const auto found = compare(o, p);
    EXPECT_LT(found.errors.median, 1e-3);
    EXPECT_LT(found.errors.p99, 6e-3);
  }
}

TEST_P(TreePm, SinglePrecisionKeepsAThousandth) {
  const auto found = compare(options(1e-3, Precision::single), model("clustered", 12));
  EXPECT_LT(found.errors.median, 1e-3);
  EXPECT_LT(found.errors.p99, 6e-3);
}

TEST_P(TreePm, TheSplitIsInvisible) {
  const Particles p = model("clustered", 12);
  for (const double softening : {0.001, 0.02}) {
    auto o = options(1e-4);
    o.softening = Softening::same(softening);
    o.own["treepm.cells"] = std::int64_t{64};
    o.own["treepm.split"] = 1.8, o.own["treepm.cut_off"] = 1.8 * 7;
    const auto one = forces(o, p);
    o.own["treepm.split"] = 3.6, o.own["treepm.cut_off"] = 3.6 * 7;
    const auto other = forces(o, p);
    EXPECT_LT(force_errors(one, other).median, 1e-4);
    EXPECT_LT(force_errors(one, other).p99, 6e-4);
    double depth = 0;
    for (const double value : one.potential) depth = std::max(depth, std::abs(value));
    for (std::size_t i = 0; i < one.potential.size(); ++i)
      EXPECT_NEAR(one.potential[i], other.potential[i], 1e-4 * depth);
  }
}

TEST_P(TreePm, MomentumIsKeptToTheAccuracy) {
  const Particles p = model("clustered", 12);
  const auto found = forces(options(1e-3), p);
  double px = 0, total = 0;
  for (std::size_t i = 0; i < p.x.size(); ++i) px += p.mass[i] * found.ax[i], total += p.mass[i] * size(found, i);
  EXPECT_LT(std::abs(px), 1e-3 * total);
}

/// Reference: the potential of a simple cubic lattice with a neutral background at its points, 2.837297 G m / L
/// (Nijboer & Ruijgrok 1988; with the sign of gravity).
TEST_P(TreePm, PotentialOfOneParticleIsThatOfItsImages) {
  Particles p;
  p.resize(1);
  p.x = {0.1}, p.y = {0.9}, p.z = {1.3}, p.mass = {2}, p.id = {1};
  const auto found = forces(options(1e-4), p);
  EXPECT_NEAR(found.potential[0], 3 * 2 * 2.837297 / side, 1e-3);
}

TEST_P(TreePm, TheSameBitsForAnyThreadsAndOrder) {
  const Particles p = model("clustered", 12);
  const auto one = forces(options(1e-3), p, 1), many = forces(options(1e-3), p, 3);  // a GPU does it twice
  EXPECT_EQ(one.ax, many.ax);
  EXPECT_EQ(one.potential, many.potential);
  Particles turned = p;
  for (auto* values : {&turned.x, &turned.y, &turned.z, &turned.mass}) std::reverse(values->begin(), values->end());
  std::reverse(turned.id.begin(), turned.id.end());
  auto back = forces(options(1e-3), turned);
  std::reverse(back.ax.begin(), back.ax.end());
  std::reverse(back.potential.begin(), back.potential.end());
  EXPECT_EQ(one.ax, back.ax);
  EXPECT_EQ(one.potential, back.potential);
}

/// On a GPU a few leaves are served in another way than many; 12³ particles have few, 44³ many.
TEST_P(TreePm, APartOfTheParticlesGetsTheForcesOfAll) {
  for (const int per_side : {12, 44}) {
    const Particles p = model("clustered", per_side);
    const auto on = device(2);
    const auto solver = make_solver(options(per_side == 12 ? 1e-3 : 1e-2), on);
    const auto all = evaluate_forces(*solver, on, p, want_acceleration | want_potential);
    const std::vector<std::int64_t> places{3, 500, 501, 1700};
    const auto some = evaluate_forces(*solver, on, p, want_acceleration | want_potential, places);
    for (std::size_t k = 0; k < places.size(); ++k) {
      EXPECT_EQ(some.ax[k], all.ax[static_cast<std::size_t>(places[k])]);
      EXPECT_EQ(some.potential[k], all.potential[static_cast<std::size_t>(places[k])]);
    }
  }
}

/// Places are taken into the box: a particle a whole side away is the same.
TEST_P(TreePm, AParticleBeyondTheBoxIsItsImageWithin) {
  const Particles p = model("random", 12);
  Particles moved = p;
  for (std::size_t i = 0; i < moved.x.size(); i += 3) moved.x[i] += side, moved.z[i] -= side;
  const auto found = force_errors(forces(options(1e-3), moved), forces(options(1e-3), p));
  EXPECT_LT(found.median, 1e-6);
  EXPECT_LT(found.max, 1e-4);
}

// By hand: Plummer's softening takes 3/2 (ε/r)² of Newton's force away. The mesh has that of one length, and what
// others differ by is left out from the cut-off on: a quarter of the accuracy at most. Cells are two for each plane of
// a lattice, whatever the softening: with fewer, errors near a lattice were up to twenty times the accuracy.
TEST(TreePmParameters, SofteningLeavesTheCellsAndALongEnoughCutOff) {
  const double spacing = side / 64;
  for (const double accuracy : {1e-2, 3e-3, 1e-3, 3e-4})
    for (double part = 0.02; part < 0.3; part *= 1.1) {
      SolverOptions o = options(accuracy);
      o.softening = Softening::same(part * spacing);
      const TreePmParameters one = treepm_parameters(o, 64 * 64 * 64, box);
      EXPECT_EQ(one.cells[0], 128);
      EXPECT_NEAR(one.softening, part * spacing, 1e-12);
      EXPECT_LE(one.softening, 0.5 * one.split * (1 + 1e-12));
      if (part > 0.1) continue;  // two such lengths ask for a cut-off that is longer than half the box
      o.softening.epsilon[2] *= 1.5;
      const TreePmParameters two = treepm_parameters(o, 64 * 64 * 64, box);
      EXPECT_EQ(two.cells[0], 128);
      for (const double epsilon : {part * spacing, 1.5 * part * spacing}) {
        const double apart = std::abs(epsilon * epsilon - two.softening * two.softening);
        EXPECT_LE(1.5 * apart / std::pow(two.cut_off, 2), 0.25 * accuracy * (1 + 1e-9)) << part;
      }
      EXPECT_LE(two.cut_off, 8 * two.split * (1 + 1e-12));
      EXPECT_LE(2 * two.cut_off, side);
    }
}

/// A lattice of 22³ has cells of 44 for each side, although 44 is no number that a mesh would be given by itself; one
/// that is no cube has two along each of its sides.
TEST(TreePmParameters, CellsAreAMultipleOfALattice) {
  EXPECT_EQ(treepm_parameters(options(1e-3), 22 * 22 * 22, box).cells[0], 44);
  EXPECT_EQ(treepm_parameters(options(1e-4), 12 * 12 * 12, box).cells[0] % 12, 0);
  const Box brick{{0, 0, 0}, {1.0, 2.2, 1.3}, Boundary::periodic};
  EXPECT_EQ(treepm_parameters(options(1e-2), 10 * 22 * 13, brick).cells, (std::array<int, 3>{20, 44, 26}));
  EXPECT_EQ(treepm_parameters(options(1e-2), 1000 - 17, box).cells[0], 20);
  auto by_hand = options(1e-3);  // what a run says it chose may be set
  by_hand.own["treepm.cells"] = std::int64_t{44};
  for (const std::int64_t n : {22 * 22 * 22, 9999}) EXPECT_EQ(treepm_parameters(by_hand, n, box).cells[0], 44);
}

TEST(TreePmParameters, SayWhereABoxHasNoRoomForItsCutOff) {
  const auto said = [](double accuracy, std::int64_t n) {
    return treepm_parameters(options(accuracy), n, box).text("treepm").find("has no room") != std::string::npos;
  };
  EXPECT_TRUE(said(1e-4, 8 * 8 * 8));
  EXPECT_FALSE(said(1e-3, 8 * 8 * 8));
  EXPECT_FALSE(said(1e-4, 9 * 9 * 9));
}

INSTANTIATE_TEST_SUITE_P(Devices, TreePm, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/ewald_sum.hpp"
#include "analysis/force_audit.hpp"
#include "base/philox.hpp"
#include "device/buffer.hpp"
#include "gravity/solver_entry.hpp"
#include "test_devices.hpp"
#include "tree/kept_tree.hpp"

namespace pergola {
namespace {

// The tree of treepm keeps its cells while particles move, also through the sides of the box.

constexpr double width = 2;
constexpr Box periodic_box{{-0.5, 0, 0.25}, {width, width, width}, Boundary::periodic};
constexpr std::int64_t count = 4096;

/// A uniform deviate.
double draw(std::size_t i, int k) {
  std::uint32_t words[8];
  const Philox random(11, 0, i);
  random.block(0, words);
  random.block(1, words + 4);
  return (words[k] + 0.5) / 4294967296.0;
}

/// Half of the particles in a clump about a corner of the box, all of them with a common velocity through its sides and
/// small ones of their own.
Particles drifting(double time) {
  Particles p;
  p.resize(count);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    const double scale = i % 2 ? 1 : 0.1;
    const double corner[3] = {periodic_box.corner.x, periodic_box.corner.y, periodic_box.corner.z};
    std::vector<double>* const axes[3] = {&p.x, &p.y, &p.z};
    for (int a = 0; a < 3; ++a) {
      const double velocity = (a == 1 ? -1 : 1) + 0.02 * (draw(i, a + 3) - 0.5);
      (*axes[a])[i] = wrap(corner[a] + width * scale * (draw(i, a) - 0.5) + velocity * time, corner[a], width);
    }
    p.mass[i] = 1.0 / count;
    p.id[i] = i;
  }
  return p;
}

struct BoxOnDevice {
  Buffer<double> x, y, z, mass;
  BoxOnDevice(const Device& device, const Particles& p)
      : x(device, p.x), y(device, p.y), z(device, p.z), mass(device, p.mass) {}
  Sources<double> sources() const {
    Sources<double> s;
    s.count = x.size();
    s.x = x.data(), s.y = y.data(), s.z = z.data(), s.mass = mass.data();
    return s;
  }
};

class TreePmUpdate : public DeviceTest {
 protected:
  static SolverOptions options() {
    SolverOptions o;
    o.solver = "treepm";
    o.gravitational_constant = 3;
    o.softening = Softening::same(0.002);
    o.tree.accuracy = 1e-3;
    set_box(o, periodic_box);
    return o;
  }
  std::unique_ptr<Solver<double>> solver() const { return make_solver<double>(options(), device(2)); }
  ForceResult forces(Solver<double>& of, const std::vector<std::int64_t>& places) const {
    const auto on = device(2);
    const Buffer<std::int64_t> index(on, places);
    Buffer<double> ax(on, index.size()), ay(on, index.size()), az(on, index.size());
    Forces<double> into;
    into.ax = ax.data(), into.ay = ay.data(), into.az = az.data();
    of.evaluate({index.data(), index.size(), index.size(), 0}, want_acceleration, into);
    ForceResult result;
    result.ax = ax.to_host(), result.ay = ay.to_host(), result.az = az.to_host();
    return result;
  }
};

// Reference: Ewald's sum. What was prepared at time 0 serves later: that it does is seen from the bits, which differ
// from those of a new tree. At the last time particles have nearly left the roots of a GPU's forest as far as they may.
TEST_P(TreePmUpdate, KeepsItsCellsAndItsAccuracyThroughTheSidesOfTheBox) {
  const auto d = device(2);
  const auto places = sample_places(count, 150);
  for (const double time : {0.03, 0.15, 0.28}) {
    const auto now = drifting(time);
    const BoxOnDevice before(d, drifting(0)), after(d, now);
    const auto kept = solver(), anew = solver();
    kept->prepare(before.sources());
    kept->update(after.sources());
    anew->prepare(after.sources());
    const auto found = forces(*kept, places);
    EXPECT_NE(found.ax, forces(*anew, places).ax) << time;
    const auto exact = ewald_sum(now, places, periodic_box, options().softening, 3, Device::open("cpu", 2));
    const ForceErrors errors = force_errors(found, exact);
    EXPECT_LT(errors.median, 1e-3) << time;
    EXPECT_LT(errors.p99, 6e-3) << time;
  }
}

/// Centres far outside of the box, or cells that have grown: a new tree.
TEST_P(TreePmUpdate, IsMadeAnewWhereParticlesHaveGoneFar) {
  const auto d = device(2);
  const auto places = sample_places(count, 50);
  for (const double time : {0.6, 20.0}) {
    const BoxOnDevice before(d, drifting(0)), after(d, drifting(time));
    const auto kept = solver(), anew = solver();
    kept->prepare(before.sources());
    EXPECT_FALSE(kept->update(after.sources())) << time;
    kept->prepare(after.sources());
    anew->prepare(after.sources());
    EXPECT_EQ(forces(*kept, places).ax, forces(*anew, places).ax) << time;
  }
}

TEST_P(TreePmUpdate, RestoredAndBorrowedTreesGiveTheSameBits) {
  const auto d = device(2);
  const auto places = sample_places(count, 100);
  const BoxOnDevice start(d, drifting(0)), now(d, drifting(0.1)), later(d, drifting(0.17));
  const auto whole = solver(), resumed = solver(), borrowed = solver(), anew = solver();
  for (auto* one : {whole.get(), borrowed.get()}) one->prepare(start.sources()), one->update(now.sources());
  FieldList fields(d);
  fields.resize(count);
  tree::KeptTree of_whole_now(fields), of_borrowed_now(fields);
  whole->put_aside(of_whole_now);
  ASSERT_TRUE(resumed->take_up(of_whole_now));
  borrowed->put_aside(of_borrowed_now);
  borrowed->prepare(start.sources());
  forces(*borrowed, places);
  ASSERT_TRUE(borrowed->take_up(of_borrowed_now));
  for (auto* one : {whole.get(), resumed.get(), borrowed.get()}) one->update(later.sources());
  anew->prepare(later.sources());
  const auto of_whole = forces(*whole, places), of_resumed = forces(*resumed, places),
             of_borrowed = forces(*borrowed, places);
  EXPECT_EQ(of_whole.ax, of_resumed.ax);
  EXPECT_EQ(of_whole.az, of_resumed.az);
  EXPECT_EQ(of_whole.ax, of_borrowed.ax);
  EXPECT_EQ(of_whole.az, of_borrowed.az);
  EXPECT_NE(of_whole.ax, forces(*anew, places).ax);
}

TEST_P(TreePmUpdate, AnotherTreeIsNotTaken) {
  const auto d = device(2);
  const BoxOnDevice start(d, drifting(0));
  const auto whole = solver();
  whole->prepare(start.sources());
  auto in_open_space = options();
  in_open_space.solver = "tree";
  in_open_space.mesh.box = {};
  FieldList fields(d);
  fields.resize(count);
  tree::KeptTree kept(fields);
  whole->put_aside(kept);
  EXPECT_FALSE(make_solver(in_open_space, d)->take_up(kept));
}

TEST_P(TreePmUpdate, PositionThatIsNotFiniteIsFound) {
  const auto d = device(1);
  Particles p = drifting(0);
  const auto one = solver();
  const BoxOnDevice good(d, p);
  one->prepare(good.sources());
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    p.x[1234] = bad;
    const BoxOnDevice broken(d, p);
    EXPECT_THROW(one->update(broken.sources()) || (one->prepare(broken.sources()), true), Error);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, TreePmUpdate, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

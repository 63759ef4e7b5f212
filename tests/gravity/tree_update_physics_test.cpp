#include <gtest/gtest.h>

#include "analysis/force_audit.hpp"
#include "device/buffer.hpp"
#include "models/model.hpp"
#include "test_devices.hpp"
#include "tree/kept_tree.hpp"

namespace pergola {
namespace {

class TreeUpdate : public DeviceTest {
 protected:
  static Particles plummer(std::int64_t n) {
    ModelOptions options;
    options.n = n;
    return make_model("plummer", options);
  }
  static SolverOptions tree() {
    SolverOptions options;
    options.solver = "tree";
    options.softening = Softening::same(0.02);
    options.precision = Precision::mixed;
    options.tree.accuracy = 1e-3;
    return options;
  }
  /// Where the particles would be after a while.
  static Particles moved(Particles p, double dt) {
    for (std::size_t i = 0; i < p.id.size(); ++i)
      p.x[i] += dt * p.vx[i], p.y[i] += dt * p.vy[i], p.z[i] += dt * p.vz[i];
    return p;
  }
};

/// Particles on a device, as sources.
struct OnDevice {
  Buffer<double> x, y, z, mass;
  Buffer<std::uint8_t> species;
  OnDevice(const Device& device, const Particles& p)
      : x(device, p.x), y(device, p.y), z(device, p.z), mass(device, p.mass), species(device, p.species) {}
  Sources<double> sources() const {
    Sources<double> s;
    s.count = x.size();
    s.x = x.data(), s.y = y.data(), s.z = z.data(), s.mass = mass.data(), s.species = species.data();
    return s;
  }
};

ForceResult forces_at(Solver<double>& solver, const Device& device, const std::vector<std::int64_t>& places) {
  const Buffer<std::int64_t> index(device, places);
  Buffer<double> ax(device, index.size()), ay(device, index.size()), az(device, index.size());
  Forces<double> forces;
  forces.ax = ax.data(), forces.ay = ay.data(), forces.az = az.data();
  solver.evaluate({index.data(), index.size(), index.size(), 0}, want_acceleration, forces);
  ForceResult result;
  result.ax = ax.to_host(), result.ay = ay.to_host(), result.az = az.to_host();
  return result;
}

// Reference: the direct sum. The accuracy that is promised for a new tree holds for one whose particles have moved.
TEST_P(TreeUpdate, KeepsTheAccuracyAskedFor) {
  const auto d = device(2);
  const auto before = plummer(20000);
  const auto places = sample_places(before.size(), 300);
  const auto solver = make_solver<double>(tree(), d);
  for (const double dt : {0.0, 0.01, 0.05, 1.0}) {
    const auto after = moved(before, dt);
    const OnDevice old(d, before), now(d, after);
    solver->prepare(old.sources());
    if (!solver->update(now.sources())) solver->prepare(now.sources());
    const auto errors = force_errors_at(tree(), d, after, places, forces_at(*solver, d, places));
    EXPECT_LT(errors.median, 1e-3) << dt;
    EXPECT_LT(errors.p99, 6e-3) << dt;
  }
}

TEST_P(TreeUpdate, RestoredTreeGivesTheSameBits) {
  const auto d = device(1);
  const auto before = plummer(5000);
  const auto places = sample_places(before.size(), 100);
  const OnDevice old(d, before), now(d, moved(before, 0.01)), later(d, moved(before, 0.02));
  const auto whole = make_solver<double>(tree(), d), resumed = make_solver<double>(tree(), d),
             fresh = make_solver<double>(tree(), d);
  whole->prepare(old.sources());
  whole->update(now.sources());
  FieldList fields(d);
  fields.resize(before.size());
  tree::KeptTree kept(fields);
  whole->put_aside(kept);
  ASSERT_TRUE(resumed->take_up(kept));
  for (auto* solver : {whole.get(), resumed.get()}) solver->update(later.sources());
  fresh->prepare(later.sources());
  const auto one = forces_at(*whole, d, places), two = forces_at(*resumed, d, places);
  EXPECT_EQ(one.ax, two.ax);
  EXPECT_EQ(one.az, two.az);
  if (whole->info().updates) {
    EXPECT_NE(one.ax, forces_at(*fresh, d, places).ax);
  }
}

TEST_P(TreeUpdate, PositionThatIsNotFiniteIsFound) {
  const auto d = device(1);
  auto bad = plummer(3000);
  const auto solver = make_solver<double>(tree(), d);
  const OnDevice good(d, bad);
  solver->prepare(good.sources());
  bad.x[1234] = std::nan("");
  const OnDevice broken(d, bad);
  EXPECT_THROW(solver->update(broken.sources()) || (solver->prepare(broken.sources()), true), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, TreeUpdate, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

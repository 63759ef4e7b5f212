// A solver and an integrator that no file of src/ knows run through run, plan, force and a resume: that is what the
// entries are for. One header, one source and one line each.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/force_audit.hpp"
#include "comm/communicator.hpp"
#include "io/snapshot.hpp"
#include "run/plan.hpp"
#include "run/run.hpp"
#include "sim/gravity_system.hpp"
#include "toys/toy_integrator.hpp"
#include "toys/toy_solver.hpp"

namespace pergola {
namespace {

namespace fs = std::filesystem;

const bool registered = (register_solver(toy_solver_entry()), register_integrator(toy_integrator_entry()), true);

RunConfig toy_config(const std::vector<std::string>& more = {}) {
  std::vector<std::string> sets{"gravity.solver=toy", "gravity.toy.strength=4",      "time.integrator=toy",
                                "run.end_time=0.5",   "output.snapshots_every=0.25", "output.energy_every=0.125",
                                "run.device=cpu",     "time.toy_step=0.0078125"};
  sets.insert(sets.end(), more.begin(), more.end());
  return parse_config("[particles]\nmodel = \"plummer\"\nn = 64\n", "toy.toml", sets);
}

std::string refusal(const std::vector<std::string>& more) {
  try {
    toy_config(more);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Toys : public ::testing::Test {
 protected:
  Toys() : folder_(fs::temp_directory_path() / ("pergola-toys-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Toys() override { fs::remove_all(folder_); }
  RunOptions options(const std::string& name) const {
    RunOptions o;
    o.directory = folder_ / name;
    return o;
  }
  fs::path folder_;
};

TEST_F(Toys, TheirKeysAreReadShownAndChecked) {
  ASSERT_TRUE(registered);
  const std::string text = config_text(toy_config());
  EXPECT_NE(text.find("[gravity.toy]\nstrength = 4"), std::string::npos) << text;
  EXPECT_NE(text.find("# of the spring"), std::string::npos);
  EXPECT_NE(text.find("toy_step = 0.0078125"), std::string::npos);
  EXPECT_EQ(config_text(parse_config(text, "again.toml")), text);
  EXPECT_EQ(toy_config().precision(), Precision::double_);
  EXPECT_EQ(refusal({"gravity.toy.strength=-1"}), "--set: gravity.toy.strength: expected a number > 0, found -1");
  EXPECT_NE(refusal({"gravity.toy.strenght=1"}).find("did you mean gravity.toy.strength?"), std::string::npos);
  EXPECT_NE(refusal({"gravity.solver=to"}).find("did you mean \"toy\"?"), std::string::npos);
}

TEST_F(Toys, WhatTheyCannotDoIsRefusedWhenTheConfigurationIsRead) {
  EXPECT_NE(refusal({"time.integrator=hermite"}).find("hermite needs jerks, which the toy solver does not give"),
            std::string::npos);
  EXPECT_EQ(refusal({"time.integrator=leapfrog", "time.steps=block"}), "");
  EXPECT_EQ(refusal({"gravity.solver=tree"}), "");
}

// Reference: a = −k x.
TEST_F(Toys, ForceEvaluatesThem) {
  const auto config = toy_config();
  const auto particles = make_model("plummer", config.particles.options);
  const auto audit = audit_forces(config.solver_options(), Device::open("cpu", 1), particles, 10);
  for (std::size_t k = 0; k < particles.x.size(); ++k) EXPECT_EQ(audit.forces.ax[k], -4 * particles.x[k]);
  EXPECT_EQ(audit.errors.sample, 10);
}

TEST_F(Toys, PlanKnowsTheirStepsAndMemory) {
  const auto plan = plan_run(toy_config());
  EXPECT_EQ(plan.steps, 64);
  EXPECT_EQ(plan.steps_basis, "exact: a fixed step");
  // Id, species, mass, place, velocity, acceleration; and what the solver says.
  EXPECT_EQ(plan.device_bytes, 64 * (8 + 1 + 8 + 3 * 24 + 8));
  EXPECT_GT(plan.seconds, 0);
}

TEST_F(Toys, RanksHaveTheBitsOfOne) {
  for (const char* solver : {"toy", "direct"}) {
    const auto config = toy_config({std::string("gravity.solver=") + solver});
    std::vector<std::string> hashes(4);
    for (const int ranks : {1, 3})
      run_on_thread_ranks(ranks, [&](Communicator& communicator) {
        GravitySystem system(config, std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
        system.finish();
        hashes[static_cast<std::size_t>(communicator.rank() + (ranks == 1 ? 3 : 0))] = system.state_hash();
      });
    for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(hashes[rank], hashes[3]) << solver;
  }
}

// Reference: x cos(ωt) + v/ω sin(ωt) with ω² = k; the toy is of first order in its step. The energy is that of the
// spring, which the direct sum would not give.
TEST_F(Toys, RunAndResumeBitForBit) {
  const auto config = toy_config();
  const auto summary = run_system(config, options("whole"));
  EXPECT_EQ(summary.counts.steps, 64);
  EXPECT_LT(std::abs(summary.energy_error), 0.05);
  const auto before = read_snapshot(folder_ / "whole" / "snap_000.hdf5").particles;
  const auto after = read_snapshot(folder_ / "whole" / "snap_002.hdf5").particles;
  double kinetic = 0, spring = 0;
  for (std::size_t k = 0; k < before.x.size(); ++k) {
    EXPECT_NEAR(after.x[k], before.x[k] * std::cos(1.0) + before.vx[k] / 2 * std::sin(1.0),
                0.02 * (1 + std::abs(before.x[k])));
    const double r2 = before.x[k] * before.x[k] + before.y[k] * before.y[k] + before.z[k] * before.z[k];
    const double v2 = before.vx[k] * before.vx[k] + before.vy[k] * before.vy[k] + before.vz[k] * before.vz[k];
    kinetic += before.mass[k] * v2 / 2, spring += before.mass[k] * 4 * r2 / 2;
    EXPECT_NEAR(before.potential[k], 2 * r2, 1e-12 * (1 + r2));
  }
  std::ifstream energies(folder_ / "whole" / "energy.csv");
  std::string header, line;
  std::getline(energies, header), std::getline(energies, line);
  std::istringstream cells(line);
  std::vector<double> values;
  for (std::string cell; std::getline(cells, cell, ',');) values.push_back(std::stod(cell));
  EXPECT_NEAR(values.at(1), kinetic, 1e-9);
  EXPECT_NEAR(values.at(2), spring, 1e-9 * spring);

  auto o = options("pieces");
  o.resume = true;
  int sessions = 0, asked = 0;
  for (bool over = false; !over && sessions < 100; ++sessions) {
    asked = 0;
    o.interrupted = [&] { return ++asked >= 20; };
    over = run_system(config, o).status != RunStatus::interrupted;
  }
  EXPECT_GT(sessions, 2);
  const auto resumed = read_snapshot(folder_ / "pieces" / "snap_002.hdf5").particles;
  EXPECT_EQ(resumed.x, after.x);
  EXPECT_EQ(resumed.vz, after.vz);
}

}  // namespace
}  // namespace pergola

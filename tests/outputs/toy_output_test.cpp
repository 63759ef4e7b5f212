// An output that the program does not know: one header, one source, and one line that registers it.
#include "outputs/toy_output.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "analysis/force_audit.hpp"
#include "base/error.hpp"
#include "models/model.hpp"
#include "run/plan.hpp"
#include "run/run.hpp"

namespace pergola {
namespace {

namespace fs = std::filesystem;

const bool registered = (register_output(toy_output(), {toy_key()}), true);

class ToyOutputs : public testing::Test {
 protected:
  void SetUp() override { folder_ = fs::temp_directory_path() / ("pergola-toy-" + std::to_string(::getpid())); }
  void TearDown() override { fs::remove_all(folder_); }

  static RunConfig config(const std::vector<std::string>& sets) {
    return parse_config("[run]\ndevice = \"cpu\"\nend_time = 0.5\n[particles]\nmodel = \"plummer\"\nn = 50\n", "test",
                        sets);
  }
  RunOptions options(const std::string& name) const {
    RunOptions o;
    o.directory = folder_ / name;
    return o;
  }
  std::string log(const std::string& name) const {
    std::ifstream file(folder_ / name / "toy.csv");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  fs::path folder_;
};

TEST_F(ToyOutputs, RunThroughARunAndItsResume) {
  ASSERT_TRUE(registered);
  const auto c = config({"output.toy_every=0.125"});
  run_system(c, options("whole"));
  EXPECT_EQ(log("whole"), "time,particles\n0.125,50\n0.25,50\n0.375,50\n");
  auto o = options("pieces");
  o.resume = true;
  int sessions = 0, asked = 0;
  o.interrupted = [&] { return ++asked % 10 == 0; };
  while (run_system(c, o).status == RunStatus::interrupted) ++sessions;
  EXPECT_GT(sessions, 2);
  EXPECT_EQ(log("pieces"), log("whole"));
}

// They cost a plan nothing that it knows of, and the forces of a configuration with their key are those without.
TEST_F(ToyOutputs, ConfigurationsWithTheirKeyArePlannedAndGiveForces) {
  const std::vector<std::string> fixed{"time.integrator=leapfrog", "time.step=0.015625"};
  const auto with = config({fixed[0], fixed[1], "output.toy_every=0.125"}), without = config(fixed);
  const auto plan = plan_run(with);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.steps, 32);
  EXPECT_EQ(plan.device_bytes, plan_run(without).device_bytes);
  const auto particles = make_model("plummer", with.particles.options);
  const auto device = Device::open("cpu", 1);
  const auto audit = audit_forces(with.solver_options(), device, particles, 10);
  EXPECT_EQ(audit.errors.sample, 10);
  EXPECT_EQ(audit.forces.ax, audit_forces(without.solver_options(), device, particles, 10).forces.ax);
}

TEST_F(ToyOutputs, AreGoneWithTheRunThatIsReplaced) {
  run_system(config({"output.toy_every=0.125"}), options("a"));
  auto o = options("a");
  o.overwrite = true;
  run_system(config({}), o);
  EXPECT_FALSE(fs::exists(folder_ / "a" / "toy.csv"));
}

TEST_F(ToyOutputs, HaveAKeyThatIsReadCheckedAndShown) {
  EXPECT_NE(config_text(config({"output.toy_every=0.25"})).find("toy_every = 0.25"), std::string::npos);
  EXPECT_THROW(config({"output.toy_every=-1"}), Error);
  EXPECT_THROW(config({"output.toy_evry=1"}), Error);
}

}  // namespace
}  // namespace pergola

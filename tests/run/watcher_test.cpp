#include "run/watcher.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "run/run.hpp"
#include "sim/system.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

namespace fs = std::filesystem;

class WatchedRuns : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    folder_ = fs::temp_directory_path() / ("pergola-watched-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  RunConfig config(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> sets{"run.end_time=0.3",           "time.integrator=leapfrog",
                                  "output.snapshots_every=0.1", "output.energy_every=0.05",
                                  "gravity.softening=0.01",     "output.checkpoint_every_minutes=0",
                                  "run.device=" + GetParam()};
    sets.insert(sets.end(), more.begin(), more.end());
    return parse_config("[particles]\nmodel = \"plummer\"\nn = 100\n", "test", sets);
  }
  RunOptions options(const std::string& name, RunWatcher* watcher = nullptr) const {
    RunOptions o;
    o.directory = folder_ / name;
    o.watcher = watcher;
    return o;
  }
  nlohmann::json record(const std::string& name) const {
    std::ifstream file(folder_ / name / "run.json");
    return nlohmann::json::parse(file);
  }
  std::string final_state(const std::string& name) const { return record(name).at("hashes").at("final_state"); }
  std::int64_t checkpoints(const std::string& name) const {
    const fs::path folder = folder_ / name / "checkpoint";
    return fs::exists(folder) ? std::distance(fs::directory_iterator(folder), fs::directory_iterator()) : 0;
  }

  fs::path folder_;
};

/// Wants to see everything, and takes samples of many sizes.
struct Onlooker final : RunWatcher {
  std::vector<double> seen;
  std::int64_t most = 1;

  RunWishes look(double, std::int64_t) override { return {.show = true}; }
  void show(System& system) override {
    seen.push_back(system.time());
    const std::int64_t wanted = most = most % 120 + 1;
    const Particles sample = system.sample(wanted);
    EXPECT_EQ(sample.size(), std::min(wanted, system.size()));
  }
};

// Reference: the same runs with nobody looking on.
TEST_P(WatchedRuns, HaveTheBitsOfOnesThatNobodyWatches) {
  for (const std::string sets : {"gravity.solver=direct", "gravity.solver=tree", "time.steps=block"}) {
    const auto c = config({sets});
    run_system(c, options("alone" + sets));
    Onlooker onlooker;
    run_system(c, options("watched" + sets, &onlooker));
    EXPECT_EQ(final_state("watched" + sets), final_state("alone" + sets)) << sets;
    ASSERT_GT(onlooker.seen.size(), 2u);
    EXPECT_EQ(onlooker.seen.front(), 0);
    EXPECT_EQ(onlooker.seen.back(), 0.3);
    EXPECT_TRUE(std::is_sorted(onlooker.seen.begin(), onlooker.seen.end()));
    EXPECT_FALSE(record("watched" + sets).contains("control"));
  }
}

TEST_P(WatchedRuns, HaveTheBitsOfHermiteRunsThatNobodyWatches) {
  const auto c = config({"time.integrator=hermite"});
  run_system(c, options("alone"));
  Onlooker onlooker;
  run_system(c, options("watched", &onlooker));
  EXPECT_EQ(final_state("watched"), final_state("alone"));
}

TEST_P(WatchedRuns, HaveTheBitsOfPlasmasThatNobodyWatches) {
  const auto c = parse_config(
      "[run]\nend_time = 3\n[plasma]\nbackground = true\ncells = [16, 16]\n[[plasma.species]]\nname = \"electrons\"\n"
      "charge = -1\nmass = 1\nparticles_per_cell = 4\ntemperature = 1\n[time]\nstep = 0.1\n",
      "test", {"run.device=" + GetParam()});
  run_system(c, options("alone"));
  Onlooker onlooker;
  run_system(c, options("watched", &onlooker));
  EXPECT_EQ(final_state("watched"), final_state("alone"));
  EXPECT_EQ(onlooker.seen.back(), 3);
}

/// Holds the run after 7 steps for some looks, lets it take two steps one by one, asks for a checkpoint, and lets go.
struct Holder final : RunWatcher {
  std::vector<std::int64_t> looks;  // steps at each
  int held = 0;

  RunWishes look(double, std::int64_t steps) override {
    looks.push_back(steps);
    if (steps < 7 || held >= 30) return {};
    RunWishes wishes{.pace = Pace::held};
    if (++held == 1) wishes.commands = {"pause"};
    if (held == 10) wishes = {.pace = Pace::one_step, .commands = {"step"}};
    if (held == 20) wishes.checkpoint = true;
    if (held == 25) wishes = {.pace = Pace::one_step, .commands = {"step"}};
    if (held == 30) wishes = {.commands = {"go"}};
    return wishes;
  }
  void show(System&) override {}
};

TEST_P(WatchedRuns, AreHeldAndTakeSingleSteps) {
  const auto c = config({"time.adaptive=true", "output.snapshots_every=0", "output.energy_every=0"});
  run_system(c, options("alone"));
  ASSERT_GT(record("alone").at("totals").at("steps").get<int>(), 20);
  Holder holder;
  std::string said;
  auto o = options("held", &holder);
  o.log = Log([&](LogLevel, std::string_view text) { said += std::string(text) + "\n"; });
  run_system(c, o);
  EXPECT_EQ(final_state("held"), final_state("alone"));
  const auto at = [&](std::int64_t steps) { return std::count(holder.looks.begin(), holder.looks.end(), steps); };
  EXPECT_EQ(at(7), 10);  // the times 1 … 10 that it was held
  EXPECT_EQ(at(8), 15);  // 11 … 25
  EXPECT_EQ(at(9), 5);   // 26 … 30
  EXPECT_EQ(checkpoints("held"), 2);
  EXPECT_EQ(checkpoints("alone"), 1);
  const auto control = record("held").at("control");
  ASSERT_EQ(control.size(), 4u);
  EXPECT_EQ(control[0].at("command"), "pause");
  EXPECT_EQ(control[0].at("steps"), 7);
  EXPECT_EQ(control[1].at("command"), "step");
  EXPECT_EQ(control[3].at("command"), "go");
  EXPECT_EQ(control[3].at("steps"), 9);
  EXPECT_NE(said.find("told to pause at time"), std::string::npos) << said;
}

/// Holds the run after 3 steps for a while.
struct Waiter final : RunWatcher {
  std::optional<Clock::time_point> begin;
  double seconds = 0;

  RunWishes look(double, std::int64_t steps) override {
    if (steps < 3 || seconds > 0) return {};
    if (!begin) begin = Clock::now();
    if (seconds_since(*begin) < 0.3) return {.pace = Pace::held};
    seconds = seconds_since(*begin);
    return {};
  }
  void show(System&) override {}
};

// However slow the machine is: the steps took at most what is left of the call's time without the pause.
TEST_P(WatchedRuns, DoNotCountThePauseInTheirRate) {
  Waiter waiter;
  auto o = options("held", &waiter);
  double rate = 0;
  o.progress = [&](const RunProgress& progress) { rate = progress.particle_steps_per_second; };
  const auto begin = Clock::now();
  const auto summary = run_system(config({"time.adaptive=true"}), o);
  const double rest = seconds_since(begin) - waiter.seconds;
  EXPECT_GE(waiter.seconds, 0.3);
  EXPECT_GT(rate, static_cast<double>(summary.counts.particle_steps) / rest);
}

/// Holds for good.
struct Stopper final : RunWatcher {
  RunWishes look(double, std::int64_t steps) override {
    if (steps < 12) return {};
    RunWishes wishes{.pace = Pace::held};
    if (first) wishes.commands = {"pause"};
    first = false;
    return wishes;
  }
  void show(System&) override {}
  bool first = true;
};

TEST_P(WatchedRuns, EndWithACheckpointWhileTheyAreHeld) {
  const auto c = config({"time.adaptive=true"});
  run_system(c, options("alone"));
  Stopper stopper;
  auto o = options("held", &stopper);
  int asked_while_held = 0;
  o.interrupted = [&] { return !stopper.first && ++asked_while_held > 5; };
  EXPECT_EQ(run_system(c, o).status, RunStatus::interrupted);
  EXPECT_EQ(checkpoints("held"), 1);
  auto again = options("held");
  again.resume = true;
  EXPECT_EQ(run_system(c, again).status, RunStatus::finished);
  EXPECT_EQ(final_state("held"), final_state("alone"));
  // What the session before was told is still written.
  EXPECT_EQ(record("held").at("control").size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Devices, WatchedRuns, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

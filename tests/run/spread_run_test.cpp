#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "io/checkpoint.hpp"
#include "marks.hpp"
#include "run/run.hpp"
#include "sim/system.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");
PERGOLA_MARK(heavy, "*DistributedRuns.OfAnExpandingUniverseWithTreePmLeaveTheFilesOfOneRank*");

namespace fs = std::filesystem;

/// Runs whose ranks keep their own particles: what they leave is what one rank leaves.
class DistributedRuns : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("pergola-spread-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static RunConfig config(const std::vector<std::string>& more = {}) {
    std::vector<std::string> sets{"run.end_time=0.5",
                                  "run.device=cpu",
                                  "run.threads=1",
                                  "gravity.solver=mesh",
                                  "gravity.mesh.cells=16",
                                  "gravity.mesh.boundary=isolated",
                                  "time.step=0.0625",
                                  "time.integrator=leapfrog",
                                  "output.snapshots_every=0.2",
                                  "output.energy_every=0.1",
                                  "output.force_audit_every=4",
                                  "expect.half_mass_radius={ expected = 0.77, tolerance = 0.5 }",
                                  "expect.return_distance=2"};
    sets.insert(sets.end(), more.begin(), more.end());
    return parse_config("[particles]\nmodel = \"plummer\"\nn = 90\n", "test", sets);
  }

  static RunConfig tree() { return config({"gravity.solver=tree", "particles.n=300", "output.snapshots_every=0.25"}); }

  /// A small box of the universe.
  static RunConfig universe(const std::vector<std::string>& more = {}) {
    return parse_config(R"([run]
end_redshift = 9
device = "cpu"
threads = 1
[particles]
model = "cosmology"
n = "8^3"
box = 100
redshift = 19
[cosmology]
omega_matter = 0.3
omega_lambda = 0.7
omega_baryon = 0.045
h = 0.7
sigma8 = 0.8
n_s = 0.96
[gravity]
solver = "mesh"
[gravity.mesh]
cells = 16
)",
                        "test", more);
  }

  /// Asks to be shown a sample after every step.
  struct Watcher final : RunWatcher {
    RunWishes look(double /*time*/, std::int64_t /*steps*/) override { return {.show = true}; }
    void show(System& system) override { seen.push_back(system.sample(20).vx); }
    std::vector<std::vector<double>> seen;
  };

  enum class Until { end, first_look };
  /// On so many ranks, to the end or until the run first asks whether it is interrupted.
  RunStatus run(int ranks, const RunConfig& used, const std::string& name, Until until = Until::end,
                bool resume = false, RunWatcher* watcher = nullptr) const {
    RunStatus status = RunStatus::finished;
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      RunOptions options;
      options.directory = folder_ / name;
      options.resume = resume;
      if (communicator.is_root()) options.watcher = watcher;
      if (until == Until::first_look) options.interrupted = [] { return true; };
      const auto summary =
          run_system(used, options, std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
      if (communicator.is_root()) status = summary.status;
    });
    return status;
  }

  static std::string text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream stream;
    stream << file.rdbuf();
    return stream.str();
  }

  /// Snapshots and logs by name, logs without the wall clock; hashes of the particles.
  std::map<std::string, std::string> left_by(const std::string& name) const {
    std::map<std::string, std::string> left;
    for (const auto& entry : fs::directory_iterator(folder_ / name)) {
      const std::string file = entry.path().filename().string();
      if (file.ends_with(".hdf5")) left[file] = text(entry.path());
      if (file == "lagrangian.csv" || file == "audit.csv") left[file] = text(entry.path());
      if (file == "energy.csv") {
        std::istringstream lines(text(entry.path()));
        for (std::string line; std::getline(lines, line);) left[file] += line.substr(0, line.rfind(',')) + "\n";
      }
    }
    const auto record = nlohmann::json::parse(text(folder_ / name / "run.json"));
    left["final state"] = record.at("hashes").at("final_state").dump();
    left["checks"] = record.at("checks").dump();
    return left;
  }

  void expect_same(const std::string& a, const std::string& b) const {
    const auto one = left_by(a), other = left_by(b);
    EXPECT_GE(one.size(), 5u);
    ASSERT_EQ(one.size(), other.size());
    for (const auto& [file, contents] : one) EXPECT_TRUE(other.at(file) == contents) << file << " of " << a;
  }

  fs::path folder_;
};

TEST_F(DistributedRuns, LeaveTheFilesOfOneRank) {
  run(1, config(), "one");
  for (const int ranks : {2, 3, 4, 7}) {
    const std::string name = std::to_string(ranks);
    EXPECT_EQ(run(ranks, config(), name), RunStatus::finished);
    expect_same(name, "one");
    const auto checkpoint = read_newest_checkpoint(folder_ / name / "checkpoint", nullptr);
    const auto of_one = read_newest_checkpoint(folder_ / "one" / "checkpoint", nullptr);
    ASSERT_TRUE(checkpoint && of_one);
    ASSERT_EQ(checkpoint->blocks.blocks().size(), of_one->blocks.blocks().size());
    for (const auto& [block, bytes] : of_one->blocks.blocks())
      EXPECT_EQ(checkpoint->blocks.blocks().at(block), bytes) << block << " of " << name;
  }
}

TEST_F(DistributedRuns, OfAnExpandingUniverseLeaveTheFilesOfOneRank) {
  run(1, universe(), "one");
  EXPECT_EQ(run(3, universe(), "three"), RunStatus::finished);
  expect_same("three", "one");
  EXPECT_EQ(run(4, universe(), "resumed", Until::first_look), RunStatus::interrupted);
  EXPECT_EQ(run(2, universe(), "resumed", Until::end, true), RunStatus::finished);
  expect_same("resumed", "one");
}

// Its softening changes with the scale factor.
TEST_F(DistributedRuns, OfAnExpandingUniverseWithTreePmLeaveTheFilesOfOneRank) {
  const RunConfig used =
      universe({"gravity.solver=treepm", "gravity.tree.accuracy=1e-2", "gravity.softening=0.5",
                "gravity.softening_max_proper=0.04", "output.snapshots_every=0.3", "output.energy_every=0.2"});
  run(1, used, "one");
  EXPECT_EQ(run(3, used, "three"), RunStatus::finished);
  expect_same("three", "one");
  EXPECT_EQ(run(4, used, "resumed", Until::first_look), RunStatus::interrupted);
  EXPECT_EQ(run(2, used, "resumed", Until::end, true), RunStatus::finished);
  expect_same("resumed", "one");
}

TEST_F(DistributedRuns, WithBlockStepsLeaveTheFilesOfOneRank) {
  const RunConfig used = config({"gravity.solver=tree", "particles.n=300", "time.steps=block", "time.step_max=0.0625",
                                 "gravity.softening=0.01", "output.force_audit_every=5"});
  run(1, used, "one");
  EXPECT_EQ(run(3, used, "three"), RunStatus::finished);
  expect_same("three", "one");
  EXPECT_EQ(run(4, used, "resumed", Until::first_look), RunStatus::interrupted);
  EXPECT_EQ(run(2, used, "resumed", Until::end, true), RunStatus::finished);
  expect_same("resumed", "one");
}

TEST_F(DistributedRuns, WithATreeLeaveTheFilesOfOneRank) {
  run(1, tree(), "one");
  EXPECT_EQ(run(3, tree(), "three"), RunStatus::finished);
  expect_same("three", "one");
  EXPECT_EQ(run(4, tree(), "resumed", Until::first_look), RunStatus::interrupted);
  EXPECT_EQ(run(2, tree(), "resumed", Until::end, true), RunStatus::finished);
  expect_same("resumed", "one");
}

// The sample of a moment is that of one rank; the other ranks give their part of it.
TEST_F(DistributedRuns, AreShownToWhoWatches) {
  Watcher one, three;
  run(1, config(), "one", Until::end, false, &one);
  EXPECT_EQ(run(3, config(), "three", Until::end, false, &three), RunStatus::finished);
  expect_same("three", "one");
  ASSERT_GE(one.seen.size(), 2u);
  ASSERT_GE(three.seen.size(), 2u);
  EXPECT_EQ(one.seen.front().size(), 20u);
  EXPECT_EQ(three.seen.front(), one.seen.front());
  EXPECT_EQ(three.seen.back(), one.seen.back());
}

TEST_F(DistributedRuns, AreResumedOnAnyNumberOfRanks) {
  run(1, config(), "one");
  EXPECT_EQ(run(3, config(), "resumed", Until::first_look), RunStatus::interrupted);
  EXPECT_EQ(run(1, config(), "resumed", Until::first_look, true), RunStatus::interrupted);
  EXPECT_EQ(run(4, config(), "resumed", Until::end, true), RunStatus::finished);
  expect_same("resumed", "one");
}

}  // namespace
}  // namespace pergola

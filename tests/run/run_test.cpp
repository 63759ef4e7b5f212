#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "analysis/force_audit.hpp"
#include "io/checkpoint.hpp"
#include "io/snapshot.hpp"
#include "marks.hpp"
#include "run/run.hpp"
#include "sim/gravity_system.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(heavy, "*ManagedRuns.ForceAuditMeasuresTheErrorThatForceFinds*");

namespace fs = std::filesystem;

class ManagedRuns : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    folder_ = fs::temp_directory_path() / ("pergola-run-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  RunConfig config(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> sets{"run.end_time=0.3", "output.snapshots_every=0.1", "output.energy_every=0.05",
                                  "run.device=" + GetParam()};
    sets.insert(sets.end(), more.begin(), more.end());
    return parse_config("[particles]\nmodel = \"plummer\"\nn = 100\n", "test", sets);
  }
  RunOptions options(const std::string& name) const {
    RunOptions o;
    o.directory = folder_ / name;
    return o;
  }
  /// Runs with an interrupt after every `steps` pauses, resuming until the end; returns the number of sessions.
  int run_in_pieces(const RunConfig& c, RunOptions o, int steps) const {
    o.resume = true;
    for (int session = 1; session < 1000; ++session) {
      int asked = 0;
      o.interrupted = [&] { return ++asked >= steps; };
      if (run_system(c, o).status != RunStatus::interrupted) return session;
    }
    return 0;
  }
  static std::string text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream stream;
    stream << file.rdbuf();
    return stream.str();
  }
  /// energy.csv without its last column, the wall clock.
  static std::string energies(const fs::path& directory) {
    std::istringstream lines(text(directory / "energy.csv"));
    std::string line, all;
    while (std::getline(lines, line)) all += line.substr(0, line.rfind(',')) + "\n";
    return all;
  }
  static void expect_same_run(const fs::path& a, const fs::path& b) {
    EXPECT_EQ(energies(a), energies(b));
    int count = 0;
    for (const auto& entry : fs::directory_iterator(a))
      if (entry.path().extension() == ".hdf5") {
        ++count;
        expect_same_snapshot(entry.path(), b / entry.path().filename());
      }
    EXPECT_GE(count, 2);
    for (const auto& entry : fs::directory_iterator(b))
      EXPECT_TRUE(fs::exists(a / entry.path().filename())) << entry.path();
  }
  static void expect_same_snapshot(const fs::path& a, const fs::path& b) {
    const auto one = read_snapshot(a), two = read_snapshot(b);
    EXPECT_EQ(one.header.time, two.header.time);
    EXPECT_EQ(one.particles.id, two.particles.id);
    EXPECT_EQ(one.particles.x, two.particles.x);
    EXPECT_EQ(one.particles.vz, two.particles.vz);
    EXPECT_EQ(one.particles.potential, two.particles.potential);
  }
  static void expect_error(ErrorKind kind, const std::string& part, const std::function<void()>& action) {
    try {
      action();
      FAIL() << "expected an error about " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }

  fs::path folder_;
};

TEST_P(ManagedRuns, LeaveTheFilesOfTheContract) {
  const auto summary = run_system(config(), options("a"));
  EXPECT_EQ(summary.status, RunStatus::finished);
  const auto directory = folder_ / "a";
  for (const char* name : {"run.json", "energy.csv", "profile.csv", "snap_000.hdf5", "snap_003.hdf5", "checkpoint"})
    EXPECT_TRUE(fs::exists(directory / name)) << name;
  EXPECT_FALSE(fs::exists(directory / "snap_004.hdf5"));
  EXPECT_FALSE(fs::exists(directory / ".lock"));
  const auto record = nlohmann::json::parse(text(directory / "run.json"));
  EXPECT_EQ(record.at("status"), "finished");
  EXPECT_EQ(record.at("configuration").at("particles").at("n"), 100);
  EXPECT_LT(std::abs(record.at("energy_error").get<double>()), 1e-6);
  EXPECT_FALSE(record.at("checks").empty());
  EXPECT_EQ(read_snapshot(directory / "snap_001.hdf5").header.time, 0.1);
  EXPECT_EQ(read_snapshot(directory / "snap_003.hdf5").header.time, 0.3);
  // Header, start, 0.05 … 0.25, end.
  const auto log = text(directory / "energy.csv");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 8);
}

TEST_P(ManagedRuns, ProgressShowsTheEnergyErrorOnceItIsMeasuredAndAtTheEndThatOfTheSummary) {
  auto o = options("a");
  std::vector<std::optional<double>> shown;
  o.progress = [&](const RunProgress& progress) { shown.push_back(progress.energy_error); };
  const auto summary = run_system(config({"output.energy_every=0"}), o);
  ASSERT_FALSE(shown.empty());
  EXPECT_EQ(shown.back(), summary.energy_error);
  shown.pop_back();
  for (const auto& error : shown) EXPECT_FALSE(error.has_value());
}

// Steps of a box of the universe are of about equal length in ln a, and so is the work.
TEST_P(ManagedRuns, ProgressOfAnExpandingUniverseIsThatOfTheLogarithm) {
  auto o = options("a");
  std::vector<RunProgress> shown;
  o.progress = [&](const RunProgress& progress) { shown.push_back(progress); };
  int pauses = 0;
  o.interrupted = [&] {  // longer than progress waits between two reports
    if (++pauses < 3) std::this_thread::sleep_for(std::chrono::milliseconds(110));
    return false;
  };
  const auto c =
      parse_config("[particles]\nmodel = \"cosmology\"\nn = 64\n[gravity]\nsolver = \"mesh\"\n", "test",
                   {"gravity.mesh.cells=8", "run.end_time=0.5", "output.energy_every=0.2", "run.device=" + GetParam()});
  run_system(c, o);
  ASSERT_GT(shown.size(), 1U);
  for (const auto& progress : shown) {
    EXPECT_NEAR(progress.fraction, std::log(progress.time / 0.02) / std::log(25), 1e-12);
    EXPECT_GE(progress.seconds_left, 0);
  }
  EXPECT_GT(shown.front().fraction, 0);
  EXPECT_EQ(shown.back().fraction, 1);
}

// A job that is ended again and again, each time at the first look, comes to its end.
TEST_P(ManagedRuns, EverySessionMakesProgress) {
  const auto c = config({"time.integrator=leapfrog", "time.step=0.03", "output.energy_every=0.05"});
  run_system(c, options("whole"));
  EXPECT_GT(run_in_pieces(c, options("pieces"), 1), 5);
  expect_same_run(folder_ / "whole", folder_ / "pieces");
}

TEST_P(ManagedRuns, ResumedHermiteRunIsBitIdentical) {
  run_system(config(), options("whole"));
  EXPECT_GT(run_in_pieces(config(), options("pieces"), GetParam() == "cuda" ? 1 : 37), 2);
  expect_same_run(folder_ / "whole", folder_ / "pieces");
}

TEST_P(ManagedRuns, ResumedLeapfrogRunsAreBitIdentical) {
  for (const std::string kind : {"false", "true"}) {
    const auto c = config({"time.integrator=leapfrog", "time.step=0.007", "time.adaptive=" + kind});
    run_system(c, options("whole" + kind));
    // A GPU takes steps in batches and is asked after each of them.
    EXPECT_GT(run_in_pieces(c, options("pieces" + kind), GetParam() == "cuda" ? 1 : 9), 2);
    expect_same_run(folder_ / ("whole" + kind), folder_ / ("pieces" + kind));
  }
}

TEST_P(ManagedRuns, ResumedBlockStepsOfTheLeapfrogAreBitIdentical) {
  for (const std::string solver : {"direct", "tree"}) {
    const auto c = config({"time.integrator=leapfrog", "time.steps=block", "gravity.solver=" + solver,
                           "gravity.softening=0.01", "particles.n=500"});
    run_system(c, options("whole" + solver));
    EXPECT_GT(run_in_pieces(c, options("pieces" + solver), 9), 2);
    expect_same_run(folder_ / ("whole" + solver), folder_ / ("pieces" + solver));
  }
}

// Reference: the same measurement on the first snapshot, as `pergola force` makes it.
// The times of the outputs count from the scale factor at the start: exp(ln a) may be another one, and is for 1 / 20.
TEST_P(ManagedRuns, ResumedExpandingUniverseIsBitIdentical) {
  const auto c = parse_config(R"([run]
end_redshift = 9
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
                              "test", {"run.device=" + GetParam()});
  run_system(c, options("whole"));
  EXPECT_GT(run_in_pieces(c, options("pieces"), 8), 1);
  expect_same_run(folder_ / "whole", folder_ / "pieces");
}

TEST_P(ManagedRuns, ForceAuditMeasuresTheErrorThatForceFinds) {
  const std::vector<std::string> tree{
      "time.integrator=leapfrog",      "gravity.solver=tree", "particles.n=3000",
      "gravity.softening=0.01",        "time.step=0.01",      "output.force_audit_every=5",
      "output.force_audit_sample=200", "run.end_time=0.1"};
  for (const std::string steps : {"shared", "block"}) {
    auto sets = tree;
    sets.push_back("time.steps=" + steps);
    const auto c = config(sets);
    run_system(c, options(steps));
    std::istringstream lines(text(folder_ / steps / "audit.csv"));
    std::string header, line;
    std::getline(lines, header);
    EXPECT_EQ(header, "time,step,sample,median,rms,p99,max");
    const auto errors = audit_forces(c.solver_options(), Device::open(GetParam(), 1),
                                     read_snapshot(folder_ / steps / "snap_000.hdf5").particles, 200)
                            .errors;
    int rows = 0;
    for (; std::getline(lines, line); ++rows) {
      std::istringstream cells(line);
      std::vector<double> values;
      for (std::string cell; std::getline(cells, cell, ',');) values.push_back(std::stod(cell));
      ASSERT_EQ(values.size(), 7u);
      EXPECT_EQ(values[1], 5 * rows);
      EXPECT_EQ(values[2], 200);
      EXPECT_LT(values[3], 1e-3);
      EXPECT_LT(values[5], 6e-3);
      if (rows > 0) continue;
      EXPECT_EQ(values[0], 0);
      EXPECT_NEAR(values[3] / errors.median, 1, 1e-9);
      EXPECT_NEAR(values[4] / errors.rms, 1, 1e-9);
      EXPECT_NEAR(values[5] / errors.p99, 1, 1e-9);
      EXPECT_NEAR(values[6] / errors.max, 1, 1e-9);
    }
    EXPECT_GE(rows, 2);
  }
}

TEST_P(ManagedRuns, ForceAuditGoesOnAfterAResumeAndAltersNothing) {
  for (const std::string steps : {"shared", "block"}) {
    const std::vector<std::string> common{"time.integrator=leapfrog", "gravity.solver=tree", "particles.n=600",
                                          "gravity.softening=0.01",   "time.steps=" + steps, "time.step=0.004",
                                          "run.end_time=0.1"};
    auto audited = common;
    audited.insert(audited.end(), {"output.force_audit_every=4", "output.force_audit_sample=50"});
    run_system(config(common), options("plain" + steps));
    run_system(config(audited), options("whole" + steps));
    EXPECT_GT(run_in_pieces(config(audited), options("pieces" + steps), 3), 2);
    EXPECT_EQ(text(folder_ / ("whole" + steps) / "audit.csv"), text(folder_ / ("pieces" + steps) / "audit.csv"));
    expect_same_run(folder_ / ("whole" + steps), folder_ / ("pieces" + steps));
    EXPECT_EQ(energies(folder_ / ("whole" + steps)), energies(folder_ / ("plain" + steps)));
  }
}

TEST_P(ManagedRuns, SumOverAllPairsHasNothingToAudit) {
  auto o = options("a");
  std::string said;
  o.log = Log([&](LogLevel, std::string_view sentence) { said += sentence; });
  run_system(config({"output.force_audit_every=10"}), o);
  EXPECT_NE(said.find("force_audit_every"), std::string::npos) << said;
  EXPECT_FALSE(fs::exists(folder_ / "a" / "audit.csv"));
}

TEST_P(ManagedRuns, OutputsDoNotAlterTheTrajectory) {
  run_system(config(), options("many"));
  run_system(config({"output.snapshots_every=0", "output.energy_every=0"}), options("few"));
  expect_same_snapshot(folder_ / "many" / "snap_003.hdf5", folder_ / "few" / "snap_001.hdf5");
}

TEST_P(ManagedRuns, FinishedRunIsLeftAloneAndALongerOneGoesOnBitIdentically) {
  run_system(config({"run.end_time=0.17"}), options("a"));
  const auto before = text(folder_ / "a" / "run.json");
  auto again = options("a");
  again.resume = true;
  EXPECT_EQ(run_system(config({"run.end_time=0.17"}), again).status, RunStatus::finished_before);
  EXPECT_EQ(text(folder_ / "a" / "run.json"), before);
  EXPECT_EQ(run_system(config(), again).status, RunStatus::finished);
  run_system(config(), options("whole"));
  const auto kept = folder_ / "a" / "earlier_001";  // the end of the shorter run, at which the longer has no snapshot
  EXPECT_EQ(text(kept / "run.json"), before);
  fs::remove_all(kept);
  expect_same_run(folder_ / "whole", folder_ / "a");
}

TEST_P(ManagedRuns, ResumeRefusesAChangeOfPhysicsAndNamesTheKey) {
  auto o = options("a");
  o.interrupted = [] { return true; };
  run_system(config(), o);
  o.interrupted = nullptr;
  o.resume = true;
  expect_error(ErrorKind::input, "time.eta", [&] { run_system(config({"time.eta=0.01"}), o); });
  expect_error(ErrorKind::input, "particles.seed", [&] { run_system(config({"particles.seed=2"}), o); });
  EXPECT_EQ(run_system(config({"run.threads=2", "output.energy_every=0.1"}), o).status, RunStatus::finished);
}

TEST_P(ManagedRuns, RefusedResumeLeavesTheRunAsItWas) {
  run_system(config(), options("a"));
  auto o = options("a");
  o.resume = true;
  fs::remove(folder_ / "a" / "run.json");
  const auto log = text(folder_ / "a" / "energy.csv");
  expect_error(ErrorKind::input, "run.end_time", [&] { run_system(config({"run.end_time=0.01"}), o); });
  expect_error(ErrorKind::input, "gravity.softening", [&] { run_system(config({"gravity.softening=1"}), o); });
  EXPECT_EQ(text(folder_ / "a" / "energy.csv"), log);
  EXPECT_TRUE(fs::exists(folder_ / "a" / "snap_003.hdf5"));
  EXPECT_EQ(run_system(config(), o).status, RunStatus::finished);
}

TEST_P(ManagedRuns, MissingEnergyLogDoesNotStopAResumedRun) {
  auto o = options("a");
  o.interrupted = [] { return true; };
  run_system(config(), o);
  fs::remove(folder_ / "a" / "energy.csv");
  o.interrupted = nullptr;
  o.resume = true;
  std::string warning;
  o.log = Log([&](LogLevel level, std::string_view said) {
    if (level == LogLevel::warning) warning += said;
  });
  EXPECT_EQ(run_system(config({"run.precision=mixed"}), o).status, RunStatus::finished);
  EXPECT_NE(warning.find("energy.csv"), std::string::npos) << warning;
}

TEST_P(ManagedRuns, EndTimeBeyondTheCountOfTicksIsRefused) {
  expect_error(ErrorKind::input, "time.step_max", [&] { run_system(config({"run.end_time=1e7"}), options("a")); });
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_P(ManagedRuns, DamagedNewestCheckpointFallsBackToTheOneBefore) {
  auto o = options("a");
  int asked = 0;
  const int patience = GetParam() == "cuda" ? 1 : 20;  // the GPU asks after a batch of steps
  o.interrupted = [&] { return ++asked == patience; };
  run_system(config(), o);
  o.resume = true;
  asked = 0;
  run_system(config(), o);
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(folder_ / "a" / "checkpoint"))
    newest = std::max(newest, entry.path());
  fs::resize_file(newest, fs::file_size(newest) - 10);
  std::string notice;
  o.notice = [&](const std::string& said) { notice += said; };
  o.interrupted = nullptr;
  EXPECT_EQ(run_system(config(), o).status, RunStatus::finished);
  EXPECT_NE(notice.find(newest.filename().string()), std::string::npos) << notice;
  run_system(config(), options("whole"));
  expect_same_run(folder_ / "whole", folder_ / "a");
}

TEST_P(ManagedRuns, GoingOnOnAnotherDeviceIsSaid) {
  run_system(config({"run.end_time=0.2"}), options("a"));
  auto o = options("a");
  o.resume = true;
  std::string notice;
  o.notice = [&](const std::string& said) { notice += said; };
  const fs::path checkpoints = folder_ / "a" / "checkpoint";
  auto checkpoint = read_newest_checkpoint(checkpoints, [](const std::string&) {});
  ASSERT_TRUE(checkpoint);
  auto description = nlohmann::json::parse(checkpoint->description);
  EXPECT_FALSE(description.at("computed_on").get<std::string>().empty());
  description["computed_on"] = "NVIDIA H200 NVL";
  checkpoint->description = description.dump();
  write_checkpoint(checkpoints, *checkpoint);
  run_system(config({"run.end_time=0.25"}), o);
  EXPECT_NE(notice.find("computed on NVIDIA H200 NVL so far, goes on on "), std::string::npos) << notice;
  notice.clear();
  run_system(config(), o);
  EXPECT_EQ(notice, "");
}

TEST_P(ManagedRuns, DirectoryThatIsNotEmptyIsRefusedUnlessOverwritten) {
  run_system(config(), options("a"));
  std::ofstream(folder_ / "a" / "mine.txt") << "keep";
  expect_error(ErrorKind::input, "not empty", [&] { run_system(config(), options("a")); });
  auto o = options("a");
  o.overwrite = true;
  EXPECT_EQ(run_system(config({"output.snapshots_every=0"}), o).status, RunStatus::finished);
  EXPECT_TRUE(fs::exists(folder_ / "a" / "mine.txt"));
  EXPECT_FALSE(fs::exists(folder_ / "a" / "snap_002.hdf5"));
}

TEST_P(ManagedRuns, DirectoryInUseIsRefusedAndTheProcessNamed) {
  fs::create_directories(folder_ / "a");
  const int other = ::open((folder_ / "a" / ".lock").c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(::write(other, "4711\n", 5), 5);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  expect_error(ErrorKind::input, "4711", [&] { run_system(config(), options("a")); });
  ::close(other);
  EXPECT_EQ(run_system(config(), options("a")).status, RunStatus::finished);
}

TEST_P(ManagedRuns, BadStartLeavesNoDirectoryBehind) {
  expect_error(ErrorKind::input, "nowhere.hdf5", [&] {
    run_system(parse_config("[particles]\nfile = \"nowhere.hdf5\"\n", "test", {"run.device=" + GetParam()}),
               options("a"));
  });
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_P(ManagedRuns, FailedCheckIsReportedAndDoesNotStopTheRun) {
  const auto summary = run_system(
      config({"expect.energy={ expected = 5, tolerance = 0.1 }", "expect.return_distance=100"}), options("a"));
  EXPECT_EQ(summary.status, RunStatus::finished);
  EXPECT_FALSE(summary.all_passed());
  bool seen = false;
  for (const auto& check : summary.checks)
    if (check.name == "return_distance") seen = check.passed && check.measured > 0;
  EXPECT_TRUE(seen);
}

TEST_P(ManagedRuns, SimulationGoesToAnyTimeAndEndsExactly) {
  GravitySystem one(config()), two(config());
  one.run_until(0.1);
  one.run_until(0.23);
  EXPECT_EQ(one.time(), 0.23);
  one.run_until(0.3);
  two.run_until(0.3);
  EXPECT_EQ(one.particles().x, two.particles().x);
  EXPECT_EQ(one.energies().total(), two.energies().total());
}

INSTANTIATE_TEST_SUITE_P(Devices, ManagedRuns, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

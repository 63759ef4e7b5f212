// What a run leaves behind of analyses, whole and in pieces, and a report card that is interrupted.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "run/run.hpp"

namespace pergola {
namespace {

namespace fs = std::filesystem;

class AnalysisOutputs : public testing::Test {
 protected:
  void SetUp() override { folder_ = fs::temp_directory_path() / ("pergola-analyses-" + std::to_string(::getpid())); }
  void TearDown() override { fs::remove_all(folder_); }

  RunOptions options(const std::string& name) const {
    RunOptions o;
    o.directory = folder_ / name;
    return o;
  }
  std::map<std::string, std::string> tables(const std::string& name, const std::string& begin) const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_ / name)) {
      const std::string file = entry.path().filename().string();
      if (!file.starts_with(begin)) continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      found[file] = text.str();
    }
    return found;
  }

  fs::path folder_;
};

RunConfig cube(const std::vector<std::string>& sets) {
  return parse_config(
      "[run]\ndevice = \"cpu\"\nthreads = 1\nend_time = 0.25\n[particles]\nmodel = \"cube\"\nn = 300\n"
      "[gravity]\nsolver = \"mesh\"\n[gravity.mesh]\ncells = 16\n[time]\nstep = 0.03125\n[output]\n"
      "snapshots_every = 0.1\nanalyses = [\"power\", \"groups\"]\n",
      "test", sets);
}

TEST_F(AnalysisOutputs, AreTheSameOfARunInPieces) {
  run_system(cube({}), options("whole"));
  const auto whole = tables("whole", "power_");
  EXPECT_EQ(whole.size(), 4u);
  EXPECT_EQ(tables("whole", "groups_").size(), 4u);
  EXPECT_NE(whole.at("power_000.csv"), whole.at("power_003.csv"));
  auto o = options("pieces");
  o.resume = true;
  int sessions = 0, asked = 0;
  o.interrupted = [&] { return ++asked % 4 == 0; };
  for (; run_system(cube({}), o).status == RunStatus::interrupted; ++sessions)
    std::ofstream(folder_ / "pieces" / "power_009.csv") << "of a moment that this run has not reached";
  EXPECT_GE(sessions, 2);
  EXPECT_EQ(tables("pieces", "power_"), whole);
}

TEST_F(AnalysisOutputs, OfPeriodicBoxesAreRefusedInOpenSpace) {
  const auto config = parse_config(
      "[run]\ndevice = \"cpu\"\nend_time = 0.1\n[particles]\nmodel = \"plummer\"\nn = 20\n[output]\nanalyses = "
      "[\"power\"]\n",
      "test");
  EXPECT_THROW(run_system(config, options("open")), Error);
  EXPECT_FALSE(fs::exists(folder_ / "open" / "run.json"));
}

// Reference: the same run without a signal.
TEST_F(AnalysisOutputs, AReportCardThatIsInterruptedIsFilledByTheRunThatGoesOn) {
  const auto config = parse_config(
      "[run]\ndevice = \"cpu\"\nthreads = 2\nend_redshift = 7\n[particles]\nmodel = \"cosmology\"\nn = \"32^3\"\nbox = "
      "200\nredshift = 9\n[gravity]\nsolver = \"mesh\"\n[gravity.mesh]\ncells = 64\nassignment = \"tsc\"\n",
      "test");
  const auto whole = run_system(config, options("whole"));
  ASSERT_TRUE(std::any_of(whole.checks.begin(), whole.checks.end(),
                          [](const Check& check) { return check.name == "power_over_linear"; }));
  bool at_end = false;
  auto o = options("pieces");
  o.progress = [&](const RunProgress& progress) { at_end = progress.time == progress.end_time; };
  o.interrupted = [&] { return at_end; };
  EXPECT_EQ(run_system(config, o).status, RunStatus::interrupted);
  EXPECT_TRUE(at_end);
  o = options("pieces");
  o.resume = true;
  std::string said;
  o.log = Log([&](LogLevel, std::string_view text) { said += text; });
  const auto resumed = run_system(config, o);
  EXPECT_EQ(resumed.status, RunStatus::finished);
  ASSERT_EQ(resumed.checks.size(), whole.checks.size());
  for (std::size_t k = 0; k < whole.checks.size(); ++k) EXPECT_EQ(resumed.checks[k].measured, whole.checks[k].measured);
  EXPECT_NE(said.find("report card: power spectrum"), std::string::npos);
  EXPECT_NE(tables("pieces", "profile.csv")["profile.csv"].find("report card: power"), std::string::npos);
}

}  // namespace
}  // namespace pergola

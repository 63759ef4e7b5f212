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
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / name)) {
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
    std::ofstream(folder_ / "pieces" / "tables" / "power_009.csv") << "of a moment that this run has not reached";
  EXPECT_GE(sessions, 2);
  EXPECT_EQ(tables("pieces", "power_"), whole);
}

/// Reference: the same numbers by hand; a mesh of 32 cells is trusted up to 8 waves per side, friends within 1.6
/// spacings of 300 particles are all.
TEST_F(AnalysisOutputs, HaveTheOptionsOfTheirTables) {
  const auto rows = [&](const std::string& run, const std::string& file) {
    const std::string text = tables(run, file)[file];
    return std::count(text.begin(), text.end(), '\n') - 1;  // −1: no such file
  };
  const std::vector<std::string> sets{"output.power.cells=32", "output.power.folds=0", "output.groups.linking=1.6",
                                      "output.groups.least=2"};
  const RunConfig config = cube(sets);
  EXPECT_EQ(config_text(parse_config(config_text(config), "again")), config_text(config));
  run_system(config, options("own"));
  EXPECT_EQ(rows("own", "power_000.csv"), 8);
  EXPECT_EQ(rows("own", "groups_003.csv"), 1);
  run_system(cube({}), options("usual"));
  EXPECT_GT(rows("usual", "power_000.csv"), 8);
  EXPECT_EQ(rows("usual", "groups_003.csv"), 0);
  EXPECT_NE(tables("own", "run.json")["run.json"].find("\"folds\": 0"), std::string::npos);

  // Other options of a resumed run, from there on.
  auto o = options("own");
  o.resume = true;
  run_system(cube({"run.end_time=0.5", "output.power.folds=1", "output.power.cells=32"}), o);
  EXPECT_EQ(rows("own", "power_000.csv"), 8);
  EXPECT_GT(rows("own", "power_005.csv"), 8);
}

TEST_F(AnalysisOutputs, OptionsThatCannotBeAreRefusedWhenTheyAreRead) {
  const auto refusal = [](const std::vector<std::string>& sets) -> std::string {
    try {
      cube(sets);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({"output.power.cells=12"}),
            "--set: output.power.cells: expected a multiple of 8 from 0 to 2048, found 12");
  EXPECT_EQ(refusal({"output.power.cell=8"}),
            "--set: output.power.cell: unknown key, expected one of cells, folds, shot-noise, species; did you mean "
            "output.power.cells?");
  EXPECT_EQ(refusal({"output.groups.species=dics"}),
            "--set: output.groups.species: expected all or some of gas, halo, disc, bulge, stars, boundary, found "
            "\"dics\"; did you mean \"disc\"?");
  EXPECT_EQ(refusal({"output.radii.center=middle"}),
            "--set: output.radii.center: expected density, potential, mass or three numbers such as 0,0,0.5, found "
            "\"middle\"");
  EXPECT_EQ(refusal({"output.radii.center=mass"}),
            "--set: output.radii.center: expected output.analyses to name \"radii\" beside it, found [power, groups]");
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
                          [](const Check& check) { return check.name == "power_over_start"; }));
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
  for (std::size_t k = 0; k < whole.checks.size(); ++k) {
    EXPECT_EQ(resumed.checks[k].measured, whole.checks[k].measured) << whole.checks[k].name;
    EXPECT_EQ(resumed.checks[k].tolerance, whole.checks[k].tolerance) << whole.checks[k].name;
  }
  EXPECT_NE(said.find("report card: power spectrum"), std::string::npos);
  EXPECT_NE(tables("pieces", "profile.csv")["profile.csv"].find("report card: power"), std::string::npos);
}

}  // namespace
}  // namespace pergola

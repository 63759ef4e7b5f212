#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/openpmd.hpp"
#include "run/plan.hpp"
#include "run/run.hpp"
#include "sim/plasma_system.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

namespace fs = std::filesystem;

const char* two_species = R"(
[run]
end_time = 3
[plasma]
cells = [32, 16]
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 20
temperature = 1
perturbation = { mode = [1, 0], amplitude = 0.1 }
[[plasma.species]]
name = "ions"
charge = 1
mass = 25
particles_per_cell = 9
temperature = 0.5
start = "random"
[time]
step = 0.1
[output]
energy_every = 0.25
snapshots_every = 1.05
)";

class PlasmaRuns : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    folder_ = fs::temp_directory_path() / ("pergola-plasma-run-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  RunConfig config(std::vector<std::string> sets = {}, const char* text = two_species) const {
    sets.push_back("run.device=" + GetParam());
    return parse_config(text, "test", sets);
  }
  RunOptions options(const std::string& name) const {
    RunOptions o;
    o.directory = folder_ / name;
    return o;
  }
  int run_in_pieces(const RunConfig& c, RunOptions o, int pauses) const {
    o.resume = true;
    for (int session = 1; session < 1000; ++session) {
      int asked = 0;
      o.interrupted = [&] { return ++asked >= pauses; };
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
  /// energy.csv by lines and columns, without the wall clock.
  static std::vector<std::vector<std::string>> energies(const fs::path& directory) {
    std::istringstream lines(text(directory / "energy.csv"));
    std::vector<std::vector<std::string>> rows;
    for (std::string line, cell; std::getline(lines, line);) {
      std::istringstream cells(line);
      rows.emplace_back();
      while (std::getline(cells, cell, ',')) rows.back().push_back(cell);
      rows.back().erase(rows.back().begin() + 11);
    }
    return rows;
  }
  static void expect_same_snapshot(const fs::path& a, const fs::path& b) {
    EXPECT_EQ(inspect_openpmd(a).time, inspect_openpmd(b).time);
    for (const char* mesh : {"rho", "phi", "E/x"}) EXPECT_EQ(read_openpmd_mesh(a, mesh), read_openpmd_mesh(b, mesh));
    for (const char* species : {"electrons", "ions"})
      for (const char* axis : {"x", "y", "vx", "vy"})
        EXPECT_EQ(read_openpmd_coordinate(a, species, axis), read_openpmd_coordinate(b, species, axis));
  }
  static void expect_same_run(const fs::path& a, const fs::path& b) {
    EXPECT_EQ(energies(a), energies(b));
    int count = 0;
    for (const auto& entry : fs::directory_iterator(a))
      if (entry.path().extension() == ".h5") {
        ++count;
        expect_same_snapshot(entry.path(), b / entry.path().filename());
      }
    EXPECT_GE(count, 2);
    for (const auto& entry : fs::directory_iterator(b))
      EXPECT_TRUE(fs::exists(a / entry.path().filename())) << entry.path();
  }

  fs::path folder_;
};

TEST_P(PlasmaRuns, LeaveTheFilesOfTheContract) {
  const auto summary = run_system(config({"expect.energy_error=1e-2"}), options("a"));
  EXPECT_EQ(summary.status, RunStatus::finished);
  ASSERT_EQ(summary.checks.size(), 1u);
  EXPECT_TRUE(summary.checks[0].passed);
  for (const char* name :
       {"run.json", "energy.csv", "profile.csv", "plasma_000000.h5", "plasma_000030.h5", "checkpoint"})
    EXPECT_TRUE(fs::exists(folder_ / "a" / name)) << name;
  EXPECT_FALSE(fs::exists(folder_ / "a" / "plasma_000003.h5"));
  const auto record = nlohmann::json::parse(text(folder_ / "a" / "run.json"));
  EXPECT_EQ(record.at("status"), "finished");
  EXPECT_EQ(record.at("n"), 512 * 29);
  EXPECT_EQ(record.at("totals").at("steps"), 30);
  EXPECT_EQ(record.at("totals").at("particle_steps"), 30 * 512 * 29);
  EXPECT_EQ(record.at("plasma").at("species").at(1).at("n"), 512 * 9);
  EXPECT_LT(std::abs(record.at("energy_error").get<double>()), 1e-2);
  const auto rows = energies(folder_ / "a");
  EXPECT_EQ(rows[0].back(), "kinetic_ions.y");
  for (const auto& row : std::vector(rows.begin() + 1, rows.end())) {
    const double kinetic = std::stod(row[1]), parts = std::stod(row[11]) + std::stod(row[14]);
    EXPECT_NEAR(std::stod(row[11]), std::stod(row[12]) + std::stod(row[13]), 1e-12 * kinetic);
    EXPECT_NEAR(kinetic, parts, 1e-12 * kinetic);
  }
}

TEST_P(PlasmaRuns, OutputsFallOnTheFirstStepNotBeforeThemAndTheEndIsExact) {
  run_system(config({"run.end_time=2.03"}), options("a"));
  const auto rows = energies(folder_ / "a");
  std::vector<double> times;
  for (std::size_t k = 1; k < rows.size(); ++k) times.push_back(std::stod(rows[k][0]));
  // Due at 0.25, 0.5, …: steps of 0.1. 2 is a step.
  const std::vector<double> expected{0, 0.3, 0.5, 0.8, 1.0, 1.3, 1.5, 1.8, 2.0, 2.03};
  ASSERT_EQ(times.size(), expected.size());
  for (std::size_t k = 0; k < times.size(); ++k) EXPECT_NEAR(times[k], expected[k], 1e-14);
  EXPECT_EQ(times.back(), 2.03);
  EXPECT_NEAR(inspect_openpmd(folder_ / "a" / "plasma_000011.h5").time, 1.1, 1e-12);
  EXPECT_NEAR(inspect_openpmd(folder_ / "a" / "plasma_000021.h5").time, 2.03, 1e-12);  // 2.1 lies behind the end
}

TEST_P(PlasmaRuns, AnIntervalShorterThanAStepIsEveryStep) {
  run_system(config({"run.end_time=1", "output.energy_every=1e-4"}), options("a"));
  EXPECT_EQ(energies(folder_ / "a").size(), 12u);  // names, start and ten steps
}

TEST_P(PlasmaRuns, AResumedRunIsBitIdentical) {
  for (const std::string precision : {"single", "double"}) {
    const auto c = config({"run.precision=" + precision});
    run_system(c, options("whole" + precision));
    EXPECT_GT(run_in_pieces(c, options("pieces" + precision), 2), 2);
    expect_same_run(folder_ / ("whole" + precision), folder_ / ("pieces" + precision));
  }
}

TEST_P(PlasmaRuns, ALongerRunGoesOnAsIfItHadBeenThatLong) {
  run_system(config({"run.end_time=1.27"}), options("a"));
  auto again = options("a");
  again.resume = true;
  EXPECT_EQ(run_system(config({"run.end_time=1.27"}), again).status, RunStatus::finished_before);
  EXPECT_EQ(run_system(config(), again).status, RunStatus::finished);
  run_system(config(), options("whole"));
  EXPECT_GT(fs::remove_all(folder_ / "a" / "earlier_001"), 2u);  // the shorter run's last snapshot and run.json
  expect_same_run(folder_ / "whole", folder_ / "a");
}

TEST_P(PlasmaRuns, ResumeRefusesAnotherPlasma) {
  auto o = options("a");
  o.interrupted = [] { return true; };
  run_system(config(), o);
  o.interrupted = nullptr;
  o.resume = true;
  for (const std::string change : {"plasma.species.ions.mass=30", "time.step=0.05", "plasma.shape=quadratic"}) try {
      run_system(config({change}), o);
      ADD_FAILURE() << change;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find("the run to resume was made with"), std::string::npos) << error.what();
    }
  EXPECT_EQ(run_system(config({"output.energy_every=0.5"}), o).status, RunStatus::finished);
}

TEST_P(PlasmaRuns, ThreadsDoNotChangeTheBits) {
  if (GetParam() == "cuda") GTEST_SKIP() << "threads are the CPU's";
  run_system(config({"run.threads=1"}), options("one"));
  run_system(config({"run.threads=3"}), options("three"));
  expect_same_run(folder_ / "one", folder_ / "three");
}

/// The plasma of `two_species` described in three systems of units: n₀ = 10¹⁶ m⁻³ and cells of 0.1 mm.
TEST_P(PlasmaRuns, UnitsChangeTheNumbersAndNotTheMotion) {
  PlasmaUnits si;
  si.lengths = PlasmaLengths::si;
  si.cell_m = 1e-4;
  si.omega_p_per_s = plasma_frequency_per_s(1e16);
  const double time = si.time().file, speed = si.velocity().file;
  // A temperature of 1 m_e (cell ω_p)² in eV.
  const double ev = electron_mass_kg * speed * speed / elementary_charge_c;
  const auto set = [](const std::string& key, double value) { return key + "=" + nlohmann::json(value).dump(); };
  std::string text = two_species;
  for (std::size_t at = 0; (at = text.find("temperature =", at)) != std::string::npos;)
    text.replace(at, 11, "temperature_ev");
  const RunConfig own = config({"run.end_time=2"});
  const RunConfig in_debye =
      config({"run.end_time=2", "plasma.lengths=debye", "plasma.cell_size=0.5",
              "plasma.species.electrons.temperature=0.25", "plasma.species.ions.temperature=0.125"});
  const RunConfig in_si =
      config({"units.system=si", set("run.end_time", 2 * time), set("time.step", 0.1 * time), "plasma.cell_size=1e-4",
              "plasma.species.electrons.density=1e16", "plasma.species.ions.density=1e16",
              set("plasma.species.electrons.temperature_ev", ev), set("plasma.species.ions.temperature_ev", 0.5 * ev)},
             text.c_str());
  PlasmaSystem a(own), b(in_debye), c(in_si);
  a.finish(), b.finish(), c.finish();
  EXPECT_EQ(a.counts().steps, 20);
  EXPECT_EQ(c.counts().steps, 20);
  EXPECT_NEAR(c.time() / time, 2, 1e-12);
  const Energies ea = a.measure().energies, eb = b.measure().energies, ec = c.measure().energies;
  // Single precision: the thermal velocities differ in their last bit.
  EXPECT_NEAR(eb.kinetic / ea.kinetic, std::pow(0.5, 4), 1e-5 * std::pow(0.5, 4));
  EXPECT_NEAR(eb.potential / ea.potential, std::pow(0.5, 4), 1e-4 * std::pow(0.5, 4));
  const double joule_per_metre = electron_mass_kg * 1e16 * 1e-4 * 1e-4 * speed * speed;
  EXPECT_NEAR(ec.kinetic / ea.kinetic, joule_per_metre, 1e-5 * joule_per_metre);
  EXPECT_NEAR(ec.potential / ea.potential, joule_per_metre, 1e-4 * joule_per_metre);
}

TEST_P(PlasmaRuns, APlanKnowsParticlesStepsAndBytes) {
  const RunPlan plan = plan_run(config({"run.end_time=2.03"}));
  EXPECT_EQ(plan.n, 512 * 29);
  EXPECT_EQ(plan.steps, 21);
  EXPECT_TRUE(plan.fits);
  EXPECT_GT(plan.device_bytes, 16.0 * 512 * 29);
  EXPECT_GT(plan.seconds, 0);
  ASSERT_EQ(plan.warnings.size(), 1u);  // T = 0.5
  EXPECT_NE(plan.warnings[0].find("a cell is 1.41 Debye lengths of ions"), std::string::npos);
  EXPECT_EQ(plan_run(config({"time.step=0.5"})).warnings.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Devices, PlasmaRuns, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

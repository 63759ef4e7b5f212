// Units, combinations that cannot work, and what is checked beyond single values.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.hpp"
#include "config/config.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {
namespace {

/// The message with which this text is refused; empty when it is not.
std::string refusal(const std::string& text, const std::vector<std::string>& sets = {}) {
  try {
    parse_config(text, "run.toml", sets);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "";
}

// Reference: IAU 2015 nominal GM of the Sun; Kepler's third law for the Earth (4 pi^2 to the 3e-5 by which its year is
// longer than the Gaussian one); G = 4.30091e-3 pc (km/s)^2 per solar mass (IAU constants).
TEST(ConfigChecks, AstronomersUnitsHaveNewtonsConstant) {
  const auto constant = [](const std::string& text) { return parse_config(text, "").gravitational_constant(); };
  EXPECT_NEAR(constant("units.system = \"solar\"\n") / (4 * 9.869604401089358), 1, 1e-4);
  EXPECT_NEAR(constant("units.system = \"stellar\"\n") / 4.30091e-3, 1, 1e-5);
  EXPECT_NEAR(constant("units.system = \"galactic\"\n") / 4.30091e-6, 1, 1e-5);
  const std::string kilometres = "[units]\nsystem = \"custom\"\nlength_m = 1e3\nmass_kg = 1\n";
  EXPECT_NEAR(constant(kilometres + "velocity_m_per_s = 1e3\n") / 6.67430e-20, 1, 1e-12);
  EXPECT_NEAR(constant(kilometres + "time_s = 1\n") / 6.67430e-20, 1, 1e-12);
  EXPECT_NEAR(constant("[units]\nsystem = \"custom\"\nlength_cm = 1\nmass_g = 1\ntime_s = 1\n") / 6.67430e-8, 1, 1e-12);
  const std::string text = config_text(parse_config(kilometres + "time_s = 2\n", "run.toml"));
  EXPECT_EQ(config_text(parse_config(text, "again.toml")), text);
}

TEST(ConfigChecks, UnitsThatContradictAreRefused) {
  EXPECT_EQ(refusal("[units]\nsystem = \"solar\"\nlength_m = 1\n"),
            "run.toml: units.length_cm: expected units.system = \"custom\" beside it, found \"solar\"");
  EXPECT_EQ(refusal("[units]\nsystem = \"custom\"\nlength_m = 1\nmass_kg = 1\n"),
            "run.toml: units.velocity_cm_per_s: expected one of units.velocity_cm_per_s and units.time_s, found none");
  EXPECT_EQ(
      refusal("[units]\nsystem = \"custom\"\nlength_cm = 1\nmass_g = 1\ntime_s = 1\nvelocity_cm_per_s = 1\n"),
      "run.toml:6: units.velocity_cm_per_s: expected one of units.velocity_cm_per_s and units.time_s, found both");
  EXPECT_EQ(refusal("[units]\nsystem = \"custom\"\nmass_g = 1\ntime_s = 1\n"),
            "run.toml: units.length_cm: expected a number > 0 for units.system = \"custom\", found none");
  // A run under gravity is not told of a plasma's units.
  EXPECT_EQ(
      refusal("[units]\nsystem = \"parsec\"\n"),
      "run.toml:2: units.system: expected auto, nbody, gadget, solar, stellar, galactic, cosmology, si, custom, found "
      "\"parsec\"");
}

TEST(ConfigChecks, UnitsOfAFileAreInheritedAndNeverContradicted) {
  const FileUnits gadget{3.085678e21, 1.989e43, 1e5}, odd{3e18, 2e33, 1e5};
  RunConfig config = parse_config("particles.file = \"a.hdf5\"\n", "run.toml");
  EXPECT_EQ(config.units.system, "auto");
  EXPECT_EQ(config.gravitational_constant(), 1);
  RunConfig none = config, ones = config, other = config;
  take_file_units(none, "a.hdf5", std::nullopt);
  take_file_units(ones, "a.hdf5", FileUnits{});
  EXPECT_EQ(none.gravitational_constant(), 1);
  EXPECT_EQ(ones.gravitational_constant(), 1);
  take_file_units(config, "a.hdf5", gadget);
  EXPECT_EQ(config.units.system, "gadget");
  take_file_units(other, "a.hdf5", odd);
  EXPECT_EQ(other.units.system, "custom");
  EXPECT_NEAR(other.gravitational_constant() / (6.67430e-8 * 2e33 / (3e18 * 1e10)), 1, 1e-12);
  take_file_units(config, "a.hdf5", gadget);  // a second time: the same
  try {
    take_file_units(config, "a.hdf5", odd);
    FAIL() << "contradicting units were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_TRUE(
        std::string(error.what())
            .starts_with("run.toml: units.system: expected the units of a.hdf5, 3e+18 cm, 2e+33 g, 100000 cm/s"))
        << error.what();
    EXPECT_NE(std::string(error.what()).find("found \"gadget\", 3.085678e+21 cm"), std::string::npos) << error.what();
  }
}

TEST(ConfigChecks, WhatAnEarlierVersionTookIsRefusedWithWhatToUse) {
  EXPECT_EQ(refusal("[time]\nleapfrog = \"staggered\"\n"),
            "run.toml:2: time.leapfrog: \"staggered\" is not taken any more; use the leapfrog without this key: "
            "kick-drift-kick, the same trajectory but for rounding");
  EXPECT_EQ(
      refusal("[gravity.mesh]\ndensity = \"host\"\n"),
      "run.toml:2: gravity.mesh.density: \"host\" is not taken any more; use \"auto\" (the same sums on the GPU)");
  EXPECT_EQ(
      refusal("[gravity.mesh]\nmultigrid = \"paper\"\n"),
      "run.toml:2: gravity.mesh.multigrid: \"paper\" is not taken any more; use \"v\" with tolerance = 0, cycles = "
      "3, smoothing_before = 5, smoothing_after = 5, levels = 5");
}

TEST(ConfigChecks, CombinationsThatCannotWorkAreRefusedWhenTheyAreRead) {
  const std::string leapfrog = "[time]\nintegrator = \"leapfrog\"\n";
  const std::string hermite = "[time]\nintegrator = \"hermite\"\n";
  EXPECT_EQ(
      refusal(hermite + "[gravity]\nsolver = \"tree\"\n"),
      "run.toml:2: time.integrator: hermite needs jerks, which the tree solver does not give; set time.integrator = "
      "\"leapfrog\"");
  EXPECT_NE(refusal(hermite + "[gravity]\nsolver = \"mesh\"\n").find("hermite needs jerks, which the mesh solver"),
            std::string::npos);
  EXPECT_NO_THROW(parse_config(leapfrog + "steps = \"block\"\n[gravity]\nsoftening = 0\n", "run.toml"));
  EXPECT_EQ(refusal(leapfrog + "steps = \"block\"\n[gravity]\nsolver = \"tree\"\nsoftening = 0\n").substr(0, 46),
            "run.toml:3: time.steps: solver tree gives no j");
  EXPECT_EQ(refusal(leapfrog + "adaptive = true\n[gravity]\nsolver = \"tree\"\nsoftening = 0\n"),
            "run.toml:3: time.adaptive: solver tree gives no jerk, which the step with zero softening needs; set "
            "gravity.softening > 0, or give time.step");
  EXPECT_EQ(refusal(leapfrog + "[gravity]\nsolver = \"mesh\"\nmesh.cells = 33\n").substr(0, 55),
            "run.toml:5: gravity.mesh.cells: expected even numbers o");
  EXPECT_NE(
      refusal(leapfrog + "[gravity]\nsolver = \"mesh\"\nmesh.poisson = \"multigrid\"\nmesh.gradient = \"spectral\"\n")
          .find("run.toml:6: gravity.mesh.gradient"),
      std::string::npos);
  // Tables of solvers that the run does not use may stand in a file.
  EXPECT_NO_THROW(parse_config("gravity.mesh.cells = 33\n", "run.toml"));
}

TEST(ConfigChecks, ARunThatNamesNoIntegratorTakesTheFirstThatCanDoIt) {
  const auto chosen = [](const std::string& text, const std::vector<std::string>& sets = {}) {
    const RunConfig config = parse_config(text, "run.toml", sets);
    // What is shown reads back to the same.
    EXPECT_EQ(parse_config(config_text(config), "run.toml").time.integrator, config.time.integrator);
    return config.time.integrator;
  };
  EXPECT_EQ(chosen(""), "hermite");
  EXPECT_EQ(chosen("gravity.solver = \"tree\"\n"), "leapfrog");
  EXPECT_EQ(chosen("gravity.solver = \"mesh\"\n"), "leapfrog");
  EXPECT_EQ(chosen("gravity.solver = \"treepm\"\n"), "leapfrog");
  EXPECT_EQ(chosen("gravity.solver = \"direct\"\n", {"gravity.solver=tree"}), "leapfrog");
  EXPECT_EQ(chosen("gravity.solver = \"tree\"\n", {"gravity.solver=direct"}), "hermite");
  EXPECT_EQ(chosen("[[gravity.external]]\nkind = \"point\"\nmass = 1\n"), "hermite");
  EXPECT_EQ(chosen("[cosmology]\nh = 0.7\n[run]\nend_time = 1\n"), "leapfrog");
  EXPECT_EQ(chosen("time.integrator = \"leapfrog\"\n"), "leapfrog");
  // Hermite has steps of its own.
  for (const char* steps : {"step = 0.01", "steps = \"block\"", "adaptive = true"})
    EXPECT_EQ(chosen(fmt::format("time.{}\n", steps)), "leapfrog");
  // The softening is in the way of the step, not of the integrator.
  EXPECT_EQ(refusal("[time]\nadaptive = true\n[gravity]\nsolver = \"tree\"\nsoftening = 0\n").substr(0, 26),
            "run.toml:2: time.adaptive:");
}

TEST(ConfigChecks, StepsThatAnIntegratorDoesNotTakeAreSaid) {
  const auto said = [](const std::string& time) {
    return unused_steps_remark(parse_config("[time]\n" + time, "run.toml").time);
  };
  EXPECT_EQ(said("integrator = \"hermite\"\nstep = 0.01\n"),
            "time.step = 0.01 has no effect on hermite; with time.integrator = \"leapfrog\" it has");
  EXPECT_NE(said("integrator = \"hermite\"\nadaptive = true\n").find("time.adaptive = true has no effect"),
            std::string::npos);
  EXPECT_EQ(said("integrator = \"hermite\"\neta = 0.01\n"), "");
  EXPECT_EQ(said("step = 0.01\n"), "");
}

TEST(ConfigChecks, TheLongestStepDoesNotDependOnTheChoiceOfUnits) {
  const auto longest = [](const std::string& units, const std::string& end, const std::string& more = "") {
    const RunConfig config =
        parse_config(fmt::format("units.system = \"{}\"\nrun.end_time = {}\n{}", units, end, more), "run.toml");
    EXPECT_EQ(parse_config(config_text(config), "run.toml").time.step_max, config.time.step_max);
    return config.time.step_max;
  };
  for (const char* end : {"1", "1000"}) EXPECT_EQ(longest("nbody", end), 0.125);
  EXPECT_EQ(longest("stellar", "1000"), 64);
  EXPECT_EQ(longest("stellar", "1"), 0.125);
  EXPECT_EQ(longest("si", "1e16", "output.energy_every = 0\noutput.snapshots_every = 0\n"), 0x1p50);
  EXPECT_EQ(longest("stellar", "1000", "time.step_max = 0.25\n"), 0.25);
  EXPECT_EQ(longest("stellar", "1", "[cosmology]\n"), 0x1p-6);
}

TEST(ConfigChecks, OneOfTwoKeysThatAreSetReplacesTheOtherOfTheFile) {
  const std::string universe = "[run]\nend_time = 0.5\n[cosmology]\nh = 0.7\n";
  EXPECT_EQ(parse_config(universe, "run.toml", {"run.end_redshift=3"}).run.end_time, 0.25);
  EXPECT_EQ(parse_config("run.end_redshift = 3\n[cosmology]\nh = 0.7\n", "run.toml", {"run.end_time=0.5"}).run.end_time,
            0.5);
  EXPECT_EQ(refusal(universe, {"run.end_redshift=3", "run.end_time=0.5"}),
            "--set: run.end_redshift: expected one of run.end_time and run.end_redshift, found both");
  const std::string custom = "[units]\nsystem = \"custom\"\nlength_cm = 1\nmass_g = 1\nvelocity_cm_per_s = 1\n";
  EXPECT_EQ(parse_config(custom, "run.toml", {"units.time_s=2"}).unit_system().velocity_cm_per_s, 0.5);
  EXPECT_EQ(parse_config(custom, "run.toml", {"units.mass_kg=1"}).unit_system().mass_g, 1000);
  const std::string stars = "[particles]\nmodel = \"plummer\"\nvirial_radius = 3\n";
  const RunConfig other = parse_config(stars, "run.toml", {"particles.half_mass_radius=2"});
  EXPECT_EQ(std::get<double>(other.particles.options.values.at("half_mass_radius")), 2);
  EXPECT_EQ(std::get<double>(other.particles.options.values.at("virial_radius")), 1);
}

TEST(ConfigChecks, AnOptionThatHasNoEffectIsRefusedWithItsLine) {
  const std::string both = "model = \"plummer\"\nhalf_mass_radius = 2\nvirial_radius = 3\n";
  EXPECT_EQ(refusal("[particles]\n" + both),
            "run.toml:4: particles.virial_radius: expected half_mass_radius = 0 beside it, found 2");
  EXPECT_NE(refusal("[particles.orbit]\npericentre = 1\nseparation = 8\n[[particles.parts]]\nmodel = "
                    "\"plummer\"\n[[particles.parts]]\n" +
                    both)
                .find("particles.parts.2.virial_radius: expected half_mass_radius = 0 beside it, found 2"),
            std::string::npos);
  EXPECT_EQ(refusal("[particles]\nmodel = \"cluster\"\nw0 = 7\n"),
            "run.toml:3: particles.w0: expected profile = \"king\" beside it, found \"plummer\"");
}

// Each is what a file could not say.
TEST(ConfigChecks, WhatIsBuiltInCppIsCheckedAsAFileIs) {
  const auto refused = [](const std::function<void(RunConfig&)>& change, const std::string& why) {
    RunConfig config = parse_config("particles.model = \"plummer\"\n", "(C++)");
    EXPECT_NO_THROW(config.check());
    change(config);
    try {
      config.check();
      FAIL() << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused([](auto& c) { c.time.integrator = "hermit"; }, "found \"hermit\"; did you mean \"hermite\"?");
  refused([](auto& c) { c.gravity.solver = "tre"; }, "did you mean \"tree\"?");
  refused([](auto& c) { c.gravity.solver = "tree"; }, "hermite needs jerks");
  refused([](auto& c) { c.run.precision = "half"; },
          "run.precision: expected auto, single, mixed, double, found \"half\"");
  refused([](auto& c) { c.units.system = "parsec"; }, "units.system");
  refused([](auto& c) { c.run.device = "gpu"; }, "run.device: expected auto, cpu, cuda or cuda:K, found \"gpu\"");
  refused([](auto& c) { c.time.eta = std::nan(""); }, "time.eta: expected a number > 0, found nan");
  refused([](auto& c) { c.time.step = -1; }, "time.step: expected a number > 0, found -1");
  refused([](auto& c) { c.particles.model = "plumer"; }, "plumer");
  const RunConfig::ParticlesPart part{"plummer", "", {}};
  refused([&](auto& c) { c.particles.parts = {part, part}; }, "particles.parts: expected one of particles.model");
  refused([&](auto& c) { c.particles.model = "", c.particles.parts = {part}; }, "two tables");
}

TEST(ConfigChecks, TooManyLevelsAreRefusedNotFollowed) {
  const int deep = 40000;
  std::string key = "a";
  for (int k = 0; k < deep; ++k) key += ".a";
  const std::string expected = "run.toml:1: expected at most 32 levels of tables and arrays, found more";
  EXPECT_EQ(refusal("x = " + std::string(deep, '[') + std::string(deep, ']') + "\n"), expected);
  EXPECT_EQ(refusal(key + " = 1\n"), expected);
  EXPECT_EQ(refusal("[" + key + "]\n"), expected);
  std::string inner = "1";
  for (int k = 0; k < deep; ++k) inner = "{a=" + inner + "}";
  EXPECT_EQ(refusal("x = " + inner + "\n"), expected);
  EXPECT_NE(refusal("", {"time.eta=" + std::string(deep, '[')}), "");
  // Brackets in text and comments are none.
  EXPECT_NO_THROW(parse_config("# " + std::string(100, '[') + "\n", "run.toml"));
  EXPECT_NE(refusal("run.device = \"" + std::string(100, '[') + "\"\n").find("run.device"), std::string::npos);
}

TEST(ConfigChecks, AKeyOfTheRunIsSuggestedBeforeAnOptionOfTheModel) {
  for (const char* model : {"m81", "plummer"})
    EXPECT_NE(refusal(fmt::format("particles.model = \"{}\"\n", model), {"softening=0.01"})
                  .find("did you mean gravity.softening?"),
              std::string::npos)
        << model;
}

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.hpp"
#include "config/config.hpp"
#include "sim/plasma_preflight.hpp"
#include "sim/plasma_system.hpp"

namespace pergola {
namespace {

const char* electrons = R"([run]
end_time = 10
[plasma]
lengths = "debye"
cells = [64, 8]
cell_size = 0.5
background = true
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 100
temperature = 1
)";

const char* in_si = R"([run]
end_time = 1e-9
[units]
system = "si"
[time]
step = 1e-12
[plasma]
cells = [32, 32, 32]
cell_size = 5e-6
magnetic_field = [0, 0, 0.5]
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
density = 1e18
particles_per_cell = 8
temperature_ev = 2
drift = [1e6, 0, 0]
[[plasma.species]]
name = "protons"
charge = 1
mass = 1836.15267343
density = 1e18
particles_per_cell = 8
temperature_kelvin = [11604.5, 11604.5, 23209]
start = "random"
)";

std::string refusal(const std::string& text, const std::vector<std::string>& sets = {}) {
  try {
    parse_config(text, "run.toml", sets);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "";
}

TEST(PlasmaConfig, DefaultsSuitAPlasma) {
  const RunConfig config = parse_config(electrons, "run.toml");
  EXPECT_EQ(config.kind, "plasma");
  EXPECT_EQ(config.precision(), Precision::single);
  EXPECT_EQ(config.units.system, "plasma");
  EXPECT_EQ(config.time.step, 0.05);
  EXPECT_EQ(config.output.energy_every, 0.25);
  EXPECT_EQ(config.plasma.velocities, 2);
  EXPECT_EQ(config.plasma.species[0].density, 1);
  EXPECT_EQ(parse_config("", "run.toml").kind, "gravity");
}

TEST(PlasmaConfig, APrintedConfigurationReadsBackIdentically) {
  const std::string more =
      "drift = [1, 2]\nstart = \"random\"\nperturbation = { kind = \"velocity\", mode = [1, 0], amplitude = 0.1 }\n"
      "profile = { kind = \"gaussian\", axis = \"y\", centre = 2, width = 1.5 }\n";
  for (const std::string& text : {std::string(electrons), electrons + more, std::string(in_si)}) {
    const std::string once = config_text(parse_config(text, "run.toml"));
    EXPECT_EQ(config_text(parse_config(once, "run.toml")), once);
    EXPECT_EQ(once.find("gravity"), std::string::npos);
  }
}

TEST(PlasmaConfig, DebyeLengthsBecomeCells) {
  const RunConfig config = parse_config(electrons, "run.toml", {"plasma.smoothing=1", "plasma.magnetic_field=[0,0,2]"});
  const PlasmaOptions options = config.plasma.options();
  EXPECT_EQ(options.smoothing, 2);
  EXPECT_EQ(options.magnetic_field.z, 2);
  EXPECT_EQ(options.species[0].weight, 0.01);
  EXPECT_EQ(config.plasma.load(config.plasma.species[0]).thermal.x, 2);  // one Debye length per 1/ω_p is two cells
}

// Reference: ω_p = 56.4146 √n (n in m⁻³) and v_th = 4.19383e5 √T (T in eV) m/s, NRL Plasma Formulary.
TEST(PlasmaConfig, SiBecomesCellsAndPlasmaFrequencies) {
  const RunConfig config = parse_config(in_si, "run.toml");
  const PlasmaOptions options = config.plasma.options();
  const double omega = 56.4146 * 1e9, speed = 5e-6 * omega;
  const PlasmaLoad load = config.plasma.load(config.plasma.species[0]);
  EXPECT_NEAR(load.thermal.x * speed / (4.19383e5 * std::sqrt(2.0)), 1, 1e-5);
  EXPECT_NEAR(load.drift.x * speed / 1e6, 1, 1e-5);
  EXPECT_NEAR(options.magnetic_field.z * omega / (1.758820e11 * 0.5), 1, 1e-5);
  EXPECT_EQ(load.density, 1);
  const PlasmaLoad ions = config.plasma.load(config.plasma.species[1]);
  EXPECT_NEAR(ions.thermal.x * speed / (4.19383e5 / std::sqrt(1836.15267343)), 1, 1e-5);  // 11604.5 K is 1 eV
  EXPECT_NEAR(ions.thermal.z / ions.thermal.x, std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(config.plasma.units().time().file * omega, 1, 1e-5);
}

TEST(PlasmaConfig, OneKeyOfASpeciesCanBeSet) {
  const RunConfig config = parse_config(in_si, "run.toml", {"plasma.species.protons.particles_per_cell=27"});
  EXPECT_EQ(config.plasma.species[0].particles_per_cell, 8);
  EXPECT_EQ(config.plasma.species[1].particles_per_cell, 27);
  // A temperature that is set replaces that of the file, whatever its unit.
  const RunConfig hot = parse_config(in_si, "run.toml", {"plasma.species.protons.temperature_ev=3"});
  EXPECT_EQ(hot.plasma.species[1].temperature.z, 3);
  EXPECT_TRUE(parse_config(electrons, "run.toml", {"plasma.species.electrons.cold=true"}).plasma.species[0].cold);
  EXPECT_FALSE(parse_config(electrons, "run.toml", {"plasma.species.electrons.cold=false"}).plasma.species[0].cold);
  EXPECT_NE(refusal(in_si, {"plasma.species.muons.mass=2"}).find("no [[plasma.species]] with the name \"muons\""),
            std::string::npos);
}

TEST(PlasmaConfig, RefusalsNameThePlaceTheValueAndTheRemedy) {
  const auto refused = [](const std::string& text, const std::vector<std::string>& sets, const std::string& says) {
    const std::string message = refusal(text, sets);
    EXPECT_NE(message.find(says), std::string::npos) << message << "\nexpected: " << says;
  };
  const std::string species = "plasma.species.electrons.";
  refused(electrons, {species + "temperature=0"}, "temperature: expected a number > 0, found 0");
  refused(electrons, {species + "temperature=0"}, "; particles without thermal motion have cold = true in its place");
  refused(electrons, {species + "temperature=-1"}, "temperature: expected a number > 0, found -1");
  refused(electrons, {species + "temperature=[1, 0]"}, "temperature: expected a number > 0, found 0");
  refused(electrons, {species + "density=0"}, "density: expected a number > 0, found 0");
  refused(electrons, {species + "density=-2"}, "density: expected a number > 0, found -2");
  refused(electrons, {species + "particles_per_cell=0"}, "particles_per_cell: expected an integer from 1");
  refused(electrons, {species + "particles_per_cell=-3"}, "particles_per_cell: expected an integer from 1");
  refused(electrons, {species + "mass=0"}, "mass: expected a number > 0, found 0");
  refused(std::string(electrons) + "cold = true\n", {}, "expected a temperature or cold = true, found both");
  refused(electrons, {species + "tmperature=2"}, "unknown key");
  refused(electrons, {species + "tmperature=2"}, "did you mean temperature?");
  refused(std::string(electrons) + "temperature_ev = 2\n", {}, "has a temperature already");
  refused(electrons, {species + "mass=9.1093837e-31"},
          "mass: expected a number > 0 in units of m_e, found 9.1093837e-31; 9.1093837e-31 kg are 1 m_e");
  refused(electrons, {species + "mass=1.67e-27 kg"},
          "mass: expected a number > 0 in units of m_e, found \"1.67e-27 kg\"");
  refused(electrons, {species + "charge=-1.602176634e-19"}, "in units of e, found -1.602176634e-19; ");
  refused(in_si, {species + "drift=[3e8, 0, 0]"}, "drift: expected less than the speed of light, 299792458 m/s, found");
  refused(electrons, {"plasma.wave.mode=[0, -9000]"}, "plasma.wave.mode: expected at most half of plasma.cells, ");
  refused(electrons, {"plasma.cells=[64]"}, "plasma.cells: expected two or three even numbers");
  refused(electrons, {"plasma.cells=[64, 0]"}, "plasma.cells: expected two or three even numbers");
  refused(electrons, {"plasma.cells=[64, -8]"}, "found -8");
  refused(electrons, {"plasma.cells=[64, 7]"}, "found 7");
  refused(electrons, {"plasma.cell_size=0"}, "plasma.cell_size: expected a number > 0, found 0");
  refused(electrons, {"plasma.background=false"}, "not neutral: its net charge is -1 e n0");
  refused(electrons, {"plasma.velocities=3", "plasma.celsl=3"}, "did you mean plasma.cells?");
  refused(electrons, {"plasma.colour=3"}, "background, seed, species, wave");
  for (const std::string name : {"boundary", "collisions", "electric_field", "injection", "walls"}) {
    const std::string says = "plasma." + name + ": not there; see plasma.md, What it does not do";
    refused(electrons, {"plasma." + name + "=1"}, "--set: " + says);
    refused(std::string(electrons) + "[plasma." + name + "]\nkind = \"open\"\n", {}, says);
  }
  refused(electrons, {"plasma.magnetic_field=[1, 0, 0]"}, "set plasma.velocities = 3");
  refused(electrons, {"plasma.lengths=cells"}, "plasma.cell_size: expected 1 with lengths in cells, found 0.5");
  refused(electrons, {"run.precision=mixed"}, "single or double precision");
  refused(electrons, {"gravity.softening=0.1"}, "a run has [plasma] or [particles] and [gravity], not both");
  refused(electrons, {"particles.model=plummer"}, "a run has [plasma] or [particles] and [gravity], not both");
  refused(electrons, {"time.eta=0.1"}, "takes fixed steps of time.step");
  refused(electrons, {"units.system=nbody"}, "expected plasma or si");
  refused(electrons, {"expect.virial_ratio=0.5"}, "not known for a plasma");
  refused("[plasma]\ncells = [8, 8]\n", {}, "run.toml: plasma.species: expected at least one table");
  refused("[plasma]\n", {}, "plasma.cells: expected two or three even numbers");
  refused("[units]\nsystem = \"plasma\"\n", {}, "for a run without [plasma]");
  refused("[output]\nspectrum_every = 3\n", {}, "expected [plasma] beside it");
  refused(in_si, {"plasma.species.electrons.density=2e18"}, "its net charge is -1e+18 e per cubic metre");
  refused(in_si, {"plasma.lengths=debye"}, "lengths are in metres");
  // A species without charge and mass.
  const std::string bare = "[plasma]\ncells = [8, 8]\nbackground = true\n[[plasma.species]]\nname = \"e\"\n";
  refused(bare, {}, "run.toml:4: plasma.species[0].charge: expected a number in units of e, and mass");
  refused(bare + "charge = -1\n", {}, "plasma.species[0].mass: expected a number > 0 in units of m_e, found none");
  refused(bare + "charge = -1\nmass = 1\nparticles_per_cell = 4\n", {}, "cold = true");
}

TEST(PlasmaConfig, LasersAndEdgesAreReadInTheUnitsOfTheFile) {
  const std::string text = std::string(electrons) + R"([[plasma.lasers]]
amplitude = 0.5
wavelength = 10
duration = 3
x = 16
polarisation = 0.5
)";
  const std::vector<std::string> light{"plasma.field=electromagnetic", "plasma.light_speed=2", "time.step=0.1",
                                       "plasma.edges=[\"absorbing\", \"conducting\"]", "plasma.absorbing_cells=8"};
  const PlasmaOptions options = parse_config(text, "run.toml", light).plasma.options();
  ASSERT_EQ(options.lasers.size(), 1u);
  EXPECT_EQ(options.lasers[0].amplitude, 0.5);
  EXPECT_EQ(options.lasers[0].wavelength, 20);
  EXPECT_EQ(options.lasers[0].duration, 3);
  EXPECT_EQ(options.lasers[0].x, 32);
  EXPECT_EQ(options.light_speed, 4);
  EXPECT_EQ(options.edges, (std::array{PlasmaEdge::absorbing, PlasmaEdge::conducting, PlasmaEdge::periodic}));
  EXPECT_EQ(options.absorbing_cells, 8);
  EXPECT_NE(refusal(text).find("plasma.lasers: the electrostatic field knows no light"), std::string::npos);
  EXPECT_NE(refusal(electrons, {"plasma.edges=[\"open\"]"}).find("plasma.edges"), std::string::npos);
  EXPECT_NE(
      refusal(electrons, {light[0], light[1], light[2], "plasma.edges=[\"absorbing\"]"}).find("each of the 2 axes"),
      std::string::npos);
}

TEST(PlasmaPreflight, WarnsWithNumberAndRemedy) {
  const auto warned = [](const std::vector<std::string>& sets, const std::string& says) {
    const auto warnings = check_plasma(parse_config(electrons, "run.toml", sets));
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find(says), std::string::npos) << warnings[0];
  };
  EXPECT_TRUE(check_plasma(parse_config(electrons, "run.toml")).empty());
  warned({"time.step=0.4"}, "omega_p dt is 0.4: the plasma frequency will be off by 0.7 %; set time.step to 0.2");
  warned({"plasma.cell_size=2.5"}, "a cell is 2.5 Debye lengths of electrons, more than 1");
  warned({"plasma.cell_size=2.5"}, "set plasma.cell_size to at most 1");
  warned({"plasma.magnetic_field=[0,0,30]"}, "electrons turn by 1.5 radians about the magnetic field");
  warned({"plasma.species.electrons.drift=[40,0,0]"}, "electrons cross 4.1 cells in one step");
  warned({"plasma.wave.mode=[1,0]"}, "set output.spectrum_every, in steps");
  EXPECT_TRUE(
      check_plasma(parse_config(electrons, "run.toml", {"plasma.wave.mode=[1,0]", "output.spectrum_every=2"})).empty());
  EXPECT_TRUE(
      check_plasma(parse_config(electrons, "run.toml", {"plasma.cell_size=1.5", "plasma.shape=quadratic"})).empty());
}

TEST(PlasmaPreflight, RefusesStepsThatCannotBeStable) {
  const auto refused = [](const std::vector<std::string>& sets, const std::string& says) {
    try {
      check_plasma(parse_config(electrons, "run.toml", sets));
      ADD_FAILURE() << says;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  refused({"time.step=2"}, "time.step: omega_p dt is 2, expected less than 2");
  // Four times the density has twice the frequency; a quarter of the mass again twice.
  refused({"time.step=1", "plasma.species.electrons.density=4"}, "omega_p dt is 2");
  refused({"time.step=0.5", "plasma.species.electrons.density=4", "plasma.species.electrons.mass=0.25"},
          "omega_p dt is 2");
  refused({"plasma.magnetic_field=[0,0,100]"}, "electrons would turn by 5 radians");
  refused({"run.end_time=1e15", "output.energy_every=0"}, "run.end_time: 1e+15 is 2e+16 steps of time.step = 0.05");
}

// Each is what a file could not say; before, "duoble" was computed in single precision.
TEST(PlasmaConfig, WhatIsBuiltInCppIsCheckedAsAFileIs) {
  const auto refused = [](const std::function<void(RunConfig&)>& change, const std::string& why) {
    RunConfig config = parse_config(electrons, "(C++)");
    config.run.device = "cpu";
    change(config);
    try {
      const PlasmaSystem simulation(config);
      FAIL() << why;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused([](auto& c) { c.run.precision = "duoble"; }, "run.precision: expected auto, single, mixed, double");
  refused([](auto& c) { c.units.system = "sii"; }, "units.system");
  refused([](auto& c) { c.time.step = -0.1; }, "time.step");
  refused([](auto& c) { c.plasma.species[0].particles_per_cell = -1; }, "particles_per_cell");
  EXPECT_NO_THROW(parse_config(electrons, "(C++)").check());
  EXPECT_NO_THROW(parse_config(in_si, "(C++)").check());
}

}  // namespace
}  // namespace pergola

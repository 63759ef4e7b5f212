#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"
#include "config/config.hpp"
#include "io/snapshot.hpp"
#include "io/temporary_directory.hpp"

namespace pergola {
namespace {

const std::string stellar = "[units]\nsystem = \"stellar\"\n";

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

/// A million years in parsec per km/s.
const double myr = 1e6 * julian_year_s * 1e5 / (kiloparsec_m * 1e2 / 1e3);

TEST(Quantities, EveryNumberWithADimensionTakesAUnit) {
  const RunConfig config = parse_config(R"(
[run]
end_time = "5 Myr"
[particles]
model = "plummer"
mass = "2e-3 Msun"
virial_radius = "0.1 kpc"
[gravity]
softening = { halo = "100 pc", disc = 3 }
external = [{ kind = "logarithmic", speed = "0.22 km/s", radius = "1 kpc", centre = ["1 kpc", 0, "-2 pc"] }]
[gravity.mesh]
box = ["1 kpc", "2 kpc", 3]
[time]
step = "1 Myr"
[output]
snapshots_every = "0.25Myr"
energy_every = "1e-3 Gyr"
radii_every = "2 Myr"
analyses = ["groups", "rotation"]
[output.groups]
linking-length = "0.2 kpc"
[output.rotation]
to = "2 kpc"
[expect]
half_mass_radius = { expected = "0.1 kpc", tolerance = "1 pc" }
[units]
system = "stellar"
)",
                                        "run.toml", {"gravity.softening.bulge=7 AU"});
  EXPECT_NEAR(config.run.end_time, 5 * myr, 1e-14);
  EXPECT_EQ(std::get<double>(config.particles.options.values.at("mass")), 2e-3);
  EXPECT_EQ(std::get<double>(config.particles.options.values.at("virial_radius")), 100);
  EXPECT_EQ(config.gravity.softening.epsilon[1], 100);
  EXPECT_EQ(config.gravity.softening.epsilon[2], 3);
  EXPECT_NEAR(config.gravity.softening.epsilon[3], 7 / 206264.806247, 1e-14);
  EXPECT_EQ(config.gravity.external[0].speed, 0.22);
  EXPECT_EQ(config.gravity.external[0].radius, 1000);
  EXPECT_EQ(config.gravity.external[0].centre.x, 1000);
  EXPECT_EQ(config.gravity.external[0].centre.z, -2);
  EXPECT_EQ(config.gravity.mesh.box.side.y, 2000);
  EXPECT_NEAR(config.time.step, myr, 1e-14);
  EXPECT_NEAR(config.output.snapshots_every, 0.25 * myr, 1e-14);
  EXPECT_NEAR(config.output.energy_every, myr, 1e-14);
  EXPECT_NEAR(config.output.more.at("output.radii_every"), 2 * myr, 1e-14);
  EXPECT_EQ(std::get<double>(config.output.analysis_options.at("groups.linking-length")), 200);
  EXPECT_DOUBLE_EQ(std::get<double>(config.output.analysis_options.at("rotation.to")), 2000);
  EXPECT_EQ(config.expect[0].expected, 100);
  EXPECT_EQ(config.expect[0].tolerance, 1);
}

TEST(Quantities, PartsAndOrbitsTakeUnits) {
  const RunConfig config = parse_config(
      "[particles.orbit]\npericentre = \"10 kpc\"\nseparation = \"0.1 Mpc\"\n"
      "[[particles.parts]]\nmodel = \"king\"\nmass = \"1e12 Msun\"\n[[particles.parts]]\nmodel = \"hernquist\"\n"
      "virial_radius = \"5e3 pc\"\n[units]\nsystem = \"gadget\"\n",
      "run.toml", {"particles.parts.2.mass=1e11 Msun"});
  EXPECT_EQ(config.particles.orbit.pericentre, 10);
  EXPECT_EQ(config.particles.orbit.separation, 100);
  EXPECT_EQ(std::get<double>(config.particles.parts[0].options.values.at("mass")), 100);
  EXPECT_EQ(std::get<double>(config.particles.parts[1].options.values.at("mass")), 10);
  EXPECT_EQ(std::get<double>(config.particles.parts[1].options.values.at("virial_radius")), 5);
}

TEST(Quantities, ALongestStepIsThePowerOfTwoBelow) {
  EXPECT_EQ(parse_config(stellar + "[time]\nstep_max = \"0.1 Myr\"\n", "run.toml").time.step_max, 0x1p-4);
}

TEST(Quantities, WithoutUnitsOneSentenceRefusesThem) {
  EXPECT_EQ(
      refusal("[run]\nend_time = \"5 Myr\"\n"),
      "run.toml:2: run.end_time: expected a plain number, as no units are stated ([units] system = \"stellar\", for "
      "example, states some), found \"5 Myr\"");
  EXPECT_EQ(refusal("", {"gravity.softening=100 pc"}).substr(0, 50),
            "--set: gravity.softening: expected a plain number,");
}

TEST(Quantities, AWrongUnitIsRefusedWithThoseThatFit) {
  EXPECT_EQ(refusal("[run]\nend_time = \"5 pc\"\n" + stellar),
            "run.toml:2: run.end_time: expected a number, or one with a unit: a time such as \"5 Myr\" (Gyr, Myr, kyr, "
            "yr, day, s, ms, us, ns, ps, fs), found \"5 pc\"");
  EXPECT_NE(refusal("[gravity]\nsoftening = \"5 parsec\"\n" + stellar).find("a length such as \"100 pc\""),
            std::string::npos);
  EXPECT_NE(refusal("[gravity]\nsoftening = \"5 pc/h\"\n" + stellar).find("a unit without h"), std::string::npos);
  EXPECT_EQ(refusal("[time]\neta = \"5 Myr\"\n" + stellar),
            "run.toml:2: time.eta: expected a number > 0, found \"5 Myr\"");
  EXPECT_NE(refusal("[output]\nenergy_every = \"-1 Myr\"\n" + stellar).find("expected a number >= 0, found -1.02"),
            std::string::npos);
}

TEST(Quantities, AUniverseCountsOverH) {
  const std::string universe = "[run]\nend_time = 1\n[particles]\nmodel = \"cosmology\"\nbox = \"50000 kpc/h\"\n";
  const RunConfig config =
      parse_config(universe + "[gravity]\nsolver = \"treepm\"\nsoftening = \"10 kpc/h\"\n", "u.toml");
  EXPECT_EQ(std::get<double>(config.particles.options.values.at("box")), 50);
  EXPECT_EQ(config.gravity.softening.epsilon[1], 0.01);
  EXPECT_NE(refusal(universe + "[gravity]\nsoftening = \"10 kpc\"\n").find("a number over h"), std::string::npos);
  EXPECT_NE(
      refusal(universe + "[output]\nenergy_every = \"1 Gyr\"\n").find("the time of a universe is its scale factor"),
      std::string::npos);
}

TEST(Quantities, APlasmaInSiTakesThem) {
  const RunConfig config = parse_config(R"(
[run]
end_time = "2 us"
[plasma]
cells = [8, 8]
cell_size = "1 mm"
background = true
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
temperature_ev = 1
density = "1e6 cm^-3"
drift = ["10 km/s", 0, 0]
particles_per_cell = 4
[time]
step = "1 ns"
[units]
system = "si"
)",
                                        "p.toml");
  EXPECT_NEAR(config.run.end_time, 2e-6, 1e-20);
  EXPECT_NEAR(config.time.step, 1e-9, 1e-24);
  EXPECT_NEAR(config.plasma.cell_size, 1e-3, 1e-17);
  EXPECT_NEAR(config.plasma.species[0].density, 1e12, 1);
  EXPECT_NEAR(config.plasma.species[0].drift.x, 1e4, 1e-10);
}

/// So that [particles] and its parts need not know the model to know the dimension.
TEST(Quantities, OptionsOfOneNameHaveOneDimension) {
  std::map<std::string, Dimension> known;
  for (const ModelInfo& model : models())
    for (const ModelOption& option : model.options)
      EXPECT_EQ(known.try_emplace(option.name, option.dimension).first->second, option.dimension)
          << model.name << " " << option.name;
}

using QuantitiesOfAFile = FileTest;

TEST_F(QuantitiesOfAFile, AreCountedInItsUnits) {
  Snapshot snapshot;
  snapshot.particles = some_particles(10);
  const UnitSystem gadget = gadget_units();
  snapshot.header.units = FileUnits{gadget.length_cm, gadget.mass_g, gadget.velocity_cm_per_s};
  write_snapshot(at("stars.hdf5"), snapshot, {});
  write_bytes(at("run.toml"), "[particles]\nfile = \"stars.hdf5\"\n[gravity]\nsoftening = \"100 pc\"\n");
  EXPECT_EQ(read_config(at("run.toml")).gravity.softening.epsilon[1], 0.1);
}

TEST_F(QuantitiesOfAFile, NameTheFileThatCannotBeRead) {
  write_bytes(at("run.toml"), "[particles]\nfile = \"none.csv\"\n[gravity]\nsoftening = \"100 pc\"\n");
  try {
    read_config(at("run.toml"));
    ADD_FAILURE() << "no file, and no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), at("none.csv").string() + ": cannot be read: No such file or directory");
  }
}

}  // namespace
}  // namespace pergola

#include "config/config.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"

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

TEST(Config, AnEmptyFileHasTheDefaultsOfTheContract) {
  const RunConfig config = parse_config("", "run.toml");
  EXPECT_EQ(config.run.end_time, 1.0);
  EXPECT_EQ(config.run.device, "auto");
  EXPECT_EQ(config.precision(), Precision::mixed);
  EXPECT_EQ(config.gravity.solver, "direct");
  EXPECT_EQ(config.gravity.softening.epsilon[1], 0.00390625);
  EXPECT_EQ(config.time.integrator, "hermite");
  EXPECT_EQ(config.time.eta, 0.02);
  EXPECT_EQ(config.output.checkpoint_every_minutes, 10);
  EXPECT_EQ(config.gravitational_constant(), 1);
}

const char* contract_example = R"(
[run]
end_time = 1.0
device = "auto"            # cpu | cuda | cuda:1
precision = "mixed"        # single | double
threads = 0                # 0 = all cores
[particles]
model = "plummer"
n = 4096
seed = 1
[gravity]
solver = "direct"          # tree | mesh | treepm
softening = 0.00390625     # Plummer-equivalent; per species: { halo = 0.1, disc = 0.05 }
[gravity.tree]
accuracy = 1e-3            # or opening_angle = 0.6
[gravity.mesh]
cells = 128                # or [128, 128, 64]
assignment = "cic"
poisson = "fft"
boundary = "periodic"
box = "auto"
[time]
integrator = "hermite"     # leapfrog
eta = 0.02
step = 0.01
[output]
snapshots_every = 0.25
energy_every = 0.0625
checkpoint_every_minutes = 10
)";

TEST(Config, TheContractsExampleIsRead) {
  const RunConfig config = parse_config(contract_example, "run.toml");
  EXPECT_EQ(config.particles.model, "plummer");
  EXPECT_EQ(config.particles.options.n, 4096);
  EXPECT_EQ(std::get<double>(config.particles.options.values.at("cutoff")), 22.8);
}

TEST(Config, ErrorsNameFileLineKeyExpectedAndFound) {
  EXPECT_EQ(refusal("[time]\n\neta = -1\n"), "run.toml:3: time.eta: expected a number > 0, found -1");
  EXPECT_EQ(refusal("[time]\nstep = 0\n"), "run.toml:2: time.step: expected a number > 0, found 0");
  EXPECT_EQ(refusal("[time]\neta = nan\n"), "run.toml:2: time.eta: expected a number > 0, found nan");
  EXPECT_EQ(refusal("[time]\nstep = \"a\"\n"), "run.toml:2: time.step: expected a number > 0, found \"a\"");
  EXPECT_EQ(refusal("[time]\nadaptive = 1\n"), "run.toml:2: time.adaptive: expected true or false, found 1");
  EXPECT_EQ(refusal("[time]\nstep_max = 0.1\n"),
            "run.toml:2: time.step_max: expected a power of two such as 0.125, found 0.1");
  EXPECT_EQ(refusal("[run]\nthreads = 1.5\n"),
            "run.toml:2: run.threads: expected an integer from 0 to 65536, found 1.5");
  EXPECT_EQ(refusal("[particles]\nmodel = \"plummer\"\nn = -5\n"),
            "run.toml:3: particles.n: expected an integer >= 1, found -5");
  EXPECT_EQ(refusal("[particles]\nmodel = \"kepler\"\nn = 5\n"),
            "run.toml:3: particles.n: expected 2, the number of bodies of kepler, found 5");
  EXPECT_EQ(refusal("time = 3\n"), "run.toml:1: time: expected a table, found 3");
  EXPECT_EQ(refusal("version = 2\n"), "run.toml:1: version: expected 1, found 2");
}

TEST(Config, TheFirstErrorOfTheFileIsReported) {
  EXPECT_EQ(refusal("[time]\neta = -1\n[output]\nenergy_every = -2\n").substr(0, 20), "run.toml:2: time.eta");
  EXPECT_EQ(refusal("[output]\nenergy_every = -2\n[gravity]\nsoftening = -1\n").substr(0, 31),
            "run.toml:2: output.energy_every");
}

TEST(Config, UnknownNamesComeWithTheNearestValidOne) {
  EXPECT_NE(refusal("[time]\nete = 1\n").find("run.toml:2: time.ete: unknown key"), std::string::npos);
  EXPECT_NE(refusal("[time]\nete = 1\n").find("did you mean time.eta?"), std::string::npos);
  EXPECT_NE(refusal("[gravity]\neta = 1\n").find("did you mean time.eta?"), std::string::npos);
  EXPECT_NE(refusal("[tme]\neta = 1\n").find("did you mean time.eta?"), std::string::npos);
  EXPECT_NE(refusal("[time]\nintegrator = \"hermit\"\n").find("did you mean \"hermite\"?"), std::string::npos);
  EXPECT_NE(refusal("[particles]\nmodel = \"plumer\"\n").find("did you mean \"plummer\"?"), std::string::npos);
  EXPECT_NE(refusal("[particles]\nmodel = \"plummer\"\ncutof = 1\n").find("did you mean particles.cutoff?"),
            std::string::npos);
  EXPECT_NE(refusal("[gravity]\nsoftening = { hallo = 1 }\n").find("did you mean \"halo\"?"), std::string::npos);
  EXPECT_EQ(
      refusal("[gravity]\nsoftening_kernel = \"splin\"\n"),
      "run.toml:2: gravity.softening_kernel: expected plummer, spline, found \"splin\"; did you mean \"spline\"?");
  EXPECT_NE(refusal("[expect]\nenergy_eror = 1\n").find("did you mean \"energy_error\"?"), std::string::npos);
  EXPECT_NE(refusal("[nonsense]\n").find("unknown key"), std::string::npos);
}

const char* halo_and_bulge = R"([time]
integrator = "leapfrog"
[[gravity.external]]
kind = "logarithmic"
speed = 1
radius = 0.5
[[gravity.external]]
kind = "hernquist"
mass = 0.25
radius = 0.125
centre = [1, 2, 3.5]
)";

TEST(Config, ExternalPotentialsAreReadAndReadBack) {
  const RunConfig config = parse_config(halo_and_bulge, "run.toml");
  ASSERT_EQ(config.gravity.external.size(), 2u);
  EXPECT_EQ(config.gravity.external[0].kind, physics::ExternalKind::logarithmic);
  EXPECT_EQ(config.gravity.external[0].speed, 1);
  EXPECT_EQ(config.gravity.external[0].radius, 0.5);
  EXPECT_EQ(config.gravity.external[1].mass, 0.25);
  EXPECT_EQ(config.gravity.external[1].centre.z, 3.5);
  EXPECT_EQ(config.solver_options().external.size(), 2u);
  const std::string text = config_text(config);
  EXPECT_EQ(config_text(parse_config(text, "again.toml")), text);
  EXPECT_NE(text.find("{ kind = \"hernquist\", mass = 0.25, radius = 0.125, centre = [1, 2, 3.5] }"), std::string::npos)
      << text;
}

TEST(Config, ExternalPotentialsAreReplacedBySet) {
  const RunConfig none = parse_config(halo_and_bulge, "run.toml", {"gravity.external=[]"});
  EXPECT_TRUE(none.gravity.external.empty());
  const RunConfig one =
      parse_config(halo_and_bulge, "run.toml", {"gravity.external=[{ kind = \"point\", mass = 2, softening = 0.1 }]"});
  ASSERT_EQ(one.gravity.external.size(), 1u);
  EXPECT_EQ(one.gravity.external[0].softening, 0.1);
}

TEST(Config, ExternalPotentialsThatCannotBeUsedAreRefused) {
  const std::string leapfrog = "[time]\nintegrator = \"leapfrog\"\n[[gravity.external]]\n";
  const auto refused = [&](const std::string& lines) { return refusal(leapfrog + lines); };
  EXPECT_EQ(refused("kind = \"plummer\"\nmass = 1\nradius = -2\n"),
            "run.toml:6: gravity.external[0].radius: expected a number > 0, found -2");
  EXPECT_EQ(refused("kind = \"plummer\"\nmass = 1\n"),
            "run.toml:3: gravity.external[0].radius: expected a number > 0, found none");
  EXPECT_EQ(
      refused("kind = \"plummer\"\nmass = 1\nradius = 1\nspeed = 1\n"),
      "run.toml:7: gravity.external[0].speed: unknown key of plummer, expected one of kind, mass, radius, centre");
  EXPECT_NE(refused("kind = \"plummer\"\nmas = 1\nradius = 1\n").find("; did you mean mass?"), std::string::npos);
  EXPECT_EQ(refused("mass = 1\n"),
            "run.toml:3: gravity.external[0].kind: expected point, plummer, hernquist, isochrone, nfw, logarithmic, "
            "miyamoto-nagai, homogeneous, cosmological-constant, found none");
  EXPECT_NE(refused("kind = \"hernqist\"\n").find("; did you mean \"hernquist\"?"), std::string::npos);
  EXPECT_EQ(refused("kind = \"point\"\nmass = 1\ncentre = [0, 1]\n"),
            "run.toml:6: gravity.external[0].centre: expected three numbers such as [0, 0, 0], found an array");
  EXPECT_EQ(refused("kind = \"point\"\nmass = 1\ncentre = [0, 1, \"a\"]\n"),
            "run.toml:6: gravity.external[0].centre: expected a number, found \"a\"");
  EXPECT_EQ(refusal("[time]\nintegrator = \"leapfrog\"\n[gravity]\nexternal = 3\n"),
            "run.toml:4: gravity.external: expected an array of tables, each under [[gravity.external]], found 3");
  EXPECT_EQ(refusal("[time]\nintegrator = \"leapfrog\"\n[gravity]\nsolver = \"mesh\"\n[[gravity.external]]\nkind = "
                    "\"point\"\nmass = 1\n"),
            "run.toml:5: gravity.external: external potentials have one centre and no periodic images; set "
            "gravity.mesh.boundary = \"isolated\"");
}

TEST(Config, BrokenTomlIsReportedWithItsLine) {
  EXPECT_EQ(refusal("[time]\neta = = 2\n").substr(0, 29), "run.toml:2: not valid TOML: E");
  EXPECT_EQ(refusal("[time]\neta = 1\neta = 2\n").substr(0, 27), "run.toml:3: not valid TOML:");
}

TEST(Config, SetValuesAreTomlOrBareWords) {
  const RunConfig config = parse_config("[time]\neta = 0.5\n", "run.toml",
                                        {"time.eta=0.25", "time.integrator=leapfrog", "particles.model=plummer",
                                         "particles.n=1e3", "gravity.softening={ disc = 0.5 }", "time.adaptive=true"});
  EXPECT_EQ(config.time.eta, 0.25);
  EXPECT_EQ(config.time.integrator, "leapfrog");
  EXPECT_EQ(config.particles.options.n, 1000);
  EXPECT_EQ(config.gravity.softening.epsilon[2], 0.5);
  EXPECT_EQ(config.gravity.softening.epsilon[1], 0.00390625);
  EXPECT_TRUE(config.time.adaptive);
}

TEST(Config, SetErrorsNameSetAsTheSource) {
  EXPECT_EQ(refusal("", {"time.eta=-1"}), "--set: time.eta: expected a number > 0, found -1");
  EXPECT_EQ(refusal("", {"time.eta=fast"}), "--set: time.eta: expected a number > 0, found \"fast\"");
  EXPECT_EQ(refusal("", {"time.eta"}), "--set: expected key=value, found \"time.eta\"");
  EXPECT_EQ(refusal("", {"time.eta="}), "--set: time.eta: expected a TOML value or a bare word, found nothing");
  EXPECT_EQ(refusal("", {"gravity.softening=[1"}),
            "--set: gravity.softening: expected a TOML value or a bare word, found [1");
  EXPECT_NE(refusal("", {"tim.eta=1"}).find("--set: tim.eta: unknown key; did you mean time.eta?"), std::string::npos);
}

TEST(Config, SetReachesIntoSofteningAndExpectations) {
  const RunConfig config = parse_config("[gravity]\nsoftening = 0.1\n", "run.toml",
                                        {"gravity.softening.halo=0.2", "expect.energy_error.tolerance=1e-6"});
  EXPECT_EQ(config.gravity.softening.epsilon[1], 0.2);
  EXPECT_EQ(config.gravity.softening.epsilon[0], 0.1);
  ASSERT_EQ(config.expect.size(), 1u);
  EXPECT_EQ(config.expect[0].tolerance, 1e-6);
}

TEST(Config, ChoosingParticlesWithSetReplacesTheFilesChoice) {
  const std::string text = "[particles]\nmodel = \"plummer\"\nn = 10\ncutoff = 5\n";
  const RunConfig config = parse_config(text, "run.toml", {"particles.file=a.hdf5"});
  EXPECT_EQ(config.particles.file, "a.hdf5");
  EXPECT_EQ(config.particles.model, "");
  EXPECT_EQ(parse_config("[particles]\nfile = \"a.hdf5\"\n", "run.toml", {"particles.model=kepler"}).particles.model,
            "kepler");
}

TEST(Config, ModelAndFileExcludeEachOther) {
  EXPECT_EQ(refusal("[particles]\nmodel = \"plummer\"\nfile = \"a\"\n"),
            "run.toml:3: particles.file: expected one of particles.model and particles.file, found both");
  EXPECT_EQ(refusal("[particles]\nfile = \"a\"\nn = 3\n"),
            "run.toml:3: particles.n: expected particles.model beside it, found particles.file");
  EXPECT_THROW(parse_config("", "run.toml").require_particles(), Error);
}

TEST(Config, TheSofteningKernelIsKeptWhateverTheOrderOfTheKeys) {
  const auto config = parse_config("[gravity]\nsoftening_kernel = \"spline\"\nsoftening = 0.1\n", "run.toml");
  EXPECT_EQ(config.solver_options().softening.kernel, SofteningKernel::spline);
  EXPECT_EQ(config.solver_options().softening.epsilon[3], 0.1);
}

TEST(Config, ItsTextReadsBackToTheSameText) {
  for (const std::string& text :
       {std::string(), std::string(contract_example), std::string("[particles]\nfile = \"a \\\"b\\\".hdf5\"\n"),
        std::string("[particles]\nmodel = \"kepler\"\neccentricity = 0.1\n[gravity]\nsoftening = { halo = 0.3 }\n"
                    "softening_kernel = \"spline\"\n[expect]\nvirial_ratio = 0.5\nenergy_error = 1e-7\n[units]\nsystem "
                    "= \"gadget\"\n")}) {
    const std::string written = config_text(parse_config(text, "run.toml"));
    EXPECT_EQ(config_text(parse_config(written, "written")), written);
  }
}

TEST(Config, ExpectationsOfTheFileReplaceTheModels) {
  const RunConfig config = parse_config(
      "[particles]\nmodel = \"plummer\"\n[expect]\nvirial_ratio = { expected = 0.4, tolerance = 0.01 }\n"
      "energy_error = 1e-6\n",
      "run.toml");
  const auto all = config.expectations();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "virial_ratio");
  EXPECT_EQ(all[0].expected, 0.4);
  EXPECT_EQ(all[2].name, "energy_error");
  EXPECT_EQ(all[2].tolerance, 1e-6);
}

// Reference: GADGET-2 user guide (G = 43007.1 for kpc, 1e10 solar masses, km/s; its constants are older by
// 5e-5).
TEST(Config, UnitSystemsHaveNewtonsConstant) {
  EXPECT_NEAR(parse_config("units.system = \"gadget\"\n", "").gravitational_constant() / 43007.1, 1, 1e-4);
  EXPECT_EQ(parse_config("units.system = \"si\"\n", "").gravitational_constant(), 6.67430e-11);
  const UnitSystem g = gadget_units();
  EXPECT_NEAR(
      6.67430e-8 * g.mass_g / (g.length_cm * g.velocity_cm_per_s * g.velocity_cm_per_s) / g.gravitational_constant, 1,
      1e-12);
}

class ConfigFile : public ::testing::Test {
 protected:
  ConfigFile() : folder_(std::filesystem::temp_directory_path() / ("pergola_config_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ConfigFile() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(ConfigFile, RelativeParticleFilesStartFromTheConfigurationsFolder) {
  std::ofstream(folder_ / "run.toml") << "[particles]\nfile = \"a.hdf5\"\n";
  EXPECT_EQ(read_config(folder_ / "run.toml").particles.file, (folder_ / "a.hdf5").string());
  EXPECT_EQ(read_config(folder_ / "run.toml", {"particles.file=b.hdf5"}).particles.file,
            (std::filesystem::current_path() / "b.hdf5").string());
}

TEST_F(ConfigFile, AMissingFileAndAFolderAreBadInput) {
  for (const auto& path : {folder_ / "none.toml", folder_}) {
    try {
      read_config(path);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace pergola

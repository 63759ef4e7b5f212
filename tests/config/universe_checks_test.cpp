// What cannot be right in a run with [cosmology] is refused when its configuration is read: where, which key, what was
// expected and what was found.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "config/config.hpp"

namespace pergola {
namespace {

std::string refusal(const std::vector<std::string>& sets, const std::string& solver = "treepm") {
  try {
    parse_config(
        "[run]\nend_redshift = 9\n[particles]\nmodel = \"cosmology\"\nn = \"8^3\"\nbox = 100\nredshift = 49\n"
        "[gravity]\nsolver = \"" +
            solver + "\"\nsoftening = 0.5\n[cosmology]\nomega_matter = 0.3\n",
        "box.toml", sets);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "";
}

TEST(UniverseChecks, WhatIsRightIsTaken) {
  for (const char* solver : {"tree", "treepm", "mesh"}) EXPECT_EQ(refusal({}, solver), "");
  EXPECT_EQ(refusal({"output.redshifts=[49, 20, 4, -0.5]"}), "");  // the last two are after the end
  EXPECT_EQ(refusal({"cosmology.w0=-0.9", "cosmology.wa=0.3", "cosmology.omega_lambda=-2"}), "");
  EXPECT_EQ(refusal({"gravity.mesh.box=100", "gravity.mesh.boundary=periodic", "output.radii_every=0"}), "");
  EXPECT_EQ(refusal({"gravity.softening_max_proper=0.01", "units.system=cosmology"}), "");
}

// As the text of a run has them: --set of one would else be refused for the other.
TEST(UniverseChecks, AParameterThatIsSetReplacesThatOfTheModel) {
  EXPECT_EQ(refusal({"particles.h=0.6"}),
            "--set: particles.h: expected 0.7 as in [cosmology], found 0.6; leave it out");
  const std::string text =
      config_text(parse_config("[run]\nend_redshift = 9\n[particles]\nmodel = \"cosmology\"\nn = \"8^3\"\n"
                               "[gravity]\nsolver = \"treepm\"\n",
                               "box.toml"));
  EXPECT_EQ(parse_config(text, "box.toml", {"cosmology.h=0.6"}).cosmology->h, 0.6);
}

TEST(UniverseChecks, TimesBeforeTheStartAreRefused) {
  EXPECT_EQ(refusal({"run.end_redshift=60"}),
            "--set: run.end_redshift: expected less than particles.redshift, 49, found 60");
  EXPECT_EQ(refusal({"particles.redshift=9"}),
            "box.toml:2: run.end_redshift: expected less than particles.redshift, 9, found 9");
  EXPECT_EQ(refusal({"output.redshifts=[20, 60]"}),
            "--set: output.redshifts: expected at most particles.redshift, 49, found 60");
}

TEST(UniverseChecks, UniversesWithoutABeginningOrAnEndAreRefused) {
  EXPECT_EQ(refusal({"cosmology.omega_baryon=0.4"}),
            "--set: cosmology.omega_baryon: expected at most cosmology.omega_matter, 0.3, found 0.4");
  EXPECT_EQ(refusal({"cosmology.wa=1.5"}),
            "--set: cosmology.wa: expected w0 + wa below 0, so that matter rules the early universe, found 0.5");
  // 0.3/a³ − 2.3/a² + 3 is below 0 from 0.1335 on; 0.3/a³ + 2.7/a² − 2 from 1.215 on.
  EXPECT_EQ(refusal({"cosmology.omega_lambda=3"}),
            "--set: cosmology.omega_lambda: expected a universe that expands from its beginning to the end of the run, "
            "found one that stands still at a = 0.134");
  EXPECT_EQ(refusal({"cosmology.omega_lambda=-2", "run.end_redshift=-0.5"}),
            "--set: cosmology.omega_lambda: expected a universe that expands from its beginning to the end of the run, "
            "found one that stands still at a = 1.22");
}

TEST(UniverseChecks, WhatDoesNotFitTheBoxOfTheModelIsRefused) {
  EXPECT_EQ(refusal({}, "direct"),
            "box.toml:9: gravity.solver: expected tree, treepm or mesh, for the model cosmology has a periodic box of "
            "100, found direct");
  EXPECT_EQ(refusal({"gravity.mesh.boundary=isolated"}),
            "--set: gravity.mesh.boundary: expected auto or periodic, for the model cosmology has a periodic box of "
            "100, found isolated");
  EXPECT_EQ(refusal({"gravity.mesh.box=[100, 100, 50]"}),
            "--set: gravity.mesh.box: expected 100, for the model cosmology has a periodic box of 100, or none, found "
            "100 x 100 x 50");
  EXPECT_EQ(refusal({"output.radii_every=0.1"}),
            "--set: output.radii_every: expected 0 or -1, for the model cosmology has a periodic box of 100 and so no "
            "centre, found 0.1");
  EXPECT_EQ(refusal({"units.system=gadget"}),
            "--set: units.system: expected auto or cosmology, in which the model cosmology is made, found gadget");
}

/// A file of particles, which may be in open space.
TEST(UniverseChecks, SofteningThatChangesNeedsASolverThatCan) {
  const auto with = [](const std::string& solver) {
    return parse_config("[particles]\nfile = \"sphere.hdf5\"\n[gravity]\nsolver = \"" + solver +
                            "\"\nsoftening = 0.5\nsoftening_max_proper = 0.1\n[cosmology]\nomega_matter = 0.3\n",
                        "open.toml");
  };
  const auto refused = [&](const std::string& solver) -> std::string {
    try {
      with(solver);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refused("direct"),
            "open.toml:6: gravity.softening_max_proper: the direct sum has one softening for the whole run; leave it "
            "out, or set gravity.solver = \"tree\"");
  EXPECT_EQ(refused("mesh"),
            "open.toml:6: gravity.softening_max_proper: a mesh has no softening but its cells; leave it out, or set "
            "gravity.solver = \"treepm\"");
  EXPECT_EQ(refused("tree"), "");
  EXPECT_EQ(refused("treepm"), "");
}

}  // namespace
}  // namespace pergola

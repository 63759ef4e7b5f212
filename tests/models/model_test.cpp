#include "models/model.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/error.hpp"
#include "base/units.hpp"

namespace pergola {
namespace {

std::string refusal(const std::string& model, const ModelOptions& options, ErrorKind kind = ErrorKind::input) {
  try {
    make_model(model, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "";
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

void expect_same(const Particles& a, const Particles& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_TRUE(same_bits(a.mass, b.mass));
  EXPECT_TRUE(same_bits(a.x, b.x) && same_bits(a.y, b.y) && same_bits(a.z, b.z));
  EXPECT_TRUE(same_bits(a.vx, b.vx) && same_bits(a.vy, b.vy) && same_bits(a.vz, b.vz));
}

TEST(Models, HaveTheSameBitsOnAnyNumberOfThreads) {
  for (const auto& info : models()) {
    SCOPED_TRACE(info.name);
    ModelOptions options;
    options.n = !info.any_n ? 0 : info.cube ? 27 * 27 * 27 : 20011;
    if (info.own_units) options.gravitational_constant = find_unit_system(info.units)->gravitational_constant;
    options.seed = 42;
    const Particles one = make_model(info.name, options, 1);
    one.validate(info.name);
    EXPECT_EQ(one.size(), model_count(info, options.n));
    EXPECT_EQ(one.id.front(), 1u);
    for (const int threads : {2, 7}) expect_same(one, make_model(info.name, options, threads));
  }
}

TEST(Models, AnOptionThatHasNoEffectIsRefused) {
  const auto said = [](const std::string& model, const std::map<std::string, ModelValue>& values) {
    ModelOptions options;
    options.n = 50, options.values = values;
    return refusal(model, options);
  };
  for (const char* model : {"plummer", "hernquist", "nfw", "king"})
    EXPECT_EQ(said(model, {{"virial_radius", 3.0}, {"half_mass_radius", 2.0}}),
              std::string(model) + ": virial_radius: expected half_mass_radius = 0 beside it, found 2");
  EXPECT_EQ(said("plummer", {{"softening", 0.1}}),
            "plummer: softening: expected exact_energy = true beside it, found false");
  EXPECT_EQ(said("cluster", {{"w0", 7.0}}), "cluster: w0: expected profile = \"king\" beside it, found \"plummer\"");
  EXPECT_EQ(said("galaxy", {{"halo_profile", std::string("hernquist")}, {"halo_truncation", 0.2}}),
            "galaxy: halo_truncation: expected halo_profile = \"nfw\" beside it, found \"hernquist\"");
  EXPECT_EQ(said("cluster", {{"profile", std::string("king")}, {"w0", 7.0}}), "");
  // Configurations state all defaults.
  EXPECT_EQ(said("plummer", {{"virial_radius", 1.0}, {"half_mass_radius", 2.0}}), "");
}

// Reference: M81's halo has 1e12 solar masses and a scale radius of 18 kpc; a parsec is 206264.806 astronomical units.
TEST(Models, DefaultsWithUnitsAreTheSameInAnySystem) {
  const auto usual = [](const std::string& model, const std::string& name, const char* units) {
    for (const ModelOption& option : find_model(model).options)
      if (option.name == name)
        return std::get<double>(option_default(find_model(model), option, *find_unit_system(units)));
    return 0.0;
  };
  EXPECT_EQ(usual("m81", "halo_mass", "gadget"), 100);
  EXPECT_EQ(usual("m81", "halo_mass", "nbody"), 100);
  EXPECT_NEAR(usual("m81", "halo_mass", "galactic") / 1e12, 1, 1e-12);
  EXPECT_NEAR(usual("m81", "halo_scale_radius", "stellar") / 18000, 1, 1e-12);
  EXPECT_EQ(usual("m81", "toomre_q", "stellar"), 1.5);
  EXPECT_NEAR(usual("cluster", "half_mass_radius", "solar"), 206264.806, 1e-3);
  EXPECT_EQ(usual("plummer", "virial_radius", "solar"), 1);  // N-body units: a number
  ModelOptions options;
  options.n = 100, options.units = *find_unit_system("galactic");
  options.gravitational_constant = options.units.gravitational_constant;
  double mass = 0;
  for (const double one : make_model("m81", options).mass) mass += one;
  EXPECT_NEAR(mass / 108e10, 1, 1e-9);
}

TEST(Models, CurvatureIsSaid) {
  physics::Cosmology universe;
  EXPECT_EQ(curvature_remark(universe), "");
  universe.omega_matter = 1;
  EXPECT_NE(curvature_remark(universe).find("leave -0.7 to curvature"), std::string::npos);
  EXPECT_NE(curvature_remark(universe).find("a flat one has omega_lambda = 0"), std::string::npos);
}

TEST(Models, ExactEnergyHasTheSameBitsOnAnyNumberOfThreads) {
  ModelOptions options;
  options.n = 1000;
  options.values["exact_energy"] = true;
  expect_same(make_model("plummer", options, 1), make_model("plummer", options, 7));
}

TEST(Models, AStarDependsOnSeedAndPlaceOnly) {
  for (const auto& info : models()) {
    if (!info.any_n) continue;
    SCOPED_TRACE(info.name);
    ModelOptions options;
    if (info.own_units) options.gravitational_constant = find_unit_system(info.units)->gravitational_constant;
    options.n = info.min_n;
    EXPECT_EQ(make_model(info.name, options).size(), info.min_n);
    ModelOptions other = options;
    other.n = options.n = info.cube ? 64 : 100;
    other.seed = 2;
    EXPECT_NE(make_model(info.name, options).x, make_model(info.name, other).x);
  }
}

TEST(Models, OnlyTheCubeAndTheUniverseHaveABox) {
  ModelOptions options;
  for (const auto& info : models())
    EXPECT_EQ(model_box_side(info.name, options), info.name == "cube" ? 1 : info.name == "cosmology" ? 100 : 0);
  options.values["side"] = 2.5;
  EXPECT_EQ(model_box_side("cube", options), 2.5);
}

TEST(Models, BadOptionsAreNamed) {
  ModelOptions options;
  options.values["cutof"] = 1.0;
  EXPECT_NE(refusal("plummer", options).find("did you mean cutoff?"), std::string::npos);
  options.values = {{"cutoff", -1.0}};
  EXPECT_EQ(refusal("plummer", options), "plummer: cutoff: expected a number > 0, found -1");
  options.values = {{"cutoff", true}};
  EXPECT_EQ(refusal("plummer", options), "plummer: cutoff: expected a number, found true");
  options.values.clear();
  options.n = -3;
  EXPECT_EQ(refusal("plummer", options), "plummer: n: expected an integer >= 1, found -3");
  options.n = 7;
  EXPECT_NE(refusal("kepler", options).find("expected 2"), std::string::npos);
  EXPECT_NE(refusal("plumer", {}).find("did you mean \"plummer\"?"), std::string::npos);
}

TEST(Models, MoreParticlesThanMemoryAreRefusedBeforeAnyIsTaken) {
  ModelOptions options;
  for (const std::int64_t n : {std::int64_t{1} << 50, std::numeric_limits<std::int64_t>::max()}) {
    options.n = n;
    EXPECT_NE(refusal("plummer", options, ErrorKind::device).find("particles need"), std::string::npos);
  }
}

}  // namespace
}  // namespace pergola

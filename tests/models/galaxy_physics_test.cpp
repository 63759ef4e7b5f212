#include "models/galaxy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/energy.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "gravity/solver.hpp"

namespace pergola {
namespace {

ModelOptions with(std::int64_t n, std::map<std::string, ModelValue> values = {}) {
  ModelOptions options;
  options.n = n;
  options.values = std::move(values);
  return options;
}

std::string refusal(const std::string& model, const ModelOptions& options) {
  try {
    make_model(model, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "";
}

double radius(const Particles& p, std::size_t i) { return std::hypot(p.x[i], p.y[i], p.z[i]); }

TEST(Galaxy, HasTheMassesAndTheParticlesAskedFor) {
  const Particles p = make_model("galaxy", with(10000, {{"disc_fraction", 0.3}, {"bulge_fraction", 0.2}}));
  double mass[species_count]{}, count[species_count]{};
  Vec3<double> centre{}, momentum{};
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    EXPECT_EQ(p.id[i], i + 1);
    mass[p.species[i]] += p.mass[i], count[p.species[i]] += 1;
    centre = centre + p.mass[i] * Vec3<double>{p.x[i], p.y[i], p.z[i]};
    momentum = momentum + p.mass[i] * Vec3<double>{p.vx[i], p.vy[i], p.vz[i]};
  }
  EXPECT_NEAR(mass[species_halo], 10, 1e-9);
  EXPECT_NEAR(mass[species_disc], 1, 1e-9);
  EXPECT_NEAR(mass[species_bulge], 0.2, 1e-9);
  EXPECT_EQ(count[species_halo], 5000);
  EXPECT_EQ(count[species_disc], 3000);
  EXPECT_EQ(count[species_bulge], 2000);
  EXPECT_NEAR(dot(centre, centre) + dot(momentum, momentum), 0, 1e-20);
}

TEST(Galaxy, MayLackAPart) {
  for (const char* part : {"halo_mass", "bulge_mass", "disc_mass"}) {
    const Particles p = make_model("galaxy", with(1000, {{part, 0.0}}));
    EXPECT_EQ(p.size(), 1000);
    EXPECT_NEAR(p.mass.front() > 0 ? 1 : 0, 1, 0);
  }
  EXPECT_NE(refusal("galaxy", with(10, {{"halo_mass", 0.0}, {"bulge_mass", 0.0}, {"disc_mass", 0.0}}))
                .find("expected a part with a mass > 0"),
            std::string::npos);
}

TEST(Galaxy, RefusesWhatHasNoEquilibrium) {
  EXPECT_EQ(refusal("galaxy", with(10, {{"disc_fraction", 0.75}, {"bulge_fraction", 0.5}})),
            "galaxy: disc_fraction: expected less than 1 with bulge_fraction, for the halo, found 1.25");
  EXPECT_EQ(refusal("galaxy", with(10, {{"disc_scale_length", 10.0}})),
            "galaxy: disc_cutoff: expected a disc within the radius of the halo, 30, found 50");
  EXPECT_NE(refusal("galaxy", with(10, {{"halo_truncation", 0.02}})).find("galaxy: halo_truncation"),
            std::string::npos);
  EXPECT_EQ(refusal("galaxy", with(2)), "galaxy: n: expected at least 3, one for each part of galaxy, found 2");
}

// Reference: Jeans' equation in the field of all parts, σ² = ∫ ρ G M/r² dr/ρ, with the masses counted from the
// particles of all species and ρ in closed form.
TEST(Galaxy, ItsSpheresHoldUpInTheFieldOfAllParts) {
  const Particles p = make_model("galaxy",
                                 with(200000, {{"halo_profile", std::string("hernquist")},
                                               {"halo_concentration", 20.0},
                                               {"bulge_mass", 0.5},
                                               {"bulge_scale_radius", 0.4}}),
                                 2);
  const double step = 0.02;
  std::vector<double> mass(800, 0);  // within exp((k + 1) step − 8)
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const double place = (std::log(std::max(radius(p, i), 1e-9)) + 8) / step;
    mass[static_cast<std::size_t>(std::clamp(place, 0.0, 799.0))] += p.mass[i];
  }
  for (std::size_t k = 1; k < mass.size(); ++k) mass[k] += mass[k - 1];
  for (const auto& [species, scale] : {std::pair{species_bulge, 0.4}, {species_halo, 3.0}}) {
    const auto density = [a = scale](double r) { return 1 / (r * std::pow(r + a, 3)); };
    for (const double low : {0.5 * scale, 1.0 * scale, 2.0 * scale}) {
      double pressure = 0, sum = 0, count = 0;
      const double middle = low * 1.1;
      for (std::size_t k = 0; k < mass.size(); ++k) {
        const double r = std::exp((static_cast<double>(k) + 0.5) * step - 8);
        if (r > middle) pressure += density(r) * mass[k] / r * step;
      }
      for (std::size_t i = 0; i < p.id.size(); ++i) {
        if (p.species[i] != species || radius(p, i) < low || radius(p, i) > 1.21 * low) continue;
        sum += (p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i]) / 3;
        count += 1;
      }
      EXPECT_NEAR(sum / count / (pressure / density(middle)), 1, 0.03 + 3 * std::sqrt(2 / (3 * count)))
          << int(species) << " " << low;
    }
  }
}

// Reference: the virial theorem, with the potential energy as the direct sum.
TEST(Galaxy, IsInVirialEquilibrium) {
  const auto energies = measure_energies(make_model("galaxy", with(20000)), Device::open("cpu", 2), SolverOptions{});
  EXPECT_NEAR(energies.kinetic / -energies.potential, 0.5, 0.01);
}

// Reference: M81's rotation curve, which rises to about 250 km/s at 6 kpc and falls to about 200 km/s at 15 kpc (de
// Blok et al. 2008, AJ 136, 2648), and GADGET's units.
TEST(Galaxy, M81TurnsAsFastAsM81) {
  auto options = with(100000);
  options.gravitational_constant = gadget_units().gravitational_constant;
  const Particles p = make_model("m81", options, 2);
  EXPECT_EQ(find_model("m81").units, "gadget");
  for (const auto& [r, speed, tolerance] : {std::array{6.0, 240.0, 12.0}, {15.0, 205.0, 12.0}}) {
    double mass = 0;
    for (std::size_t i = 0; i < p.id.size(); ++i)
      if (radius(p, i) < r) mass += p.mass[i];
    EXPECT_NEAR(std::sqrt(options.gravitational_constant * mass / r), speed, tolerance) << r;
  }
  double speed = 0, count = 0;
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const double r = std::hypot(p.x[i], p.y[i]);
    if (p.species[i] != species_disc || r < 5.5 || r > 6.5) continue;
    speed += (p.x[i] * p.vy[i] - p.y[i] * p.vx[i]) / r;
    count += 1;
  }
  EXPECT_NEAR(speed / count, 228, 12);  // its stars lag behind the circular speed
}

TEST(Galaxy, AdvisesSofteningsThatFallWithTheNumber) {
  const auto few = model_softening("galaxy", with(80000)), many = model_softening("galaxy", with(640000));
  for (const std::uint8_t species : {species_halo, species_disc, species_bulge})
    EXPECT_NEAR(few[species] / many[species], 2, 0.01);
  EXPECT_GT(few[species_halo], few[species_disc]);
  EXPECT_EQ(model_softening("galaxy", with(1000))[species_halo], 0.2) << "a fifth of the disc's scale length";
  EXPECT_EQ(few[0], 0);
  EXPECT_EQ(model_softening("plummer", with(100))[species_halo], 0);
}

}  // namespace
}  // namespace pergola

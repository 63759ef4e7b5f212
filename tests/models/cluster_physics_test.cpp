#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "models/model.hpp"
#include "physics/kepler.hpp"

namespace pergola {
namespace {

using Values = std::map<std::string, ModelValue>;

Particles cluster(std::int64_t n, const Values& values, const char* units = "stellar", std::uint64_t seed = 3) {
  ModelOptions options;
  options.n = n, options.seed = seed;
  options.units = *find_unit_system(units);
  options.gravitational_constant = options.units.gravitational_constant;
  options.values = values;
  return make_model("cluster", options, 2);
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// ∫ m^(k − slope) dm.
double integral(double slope, double low, double high, int k) {
  const double power = k + 1 - slope;
  return (std::pow(high, power) - std::pow(low, power)) / power;
}

/// Kroupa 2001, eq. 2, with the parts below and above 0.5 solar masses: m^-1.3 and 0.5 m^-2.3, from 0.08 on.
double kroupa_mean(double high, int k) {
  const double number = integral(1.3, 0.08, 0.5, 0) + 0.5 * integral(2.3, 0.5, high, 0);
  return (integral(1.3, 0.08, 0.5, k) + 0.5 * integral(2.3, 0.5, high, k)) / number;
}

TEST(Cluster, KroupasMassesHaveHisMeanAndParts) {
  const std::int64_t n = 200000;
  const Particles stars = cluster(n, {});
  const double mean = kroupa_mean(100, 1), deviation = std::sqrt(kroupa_mean(100, 2) - mean * mean);
  EXPECT_NEAR(sum(stars.mass) / static_cast<double>(n), mean, 4 * deviation / std::sqrt(static_cast<double>(n)));
  const double number = integral(1.3, 0.08, 0.5, 0) + 0.5 * integral(2.3, 0.5, 100, 0);
  for (const double above : {0.2, 0.5, 1.0, 8.0}) {
    const double part = (above < 0.5 ? integral(1.3, above, 0.5, 0) + 0.5 * integral(2.3, 0.5, 100, 0)
                                     : 0.5 * integral(2.3, above, 100, 0)) /
                        number;
    const auto found = std::count_if(stars.mass.begin(), stars.mass.end(), [=](double m) { return m > above; });
    EXPECT_NEAR(static_cast<double>(found) / static_cast<double>(n), part, 4 * std::sqrt(part / static_cast<double>(n)))
        << above;
  }
  const auto [low, high] = std::minmax_element(stars.mass.begin(), stars.mass.end());
  EXPECT_GE(*low, 0.08);
  EXPECT_LE(*high, 100);
}

/// Salpeter 1955: dN/dm falls as m^-2.35. Masses are the same in any units; without units their sum is 1.
TEST(Cluster, SalpetersMassesHaveHisSlopeInAnyUnits) {
  const Values values{{"imf", std::string("salpeter")}, {"mass_low", 0.5}, {"mass_high", 50.0}};
  const Particles stars = cluster(50000, values);
  const double part = integral(2.35, 2, 50, 0) / integral(2.35, 0.5, 50, 0);
  const auto found = std::count_if(stars.mass.begin(), stars.mass.end(), [](double m) { return m > 2; });
  EXPECT_NEAR(static_cast<double>(found) / 50000, part, 4 * std::sqrt(part / 50000));
  const Particles plain = cluster(50000, values, "nbody");
  EXPECT_NEAR(sum(plain.mass), 1, 1e-12);
  EXPECT_NEAR(plain.mass[7] / plain.mass[8], stars.mass[7] / stars.mass[8], 1e-12);
  const Particles heavy =
      cluster(50000, {{"imf", std::string("salpeter")}, {"mass_low", 0.5e-10}, {"mass_high", 50e-10}}, "gadget");
  EXPECT_NEAR(heavy.mass[7] * 1e10, stars.mass[7], 1e-12 * stars.mass[7]);
  EXPECT_NEAR(sum(cluster(1000, {{"mass", 500.0}}).mass), 500, 1e-9);
}

struct Energies {
  double kinetic = 0, potential = 0;
};

/// By all pairs, about the mean velocity.
Energies energies_of(const Particles& p, double g) {
  Energies found;
  const double mass = sum(p.mass);
  Vec3<double> mean{0, 0, 0};
  for (std::size_t i = 0; i < p.mass.size(); ++i)
    mean = mean + (p.mass[i] / mass) * Vec3<double>{p.vx[i], p.vy[i], p.vz[i]};
  for (std::size_t i = 0; i < p.mass.size(); ++i) {
    const Vec3<double> v = Vec3<double>{p.vx[i], p.vy[i], p.vz[i]} - mean;
    found.kinetic += 0.5 * p.mass[i] * dot(v, v);
    for (std::size_t j = 0; j < i; ++j)
      found.potential -= g * p.mass[i] * p.mass[j] / std::hypot(p.x[i] - p.x[j], p.y[i] - p.y[j], p.z[i] - p.z[j]);
  }
  return found;
}

/// The radius about the origin that holds half of the mass of stars that are chosen.
template <class Chosen>
double half_mass_radius(const Particles& p, const Chosen& chosen) {
  std::vector<std::pair<double, double>> stars;
  for (std::size_t i = 0; i < p.mass.size(); ++i)
    if (chosen(p.mass[i])) stars.emplace_back(std::hypot(p.x[i], p.y[i], p.z[i]), p.mass[i]);
  std::sort(stars.begin(), stars.end());
  double all = 0, below = 0;
  for (const auto& [r, m] : stars) all += m;
  for (const auto& [r, m] : stars)
    if ((below += m) >= 0.5 * all) return r;
  return 0;
}

const auto any = [](double) { return true; };

/// The two stars of each binary as one, and the single stars.
Particles centres_of(const Particles& stars, std::size_t binaries) {
  Particles all;
  all.resize(stars.size() - static_cast<std::int64_t>(binaries));
  for (std::size_t s = 0; s < all.mass.size(); ++s) {
    const std::size_t first = s < binaries ? 2 * s : s + binaries, last = s < binaries ? first + 1 : first;
    all.mass[s] = 0;
    for (std::size_t i = first; i <= last; ++i) all.mass[s] += stars.mass[i];
    for (std::size_t i = first; i <= last; ++i) {
      const double part = stars.mass[i] / all.mass[s];
      all.x[s] += part * stars.x[i], all.y[s] += part * stars.y[i], all.z[s] += part * stars.z[i];
      all.vx[s] += part * stars.vx[i], all.vy[s] += part * stars.vy[i], all.vz[s] += part * stars.vz[i];
    }
  }
  return all;
}

/// 2K = |W|, and half of the mass within the radius that was asked for, segregated or not, with binaries or not.
/// Masses to 3 solar masses, so that few stars do not decide.
TEST(Cluster, IsInEquilibriumWithItsHalfMassRadius) {
  const double g = find_unit_system("stellar")->gravitational_constant;
  for (const char* profile : {"plummer", "king"})
    for (const double segregation : {0.0, 0.5, 1.0})
      for (const double fraction : {0.0, 0.5}) {
        SCOPED_TRACE(testing::Message() << profile << " " << segregation << " " << fraction);
        const Particles stars = cluster(6000, {{"profile", std::string(profile)},
                                               {"half_mass_radius", 2.0},
                                               {"mass_high", 3.0},
                                               {"segregation", segregation},
                                               {"binary_fraction", fraction}});
        const Particles systems = centres_of(stars, fraction > 0 ? 2000 : 0);
        const Energies e = energies_of(systems, g);
        EXPECT_NEAR(-2 * e.kinetic / e.potential, 1, 0.05);  // twice the noise of 4000 systems of unequal masses
        EXPECT_NEAR(half_mass_radius(systems, any), 2, 0.1);
      }
}

/// The place of each number in their order.
std::vector<double> ranks(const std::vector<double>& numbers) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });
  std::vector<double> rank(numbers.size());
  for (std::size_t k = 0; k < order.size(); ++k) rank[order[k]] = static_cast<double>(k);
  return rank;
}

/// Spearman's correlation of the masses with the binding energies in Plummer's field, whose scale is the half-mass
/// radius times √(2^(2/3) − 1).
double mass_energy_correlation(double segregation) {
  const Particles stars = cluster(20000, {{"segregation", segregation}});
  const double scale = std::sqrt(std::cbrt(4.0) - 1);
  const double g_mass = find_unit_system("stellar")->gravitational_constant * sum(stars.mass);
  std::vector<double> binding;
  for (std::size_t i = 0; i < stars.mass.size(); ++i) {
    const Vec3<double> x{stars.x[i], stars.y[i], stars.z[i]}, v{stars.vx[i], stars.vy[i], stars.vz[i]};
    binding.push_back(g_mass / std::sqrt(dot(x, x) + scale * scale) - dot(v, v) / 2);
  }
  const auto by_mass = ranks(stars.mass), by_energy = ranks(binding);
  const double n = static_cast<double>(by_mass.size());
  double squares = 0;
  for (std::size_t i = 0; i < by_mass.size(); ++i) squares += std::pow(by_mass[i] - by_energy[i], 2);
  return 1 - 6 * squares / (n * (n * n - 1));
}

TEST(Cluster, SegregationOrdersMassesByBindingEnergy) {
  EXPECT_NEAR(mass_energy_correlation(0), 0, 4 / std::sqrt(20000.0));
  const double half = mass_energy_correlation(0.5);
  EXPECT_GT(half, 0.2);
  EXPECT_LT(half, 0.8);
  EXPECT_GT(mass_energy_correlation(1), 0.999);
}

struct Binary {
  double axis, eccentricity, log_days, ratio, energy;
};

std::vector<Binary> binaries_of(const Particles& p, std::size_t count) {
  const UnitSystem& units = *find_unit_system("stellar");
  const double g = units.gravitational_constant, day = 86400 * units.velocity_cm_per_s / units.length_cm;
  std::vector<Binary> found;
  for (std::size_t k = 0; k < 2 * count; k += 2) {
    const Vec3<double> x{p.x[k + 1] - p.x[k], p.y[k + 1] - p.y[k], p.z[k + 1] - p.z[k]},
        v{p.vx[k + 1] - p.vx[k], p.vy[k + 1] - p.vy[k], p.vz[k + 1] - p.vz[k]};
    const auto orbit = physics::orbit_elements(x, v, g * (p.mass[k] + p.mass[k + 1]));
    found.push_back({orbit.semi_major_axis, orbit.eccentricity, std::log10(orbit.period / day),
                     p.mass[k + 1] / p.mass[k], physics::pair_binding_energy(x, v, p.mass[k], p.mass[k + 1], g)});
  }
  return found;
}

/// The largest distance between the numbers' cumulative distribution and a law. Kolmogorov: above 1.95/√n in one case
/// of a thousand.
template <class Law>
double distance(std::vector<double> numbers, const Law& law) {
  std::sort(numbers.begin(), numbers.end());
  double largest = 0;
  const double n = static_cast<double>(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    largest = std::max({largest, std::abs(law(numbers[i]) - static_cast<double>(i) / n),
                        std::abs(law(numbers[i]) - static_cast<double>(i + 1) / n)});
  return largest * std::sqrt(n);
}

std::vector<double> each(const std::vector<Binary>& binaries, double Binary::*number) {
  std::vector<double> numbers;
  for (const Binary& one : binaries) numbers.push_back(one.*number);
  return numbers;
}

double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// Wide limits leave the published distributions whole; the half-mass radius keeps stars' places small, so that
/// rounding leaves close pairs whole.
TEST(Cluster, BinariesHavePublishedPeriods) {
  const std::pair<const char*, std::function<double(double)>> laws[] = {
      {"raghavan", [](double l) { return normal((l - 5.03) / 2.28); }},
      {"duquennoy-mayor", [](double l) { return normal((l - 4.8) / 2.3); }},
      {"kroupa", [](double l) { return 1.25 * std::log(1 + (l - 1) * (l - 1) / 45); }}};
  for (const auto& [name, law] : laws) {
    SCOPED_TRACE(name);
    const Particles stars = cluster(6000, {{"binary_fraction", 0.5},
                                           {"binary_periods", std::string(name)},
                                           {"binary_axis_high", 1e9},
                                           {"half_mass_radius", 1e-3}});
    const auto binaries = binaries_of(stars, 2000);
    EXPECT_LT(distance(each(binaries, &Binary::log_days), law), 1.95);
  }
}

TEST(Cluster, BinariesHaveTheOrbitsThatAreAskedFor) {
  Values values{{"binary_fraction", 0.25},
                {"binary_periods", std::string("opik")},
                {"binary_axis_low", 1e-4},
                {"binary_axis_high", 1e-2},
                {"imf", std::string("salpeter")}};
  const std::size_t count = 2000;
  const auto made = [&] { return cluster(10000, values); };
  const Particles stars = made();
  const auto binaries = binaries_of(stars, count);
  EXPECT_LT(distance(each(binaries, &Binary::axis), [](double a) { return std::log(a / 1e-4) / std::log(100.0); }),
            1.95);
  EXPECT_LT(distance(each(binaries, &Binary::eccentricity), [](double e) { return e * e; }), 1.95);
  const double g = find_unit_system("stellar")->gravitational_constant;
  std::vector<double> parts;
  for (std::size_t k = 0; k < count; ++k) {
    const double m1 = stars.mass[2 * k], m2 = stars.mass[2 * k + 1];
    EXPECT_NEAR(binaries[k].energy, g * m1 * m2 / (2 * binaries[k].axis), 1e-9 * binaries[k].energy);
    parts.push_back((m2 - 0.08) / (m1 - 0.08));
  }
  EXPECT_LT(distance(parts, [](double u) { return u; }), 1.95);
  // The stars of pairs that are drawn alike are as heavy as all: the ratio of two Salpeter masses.
  values["binary_masses"] = std::string("random");
  values["binary_eccentricities"] = std::string("circular");
  const Particles alike = made();
  double first = 0, all = 0;
  for (std::size_t i = 0; i < alike.mass.size(); ++i) (i < 2 * count ? first : all) += std::log(alike.mass[i]);
  EXPECT_NEAR(first / (2 * count), all / (10000 - 2 * count), 4 * (1 / 1.35) / std::sqrt(4000.0) * std::sqrt(5.0 / 3));
  for (const Binary& one : binaries_of(alike, count)) EXPECT_LT(one.eccentricity, 1e-8);
}

TEST(Cluster, StandsOnItsOrbit) {
  const Particles here = cluster(500, {}), there = cluster(500, {{"x", 8000.0}, {"vy", 220.0}, {"vz", -5.0}});
  for (std::size_t i = 0; i < 500; ++i) {
    EXPECT_EQ(there.x[i], here.x[i] + 8000);
    EXPECT_EQ(there.z[i], here.z[i]);
    EXPECT_EQ(there.vy[i], here.vy[i] + 220);
    EXPECT_EQ(there.vz[i], here.vz[i] - 5);
  }
  double at = 0;
  for (std::size_t i = 0; i < 500; ++i) at += here.mass[i] * here.x[i];
  EXPECT_NEAR(at / sum(here.mass), 0, 1e-12);
}

std::string refusal(const Values& values, const char* units) {
  try {
    cluster(100, values, units);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "";
}

TEST(Cluster, RefusesWhatMakesNoSense) {
  EXPECT_NE(refusal({{"mass_low", 5.0}, {"mass_high", 2.0}}, "stellar").find("cluster: mass_high: expected more than"),
            std::string::npos);
  EXPECT_NE(refusal({{"binary_fraction", 0.5}}, "nbody").find("binary_periods: expected opik"), std::string::npos);
  EXPECT_NE(refusal({{"binary_fraction", 0.5}, {"binary_axis_low", 5.0}}, "stellar").find("binary_axis_low"),
            std::string::npos);
}

/// Of spheres in equilibrium, within the noise of their stars.
TEST(Spheres, HaveTheHalfMassRadiusThatIsAskedFor) {
  for (const char* name : {"plummer", "hernquist", "nfw", "king"}) {
    ModelOptions options;
    options.n = 20000, options.seed = 5;
    options.values = {{"half_mass_radius", 3.0}, {"mass", 2.0}};
    const Particles stars = make_model(name, options, 2);
    EXPECT_NEAR(half_mass_radius(stars, any), 3, 0.09) << name;
    EXPECT_NEAR(sum(stars.mass), 2, 1e-12) << name;
  }
}

TEST(Models, ADefaultMassThatUnitsMakeTinyIsSaid) {
  ModelOptions options;
  options.n = 300;
  EXPECT_EQ(default_mass_remark("plummer", options), "");
  options.units = *find_unit_system("stellar");
  EXPECT_NE(default_mass_remark("plummer", options).find("0.0033 solar masses to each of 300 particles"),
            std::string::npos);
  EXPECT_EQ(default_mass_remark("cluster", options), "");
  options.n = 0;
  EXPECT_EQ(default_mass_remark("kepler", options), "");
  options.n = 300;
  options.values["mass"] = 300.0;
  EXPECT_EQ(default_mass_remark("plummer", options), "");
}

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "gravity/solver.hpp"
#include "models/model.hpp"

namespace pergola {
namespace {

ModelOptions stars(std::int64_t n, std::uint64_t seed = 1) {
  ModelOptions options;
  options.n = n;
  options.seed = seed;
  return options;
}

double kinetic(const Particles& p) {
  double sum = 0;
  for (std::size_t i = 0; i < p.mass.size(); ++i)
    sum += 0.5 * p.mass[i] * (p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i]);
  return sum;
}

double potential(const Particles& p, double softening = 0) {
  Sources<double> s;
  s.count = p.size();
  s.x = p.x.data(), s.y = p.y.data(), s.z = p.z.data(), s.mass = p.mass.data();
  SolverOptions options;
  options.softening = Softening::same(softening);
  return potential_energy(Device::open("cpu", 2), s, options);
}

std::vector<double> radii(const Particles& p) {
  std::vector<double> r;
  for (std::size_t i = 0; i < p.x.size(); ++i) r.push_back(std::hypot(p.x[i], p.y[i], p.z[i]));
  std::sort(r.begin(), r.end());
  return r;
}

constexpr double scale_radius = 0.589048622548086;  // 3π/16, in N-body units

// Reference: M(r) = r³/(r² + a²)^(3/2), Plummer 1911. The largest distance between the sampled and the analytic mass
// profile of 20,000 stars exceeds 1.63/√n with probability 1 % (Kolmogorov); the cutoff holds 0.29 % of the mass.
TEST(Plummer, MassProfileIsPlummers) {
  const auto r = radii(make_model("plummer", stars(20000)));
  double worst = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    const double q = r[i] / std::sqrt(r[i] * r[i] + scale_radius * scale_radius);
    worst = std::max(worst, std::abs(q * q * q - static_cast<double>(i) / static_cast<double>(r.size())));
  }
  EXPECT_LT(worst, 1.63 / std::sqrt(20000.0) + 0.003);
}

// Reference: a/√(2^(2/3) − 1) = 0.769 virial radii, from M(r) = 1/2.
TEST(Plummer, HalfMassRadiusIsTheKnownOne) {
  const auto r = radii(make_model("plummer", stars(40000)));
  EXPECT_NEAR(r[20000], 0.769, 0.015);
}

// Reference: the virial theorem and W = −3π G M²/(32 a): K = 1/4, W = −1/2 in N-body units. Sampling error of 8192
// stars: about 1/√n in each.
TEST(Plummer, EnergyIsMinusAQuarterAndTheVirialRatioAHalf) {
  const Particles p = make_model("plummer", stars(8192));
  const double k = kinetic(p), w = potential(p);
  EXPECT_NEAR(k, 0.25, 0.25 * 0.03);
  EXPECT_NEAR(w, -0.5, 0.5 * 0.03);
  EXPECT_NEAR(k / -w, 0.5, 0.02);
}

// Reference: an isotropic velocity distribution has equal radial and tangential dispersions per dimension.
TEST(Plummer, VelocitiesAreIsotropic) {
  const Particles p = make_model("plummer", stars(40000));
  double radial = 0, all = 0, x2 = 0, y2 = 0, z2 = 0;
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    const double r = std::hypot(p.x[i], p.y[i], p.z[i]);
    const double vr = (p.x[i] * p.vx[i] + p.y[i] * p.vy[i] + p.z[i] * p.vz[i]) / r;
    radial += vr * vr;
    x2 += p.vx[i] * p.vx[i], y2 += p.vy[i] * p.vy[i], z2 += p.vz[i] * p.vz[i];
  }
  all = x2 + y2 + z2;
  EXPECT_NEAR(radial / all, 1.0 / 3, 0.01);
  EXPECT_NEAR(x2 / all, 1.0 / 3, 0.01);
  EXPECT_NEAR(y2 / all, 1.0 / 3, 0.01);
}

// Reference: the mean square speed at r is half the depth of the potential, (1/2) G M/√(r² + a²) (Dejonghe 1987), and
// no star is faster than the escape speed √(2 G M/√(r² + a²)).
TEST(Plummer, SpeedsFollowTheDistributionFunction) {
  const Particles p = make_model("plummer", stars(40000));
  double ratio = 0;
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    const double depth =
        1 / std::sqrt(p.x[i] * p.x[i] + p.y[i] * p.y[i] + p.z[i] * p.z[i] + scale_radius * scale_radius);
    const double v2 = p.vx[i] * p.vx[i] + p.vy[i] * p.vy[i] + p.vz[i] * p.vz[i];
    EXPECT_LT(v2, 2 * depth * 1.1);
    ratio += v2 / depth;
  }
  EXPECT_NEAR(ratio / 40000, 0.5, 0.01);
}

TEST(Plummer, IsCentredInPlaceAndVelocity) {
  const Particles p = make_model("plummer", stars(5000));
  for (const auto* values : {&p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz}) {
    double sum = 0;
    for (std::size_t i = 0; i < p.mass.size(); ++i) sum += p.mass[i] * (*values)[i];
    EXPECT_NEAR(sum, 0, 1e-15);
  }
}

TEST(Plummer, ExactEnergyIsExact) {
  for (const double softening : {0.0, 1.0 / 256, 0.1, 0.5}) {
    ModelOptions options = stars(500);
    options.values["exact_energy"] = true;
    options.values["softening"] = softening;
    const Particles p = make_model("plummer", options);
    EXPECT_NEAR(kinetic(p), 0.25, 1e-14);
    EXPECT_NEAR(potential(p, softening), -0.5, 1e-13);
  }
}

TEST(Plummer, ASofteningThatForbidsTheEnergyIsRefused) {
  ModelOptions options = stars(100);
  options.values["exact_energy"] = true;
  options.values["softening"] = 10.0;
  EXPECT_THROW(make_model("plummer", options), Error);
}

TEST(Plummer, NoStarIsBeyondTheCutoff) {
  ModelOptions options = stars(20000);
  options.values["cutoff"] = 2.0;
  EXPECT_LT(radii(make_model("plummer", options)).back(), 2.05 * scale_radius);
}

TEST(Plummer, ScalesWithMassLengthAndNewtonsConstant) {
  ModelOptions options = stars(300);
  options.values["exact_energy"] = true;
  options.values["mass"] = 3.0;
  options.values["virial_radius"] = 2.0;
  options.gravitational_constant = 5;
  const Particles p = make_model("plummer", options);
  EXPECT_NEAR(kinetic(p), 5.0 * 9 / (4 * 2), 1e-12);
  EXPECT_NEAR(5 * potential(p), -5.0 * 9 / (2 * 2), 1e-12);
}

TEST(Plummer, OneStarRestsInTheMiddle) {
  const Particles p = make_model("plummer", stars(1));
  EXPECT_EQ(p.mass[0], 1);
  EXPECT_EQ(p.x[0], 0);
  EXPECT_EQ(p.vx[0], 0);
}

}  // namespace
}  // namespace pergola

#include "physics/plasma_dispersion.hpp"

#include <gtest/gtest.h>

namespace pergola {
namespace {

using Complex = std::complex<double>;

/// References: the values of S. G. Johnson's Faddeeva package (scipy.special.wofz).
TEST(PlasmaDispersion, FaddeevaFunctionHasItsTabulatedValues) {
  const struct {
    Complex z, w;
  } table[] = {
      {{1, 1}, {0.30474420525691259, 0.20821893820283163}},
      {{0.3, -0.7}, {2.2204415716316985, 1.3304356710491234}},
      {{5.0, 0.01}, {0.0002408033919511768, 0.11524544620269582}},
      {{6.3, 2.0}, {0.026640585391808434, 0.08194487516873453}},
      {{-2.5, 0.1}, {0.014698406828789578, -0.25005039589353695}},
      {{3.0, -1.0}, {-0.06467357479385975, 0.17373084850174422}},
      {{20.0, 3.0}, {0.004153127198180633, 0.027619583484586804}},
  };
  for (const auto& [z, w] : table) EXPECT_LT(std::abs(faddeeva(z) - w), 2e-13 * std::max(1.0, std::abs(w))) << z;
}

/// Z(0) = i √π; Z(1) from Dawson's integral 0.5380795069127684; Z(i) = i √π e erfc(1). Fried & Conte 1961.
TEST(PlasmaDispersion, DispersionFunctionHasItsKnownValues) {
  EXPECT_LT(std::abs(plasma_dispersion({0, 0}) - Complex{0, 1.7724538509055161}), 1e-13);
  EXPECT_LT(std::abs(plasma_dispersion({1, 0}) - Complex{-2 * 0.5380795069127684, 0.6520493321732922}), 1e-13);
  EXPECT_LT(std::abs(plasma_dispersion({0, 1}) - Complex{0, 0.7578721561413121}), 1e-13);
  // The two forms of the response meet.
  for (const Complex zeta : {Complex{30.001, 0}, Complex{25, -2}, Complex{0, 40}}) {
    const Complex u = 1.0 / (2.0 * zeta * zeta);
    EXPECT_LT(std::abs(dispersion_response(zeta) / (-u * (1.0 + 3.0 * u * (1.0 + 5.0 * u))) - 1.0), 1e-6) << zeta;
    EXPECT_LT(std::abs(dispersion_response(zeta) - (1.0 + zeta * plasma_dispersion(zeta))), 1e-11) << zeta;
  }
}

/// Reference: the roots as given in Chen's and in Birdsall & Langdon's books to four figures (k λ_D = 0.5: 1.4156 −
/// 0.1533 i), here to ten from an independent computation with 30 digits (mpmath).
TEST(PlasmaDispersion, LangmuirWavesHaveLandausRoots) {
  const struct {
    double k;
    Complex omega;
  } table[] = {
      {0.2, {1.0639843406877, -5.5107414768628e-5}}, {0.3, {1.1598464805919, -0.012620368421117}},
      {0.4, {1.2850569696537, -0.066127958690749}},  {0.5, {1.4156618886045, -0.1533594669096}},
      {1.0, {2.0459048656906, -0.85133045869206}},   {2.0, {3.1891361929983, -2.8272002686708}},
  };
  for (const auto& [k, omega] : table) EXPECT_LT(std::abs(langmuir_root(k) - omega), 1e-9) << k;
  EXPECT_NEAR(langmuir_root(0.5).real(), 1.4156, 1e-4);
  EXPECT_NEAR(langmuir_root(0.5).imag(), -0.1533, 1e-4);
}

TEST(PlasmaDispersion, LongLangmuirWavesFollowBohmAndGross) {
  // The next term of the series is 15 k⁴/2 in ω: Bohm & Gross' square root is off by about 6 k⁴.
  for (const double k : {0.02, 0.05, 0.1})
    EXPECT_NEAR(langmuir_root(k).real(), bohm_gross(k, 1), 8 * k * k * k * k) << k;
  // Smooth particles lower the frequency: ω² = s² + 3 k².
  EXPECT_NEAR(langmuir_root(0.05, 0.81).real(), bohm_gross(0.05, 1, 0.81), 1e-4);
}

/// Two equal cold beams ±v of ω_p²/2 each: ω² = k²v² + ω_p²/2 ∓ ω_p √(2 k²v² + ω_p²/4); the fastest wave has
/// k v = √(3/8) ω_p and grows with ω_p/√8. Chen 1984, section 6.6; Birdsall & Langdon 1985, chapter 5.
TEST(PlasmaDispersion, EqualColdBeamsGrowAsInTheTextbook) {
  const std::vector<WaveSpecies> beams{{0.5, 0, 1}, {0.5, 0, -1}};
  for (const double k : {0.2, 0.5, std::sqrt(3.0 / 8), 0.9}) {
    const double squared = k * k + 0.5 - std::sqrt(2 * k * k + 0.25);
    ASSERT_LT(squared, 0);
    const Complex root = cold_beam_root(k, beams);
    EXPECT_NEAR(root.imag(), std::sqrt(-squared), 1e-10) << k;
    EXPECT_NEAR(root.real(), 0, 1e-10) << k;
    EXPECT_LT(std::abs(dielectric(root, k, beams)), 1e-8) << k;
  }
  EXPECT_NEAR(cold_beam_root(std::sqrt(3.0 / 8), beams).imag(), 1 / std::sqrt(8.0), 1e-10);
  EXPECT_NEAR(cold_beam_root(1.2, beams).imag(), 0, 1e-6);  // k v > ω_p: stable
  // Particles of finite size: ω_p² becomes s² ω_p².
  EXPECT_NEAR(cold_beam_root(0.5, beams, 0.64).imag(), 0.8 * cold_beam_root(0.5 / 0.8, beams).imag(), 1e-10);
}

/// A weak beam in a cold plasma, at k v = ω_p: γ → √3/2^(4/3) α^(1/3), ω → 1 − α^(1/3)/2^(4/3). O'Neil & Malmberg 1968.
TEST(PlasmaDispersion, WeakBeamGrowsWithTheCubeRootOfItsDensity) {
  const double alpha = 1e-6, small = std::cbrt(alpha) / std::pow(2.0, 4.0 / 3);
  const Complex root = cold_beam_root(1, {{1, 0, 0}, {alpha, 0, 1}});
  EXPECT_NEAR(root.imag() / (std::sqrt(3.0) * small), 1, 0.01);
  EXPECT_NEAR((1 - root.real()) / small, 1, 0.02);
}

TEST(PlasmaDispersion, WarmBeamsGrowLessThanColdOnes) {
  const double k = std::sqrt(3.0 / 8), cold = cold_beam_root(k, {{0.5, 0, 1}, {0.5, 0, -1}}).imag();
  const auto warm = [&](double v) { return dielectric_root({0, cold}, k, {{0.5, v, 1}, {0.5, v, -1}}).imag(); };
  EXPECT_NEAR(warm(1e-3), cold, 1e-4);
  EXPECT_LT(warm(0.1), cold);
  EXPECT_LT(warm(0.3), warm(0.1));
  EXPECT_GT(warm(0.3), 0);
}

TEST(PlasmaDispersion, LeapfrogRaisesAFrequency) {
  EXPECT_DOUBLE_EQ(leapfrog_frequency(1, 0), 1);
  EXPECT_NEAR(leapfrog_frequency(1, 0.2), 1 + 0.04 / 24, 1e-5);  // ω (1 + ω² dt²/24)
  EXPECT_NEAR(std::sin(leapfrog_frequency(1, 0.5) * 0.25), 0.25, 1e-15);
}

TEST(Bernstein, ScaledBesselFunctionsAreTheLibrarys) {
  for (const double x : {1e-3, 0.5, 4.0, 60.0}) {
    const auto values = scaled_bessel_i(x, 12);
    for (int n = 0; n < 12; ++n)
      EXPECT_NEAR(values[static_cast<std::size_t>(n)] / (std::exp(-x) * std::cyl_bessel_i(n, x)), 1, 1e-12)
          << n << " " << x;
  }
}

/// The sum over harmonics has a closed form as an integral (from Σ cos(nφ)/(Ω − n) = π cos(Ω(π − φ))/sin(πΩ)):
/// 1 + k² λ_D² = Ω/sin(πΩ) ∫_0^π exp(−b (1 + cos θ)) cos(Ωθ) dθ with Ω = ω/ω_c. It knows nothing of Bessel functions.
TEST(Bernstein, FrequenciesSolveTheIntegralFormOfTheDispersionRelation) {
  for (const double k : {0.3, 1.0, 2.5})
    for (int harmonic = 1; harmonic < 5; ++harmonic) {
      const double cyclotron = 0.5, ratio = bernstein_frequency(harmonic, k, 1, cyclotron) / cyclotron;
      const double b = k * k / (cyclotron * cyclotron);
      const int pieces = 20000;
      double integral = 0;
      for (int i = 0; i < pieces; ++i) {
        const double theta = (i + 0.5) * std::numbers::pi / pieces;
        integral += std::exp(-b * (1 + std::cos(theta))) * std::cos(ratio * theta) * std::numbers::pi / pieces;
      }
      EXPECT_NEAR(ratio / std::sin(std::numbers::pi * ratio) * integral / (1 + k * k), 1, 1e-5) << k << " " << harmonic;
    }
}

/// Long waves: the root around the upper hybrid frequency √(ω_p² + ω_c²) tends to it, those above to the harmonic below
/// them, those below to the harmonic above them; short waves all tend to the harmonic below.
TEST(Bernstein, LongWavesAreTheUpperHybridOscillation) {
  const double cyclotron = 0.7;
  EXPECT_NEAR(bernstein_frequency(1, 1e-3, 1, cyclotron), std::sqrt(1 + cyclotron * cyclotron), 1e-5);
  EXPECT_NEAR(bernstein_frequency(2, 1e-3, 1, cyclotron), 2 * cyclotron, 1e-4);
  EXPECT_NEAR(bernstein_frequency(1, 1e-3, 1, 0.4), 2 * 0.4, 1e-4);
  EXPECT_NEAR(bernstein_frequency(1, 50, 1, cyclotron), cyclotron, 1e-3);
}

TEST(PlasmaDispersion, ThermalFieldEnergyIsHalfTheTemperatureInLongWaves) {
  EXPECT_DOUBLE_EQ(thermal_mode_energy(0), 0.5);
  EXPECT_DOUBLE_EQ(thermal_mode_energy(1), 0.25);
  EXPECT_DOUBLE_EQ(thermal_mode_energy(1, 0.5), 0.5 / 3);
}

}  // namespace
}  // namespace pergola

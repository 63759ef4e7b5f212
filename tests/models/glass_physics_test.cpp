#include "models/glass.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "models/model.hpp"

namespace pergola {

namespace {

using Complex = std::complex<double>;
using Places = std::array<std::vector<double>, 3>;
constexpr double two_pi = 2 * std::numbers::pi;

/// |Σ exp(−i k·x)|²/N, which is 1 on the mean for random points; k in waves per box of side 1.
double power_of(const Places& x, int kx, int ky, int kz) {
  Complex sum = 0;
  for (std::size_t i = 0; i < x[0].size(); ++i)
    sum += std::polar(1.0, -two_pi * (kx * x[0][i] + ky * x[1][i] + kz * x[2][i]));
  return std::norm(sum) / static_cast<double>(x[0].size());
}

/// The mean over the waves with low ≤ |k| < high.
double mean_power(const Places& x, double low, double high) {
  const int most = static_cast<int>(std::ceil(high));
  double sum = 0;
  int count = 0;
  for (int kz = 0; kz <= most; ++kz)
    for (int ky = -most; ky <= most; ++ky)
      for (int kx = -most; kx <= most; ++kx) {
        const double k = std::sqrt(kx * kx + ky * ky + kz * kz);
        if (k >= low && k < high) sum += power_of(x, kx, ky, kz), ++count;
      }
  return sum / count;
}

// Zel'dovich 1965, Peebles 1980, section 28: points that have only been moved about locally, with no force from
// outside, have a power spectrum that falls with k⁴; that of random points is flat, 1.
TEST(Glass, HasTheSpectrumOfPointsThatWereMovedLocally) {
  double large = 0, middle = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Places glass = make_glass(8, seed, 2);
    large += mean_power(glass, 1, 1.5) / 3;
    middle += mean_power(glass, 2.5, 3.5) / 3;
  }
  EXPECT_LT(large, 1e-3);
  EXPECT_LT(middle, 3e-2);
  EXPECT_NEAR(std::log(middle / large) / std::log(2.5), 4, 1.2);
}

TEST(Glass, HasNoRows) {
  const Places glass = make_glass(8, 3, 2);
  // The wave of a lattice would have the power 512, and those beside it none.
  for (const auto& k : {std::array{8, 0, 0}, std::array{0, 8, 0}, std::array{0, 0, 8}})
    EXPECT_LT(power_of(glass, k[0], k[1], k[2]), 60);
  EXPECT_GT(mean_power(glass, 7.5, 8.5), 0.5);
}

TEST(Glass, HasTheSameBitsForAnyNumberOfThreads) {
  const Places one = make_glass(6, 1, 1), three = make_glass(6, 1, 3);
  EXPECT_EQ(one, three);
  EXPECT_NE(one, make_glass(6, 2, 1));
}

TEST(Glass, IsRepeatedInWholeTilesOrRefused) {
  const StartPlaces places = StartPlaces::glass(18, 1, 2);  // tiles of 9
  for (const std::int64_t i : {0, 5, 110, 2000}) {
    EXPECT_EQ(places.at(i + 9, 1), places.at(i, 1));
    EXPECT_EQ(places.at(i + 9, 0), places.at(i, 0) + 9);
    EXPECT_EQ(places.at(i + 9 * 18 * 18, 2), places.at(i, 2) + 9);
  }
  EXPECT_THROW(StartPlaces::glass(34, 1, 1), Error);  // 2 · 17
}

/// A box of 100 with 8³ particles, to first order. What they are displaced by is half the difference of a field and
/// its opposite.
class DisplacedBox {
 public:
  explicit DisplacedBox(const std::string& grid) {
    ModelOptions options;
    options.n = 8 * 8 * 8;
    options.seed = 5;
    options.gravitational_constant = 43.0091728;
    options.values = {{"order", 1.0}, {"grid", grid}};
    field_ = make_model("cosmology", options, 2);
    options.values["paired"] = true;
    opposite_ = make_model("cosmology", options, 2);
  }
  /// δ_k = Σ −i k·ψ exp(−i k·q)/N.
  Complex wave(int kx, int ky, int kz) const {
    const auto half = [](double a, double b) { return (a - b - side * std::round((a - b) / side)) / 2; };
    Complex sum = 0;
    for (std::size_t i = 0; i < field_.x.size(); ++i) {
      const double dx = half(field_.x[i], opposite_.x[i]), dy = half(field_.y[i], opposite_.y[i]),
                   dz = half(field_.z[i], opposite_.z[i]);
      const double along = kx * dx + ky * dy + kz * dz;
      const double phase = kx * (field_.x[i] - dx) + ky * (field_.y[i] - dy) + kz * (field_.z[i] - dz);
      sum += along * std::polar(1.0, -two_pi / side * phase);
    }
    return Complex(0, -two_pi / side) * sum / static_cast<double>(field_.x.size());
  }

 private:
  static constexpr double side = 100;
  Particles field_, opposite_;
};

// Reference: the lattice, whose displacements are known where its particles are.
TEST(Glass, IsDisplacedByTheWavesOfTheLattice) {
  const DisplacedBox lattice("lattice"), glass("glass");
  for (const auto& k : {std::array{1, 0, 0}, std::array{-1, 1, 0}, std::array{0, 1, 1}}) {
    const Complex expected = lattice.wave(k[0], k[1], k[2]);
    EXPECT_LT(std::abs(glass.wave(k[0], k[1], k[2]) - expected), 0.06 * std::abs(expected));
  }
}

}  // namespace

}  // namespace pergola

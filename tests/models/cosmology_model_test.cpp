#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <fstream>
#include <numbers>

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/temporary_directory.hpp"
#include "models/density_wave.hpp"
#include "models/model.hpp"
#include "models/transfer_table.hpp"
#include "physics/cosmology.hpp"
#include "physics/power_spectrum.hpp"

namespace pergola {

namespace {

using Complex = std::complex<double>;
constexpr double two_pi = 2 * std::numbers::pi, g_mpc = 43.0091728;

ModelOptions options(std::int64_t side, std::map<std::string, ModelValue> values = {}) {
  ModelOptions options;
  options.n = side * side * side;
  options.seed = 5;
  options.gravitational_constant = g_mpc;
  options.values = std::move(values);
  return options;
}

/// The displacement of particle i from its place on the lattice, across the nearest face.
double displacement(double x, std::int64_t index, double spacing, double box) {
  const double d = x - static_cast<double>(index) * spacing;
  return d - box * std::round(d / box);
}

/// Σ over the lattice of −i k·ψ exp(−i k·q)/N: the density wave that the displacements make to first order.
Complex density_wave(const Particles& p, std::int64_t side, double box, int kx, int ky, int kz) {
  const double spacing = box / static_cast<double>(side), unit = two_pi / box;
  Complex sum = 0;
  for (std::int64_t i = 0; i < p.size(); ++i) {
    const std::int64_t ix = i % side, iy = i / side % side, iz = i / side / side;
    const double along = kx * displacement(p.x[i], ix, spacing, box) + ky * displacement(p.y[i], iy, spacing, box) +
                         kz * displacement(p.z[i], iz, spacing, box);
    const double phase = two_pi * static_cast<double>(kx * ix + ky * iy + kz * iz) / static_cast<double>(side);
    sum += along * std::polar(1.0, -phase);
  }
  return Complex(0, -unit) * sum / static_cast<double>(p.size());
}

physics::LinearPower default_power() {
  const physics::Cosmology universe;
  const physics::EisensteinHu fit(universe.omega_matter, universe.omega_baryon, universe.h);
  return {[fit](double k) { return fit.transfer(k); }, universe.n_s, universe.sigma8};
}

TEST(CosmologyModel, CountsMayBePowers) {
  EXPECT_EQ(parse_count("64^3"), 262144);
  EXPECT_EQ(parse_count("1e6"), 1000000);
  EXPECT_EQ(parse_count("17"), 17);
  for (const char* bad : {"64^", "^3", "-2^3", "2^3^4", "1.5", "99^99", "x"}) EXPECT_FALSE(parse_count(bad)) << bad;
  EXPECT_THROW(make_model("cosmology", options(1, {{"order", 1.5}})), Error);
  EXPECT_THROW(make_model("cosmology", options(1, {{"order", 4.0}})), Error);
  ModelOptions odd = options(4);
  odd.n = 65;
  EXPECT_THROW(make_model("cosmology", odd), Error);
  ModelOptions other_units = options(4);
  other_units.gravitational_constant = 1;
  EXPECT_THROW(make_model("cosmology", other_units), Error);
}

// Reference: P/V at the linear growth of the redshift; with fixed amplitudes each wave has exactly that.
TEST(CosmologyModel, DisplacementsHaveTheLinearPower) {
  const std::int64_t side = 8;
  const double box = 100, growth = physics::growth_at(physics::Cosmology().background(100), 1.0 / 50).d1;
  const auto power = default_power();
  const Particles p = make_model("cosmology", options(side, {{"fixed", true}, {"order", 1.0}}));
  for (const auto& k : {std::array{1, 0, 0}, std::array{0, -2, 1}, std::array{3, 3, -3}}) {
    const double length = std::sqrt(double(k[0] * k[0] + k[1] * k[1] + k[2] * k[2])) * two_pi / box;
    const double expected = std::sqrt(power(length) / (box * box * box)) * growth;
    EXPECT_NEAR(std::abs(density_wave(p, side, box, k[0], k[1], k[2])), expected, 1e-6 * expected);
  }
  // √a dx/dt = √a H f ψ, along each displacement.
  const auto background = physics::Cosmology().background(100);
  const double a = 1.0 / 50, rate = std::sqrt(a) * background.rate(a) * physics::growth_at(background, a).f1;
  EXPECT_NEAR(p.vx[77], rate * displacement(p.x[77], 77 % side, box / side, box), 1e-8 * std::abs(p.vx[77]));
  double mass = 0;
  for (const double m : p.mass) mass += m;
  EXPECT_NEAR(mass, 0.3 * 3 * 100 * 100 / (8 * std::numbers::pi * g_mpc) * 1e6, 1e-4 * mass);
}

// In an Einstein–de Sitter universe the n-th order grows as a^n: what it adds to √a dx/dt is √a H n times what it adds
// to the place.
TEST(CosmologyModel, VelocitiesOfEachOrderAreThoseOfItsGrowth) {
  const double box = 100, a = 0.1, h = 100 / (a * std::sqrt(a));
  Particles before;
  for (const double order : {1.0, 2.0, 3.0}) {
    const Particles now = make_model(
        "cosmology", options(8, {{"order", order}, {"redshift", 9.0}, {"omega_matter", 1.0}, {"omega_lambda", 0.0}}));
    for (const std::size_t i : {3, 77, 401}) {
      const auto index = static_cast<std::int64_t>(i);
      const auto moved = [&](const Particles& p) { return displacement(p.y[i], index / 8 % 8, box / 8, box); };
      const double place = moved(now) - (order > 1 ? moved(before) : 0);
      const double velocity = now.vy[i] - (order > 1 ? before.vy[i] : 0);
      EXPECT_NEAR(velocity / (std::sqrt(a) * h * order * place), 1, 1e-7) << order;
      EXPECT_GT(std::abs(place), 1e-6);
    }
    before = now;
  }
}

// Drawn waves: |δ|² is exponential with the mean P/V; the mean over M waves lies within 5/√M of it.
TEST(CosmologyModel, DrawnWavesHaveThePowerOnTheMean) {
  const WaveDraw draw{.seed = 3};
  double sum = 0;
  Complex mean = 0;
  int count = 0;
  for (int kx = 1; kx <= 12; ++kx)
    for (int ky = -12; ky <= 12; ++ky)
      for (int kz = -12; kz <= 12; ++kz, ++count) {
        const auto [real, imaginary] = drawn_wave(draw, kx, ky, kz, 2.5);
        const auto [same, opposite] = drawn_wave(draw, -kx, -ky, -kz, 2.5);
        const Complex wave(real, imaginary);
        sum += std::norm(wave);
        mean += wave;
        EXPECT_EQ(std::conj(wave), Complex(same, opposite));
      }
  EXPECT_NEAR(sum / count / 2.5, 1, 5 / std::sqrt(double(count)));
  EXPECT_LT(std::abs(mean) / count, 5 * std::sqrt(2.5 / count));
}

TEST(CosmologyModel, LargeWavesAreTheSameAtTwoResolutions) {
  const Particles coarse = make_model("cosmology", options(8, {{"order", 1.0}}));
  const Particles fine = make_model("cosmology", options(16, {{"order", 1.0}}));
  for (const auto& k : {std::array{1, 0, 0}, std::array{-1, 2, 0}, std::array{3, -1, 2}}) {
    const Complex a = density_wave(coarse, 8, 100, k[0], k[1], k[2]);
    const Complex b = density_wave(fine, 16, 100, k[0], k[1], k[2]);
    EXPECT_LT(std::abs(a - b), 1e-10 * std::abs(a));
  }
}

TEST(CosmologyModel, HasTheSameBitsForAnyNumberOfThreads) {
  for (const double order : {2.0, 3.0}) {
    const auto values = options(10, {{"order", order}});
    const Particles one = make_model("cosmology", values, 1), three = make_model("cosmology", values, 3);
    EXPECT_EQ(one.x, three.x);
    EXPECT_EQ(one.vz, three.vz);
  }
}

TEST(CosmologyModel, ThePairedFieldIsTheOpposite) {
  const Particles one = make_model("cosmology", options(4, {{"order", 1.0}}));
  const Particles other = make_model("cosmology", options(4, {{"order", 1.0}, {"paired", true}}));
  for (std::size_t i = 0; i < one.vx.size(); ++i) EXPECT_NEAR(one.vx[i], -other.vx[i], 1e-12 * std::abs(one.vx[i]));
}

class TransferTables : public FileTest {
 protected:
  /// Writes a table of rows at k = 1e-4 to 20 and returns its path; each call writes the file anew.
  template <class Row>
  std::string table(const std::string& header, const Row& row) const {
    std::ofstream file(at("table.dat"));
    file << header;
    file.precision(17);
    for (double k = 1e-4; k < 20; k *= 1.05) row(file, k), file << "\n";
    return at("table.dat");
  }
};

// CAMB writes δ/k², CLASS −δ; both must give the same shape, whatever the largest waves say.
TEST_F(TransferTables, KnowsCambAndClassAndPowerFromTheLargestWaves) {
  const physics::Cosmology usual;
  const physics::EisensteinHu fit(0.3, 0.045, 0.7);
  const auto expect_shape = [&](const TransferTable& read, TransferTable::Kind kind) {
    EXPECT_EQ(read.kind(), kind) << read.description();
    EXPECT_NEAR(read(0.2) / read(0.001), fit.transfer(0.2) / fit.transfer(0.001), 2e-3 * fit.transfer(0.2));
  };
  const std::string camb = table("", [&](std::ostream& out, double k) {
    for (const double value : {k, 1.0, 1.0, 1.0, 1.0, 1.0, 7e4 * fit.transfer(k)}) out << value << " ";
  });
  expect_shape(TransferTable(camb, usual), TransferTable::Kind::camb);
  const std::string by_class = table("# 1:k (h/Mpc) 2:d_g 3:d_b 4:d_cdm\n", [&](std::ostream& out, double k) {
    out << k << " 1 " << -k * k * fit.transfer(k) << " " << -k * k * fit.transfer(k);
  });
  expect_shape(TransferTable(by_class, usual), TransferTable::Kind::class_code);
  const std::string power = table("# k P\n", [&](std::ostream& out, double k) {
    out << k << " " << 3 * std::pow(k, 0.96) * fit.transfer(k) * fit.transfer(k);
  });
  expect_shape(TransferTable(power, usual), TransferTable::Kind::power);
  EXPECT_THROW(TransferTable(power, usual)(100), Error);
  EXPECT_THROW(TransferTable("no such table", usual), Error);
}

// Reference: the same numbers over k in 1/Mpc, which are h times as large.
TEST_F(TransferTables, ReadsTheUnitOfWaveNumbersInItsHeader) {
  physics::Cosmology usual;
  usual.h = 0.5;
  const auto shape = [](double k) { return 1 / (1 + 400 * k * k); };
  for (const char* header : {"# 1:k (1/Mpc) 2:d_tot\n", "# transfer at z = 0, k in Mpc^{-1}\n# k T\n"}) {
    const std::string path = table(header, [&](std::ostream& out, double k) { out << k << " " << shape(k / usual.h); });
    const TransferTable read(path, usual);
    EXPECT_NEAR(read.first(), 2e-4, 1e-12) << header;
    EXPECT_NEAR(read(0.2) / read(0.001), shape(0.2) / shape(0.001), 2e-3 * shape(0.2)) << header;
    EXPECT_NE(read.description().find("1/Mpc in the file"), std::string::npos);
    EXPECT_THROW(PowerTable{path}, Error);
  }
  for (const char* header : {"# 1:k (h/Mpc) 2:d_tot\n", "# k [h Mpc^-1] T\n", "# k/h T\n", ""}) {
    const std::string path = table(header, [&](std::ostream& out, double k) { out << k << " " << shape(k); });
    EXPECT_NEAR(TransferTable(path, usual).first(), 1e-4, 1e-12) << header;
    EXPECT_NO_THROW(PowerTable{path});
  }
}

}  // namespace

}  // namespace pergola

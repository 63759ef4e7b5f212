// A plasma in thermal equilibrium: conserved sums and fluctuations.
#include <gtest/gtest.h>

#include <complex>

#include "plasma/plasma_starts.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class ThermalPlasma : public DeviceTest {};

/// sin(k/2) / (k/2) to a power: the linear shape is 2, the quadratic 3 (Hockney & Eastwood 1988, chapter 5).
double shape_transform(double k, int power) { return k == 0 ? 1 : std::pow(std::sin(k / 2) / (k / 2), power); }

/// Wave number of mode m of n, per cell.
double wave_number(int m, int n) { return two_pi * (2 * m <= n ? m : m - n) / n; }

/// Waves that Landau damping brings to equilibrium within some plasma periods and that the grid resolves.
bool in_band(double kx, double ky, double debye) {
  const double k = std::sqrt(kx * kx + ky * ky);
  return k * debye > 0.45 && k < 1.5;
}

/// The energy of the field in the band, from finite-size particles in equilibrium: Σ_k (T/2) / (1 + k² λ_D² / S²) with
/// the transform S of the whole shape, smoothing and assignment. Birdsall & Langdon 1985, section 12-3 (T is that of a
/// macro-particle).
double equilibrium_energy(const PlasmaOptions& options, double thermal_velocity) {
  const double temperature = options.species[0].weight * thermal_velocity * thermal_velocity;
  double sum = 0;
  for (int y = 0; y < options.cells[1]; ++y)
    for (int x = 0; x < options.cells[0]; ++x) {
      const double kx = wave_number(x, options.cells[0]), ky = wave_number(y, options.cells[1]);
      if (!in_band(kx, ky, thermal_velocity)) continue;
      const double square = kx * kx + ky * ky;
      const int power = static_cast<int>(options.shape);
      const double shape = std::exp(-0.5 * square * options.smoothing * options.smoothing) *
                           shape_transform(kx, power) * shape_transform(ky, power);
      sum += 0.5 * temperature / (1 + square * thermal_velocity * thermal_velocity / (shape * shape));
    }
  return sum;
}

using Modes = std::vector<std::complex<double>>;

/// exp(−2πi j / n) for all j.
Modes unit_roots(int n) {
  Modes roots;
  for (int j = 0; j < n; ++j) roots.push_back(std::polar(1.0, -two_pi * j / n));
  return roots;
}

/// Σ_x value exp(−i k x) for all modes, first along x, then along y.
Modes transform(const PlasmaOptions& options, const std::vector<double>& values) {
  const int nx = options.cells[0], ny = options.cells[1];
  const Modes x_roots = unit_roots(nx), y_roots = unit_roots(ny);
  Modes rows(values.size()), modes(values.size());
  for (int y = 0; y < ny; ++y)
    for (int m = 0; m < nx; ++m)
      for (int x = 0; x < nx; ++x) rows[y * nx + m] += values[y * nx + x] * x_roots[m * x % nx];
  for (int n = 0; n < ny; ++n)
    for (int y = 0; y < ny; ++y)
      for (int m = 0; m < nx; ++m) modes[n * nx + m] += rows[y * nx + m] * y_roots[n * y % ny];
  return modes;
}

/// ½ Σ ρ φ of the waves in the band.
double measured_energy(const PlasmaOptions& options, const PlasmaFields& fields, double debye) {
  const Modes density = transform(options, fields.density), potential = transform(options, fields.potential);
  const int nx = options.cells[0], ny = options.cells[1];
  double sum = 0;
  for (int y = 0; y < ny; ++y)
    for (int x = 0; x < nx; ++x)
      if (in_band(wave_number(x, nx), wave_number(y, ny), debye))
        sum += (density[y * nx + x] * std::conj(potential[y * nx + x])).real();
  return 0.5 * sum / (nx * ny);
}

TEST_P(ThermalPlasma, FieldEnergyIsThatOfThermalFluctuations) {
  struct Case {
    PlasmaShape shape;
    double smoothing, thermal;
  };
  for (const Case& one : {Case{PlasmaShape::linear, 0, 1}, Case{PlasmaShape::linear, 1, 1},
                          Case{PlasmaShape::quadratic, 0.5, 1.5}, Case{PlasmaShape::linear, 2, 2}}) {
    PlasmaOptions options = electrons({64, 32, 1}, 16);
    options.shape = one.shape;
    options.smoothing = one.smoothing;
    const auto system = make_particle_in_cell(device(), options, Precision::single);
    system->start({random_particles(options, 16 * options.cell_count(), one.thermal, 11)});
    system->advance(150, 0.2);
    double sum = 0;
    const int samples = 40;
    for (int i = 0; i < samples; ++i) {
      system->advance(8, 0.2);
      sum += measured_energy(options, system->fields(), one.thermal);
    }
    const double expected = equilibrium_energy(options, one.thermal);
    EXPECT_NEAR(sum / samples, expected, 0.05 * expected) << one.smoothing << ' ' << one.thermal;
  }
}

// The benchmark plasma of Decyk, Singh & Friedman 2010, λ_D = 1 cell, ω_p dt = 0.025, 36 particles in a cell, on a
// smaller grid.
TEST_P(ThermalPlasma, EnergyOfTheBenchmarkPlasmaIsKeptForAThousandSteps) {
  const PlasmaOptions options = electrons({32, 64, 1}, 36);
  const auto system = make_particle_in_cell(device(), options, Precision::single);
  system->start({random_particles(options, 36 * options.cell_count(), 1, 12)});
  const double before = system->energies().total();
  system->advance(1000, 0.025);
  EXPECT_NEAR(system->energies().total(), before, 1e-3 * before);
}

TEST_P(ThermalPlasma, MomentumIsKeptToRounding) {
  for (const auto& cells : {std::array<int, 3>{32, 24, 1}, std::array<int, 3>{16, 8, 12}})
    for (const auto shape : {PlasmaShape::linear, PlasmaShape::quadratic})
      for (const auto precision : {Precision::single, Precision::double_}) {
        PlasmaOptions options = electrons(cells, 8);
        options.shape = shape;
        options.species.push_back({"ions", 2, 10, 1.0 / 8});
        const std::vector<PlasmaParticles> start{random_particles(options, 8 * options.cell_count(), 1, 13),
                                                 random_particles(options, 4 * options.cell_count(), 0.5, 14)};
        const auto system = make_particle_in_cell(device(), options, precision);
        system->start(start);
        const auto before = system->energies();
        system->advance(50, 0.1);
        const auto after = system->energies();
        EXPECT_GT(std::fabs(after.species[0].momentum.x - before.species[0].momentum.x), 1e-3);  // they push each other
        const double scale = static_cast<double>(options.cell_count());                          // Σ w m |v|, about
        const double rounding = precision == Precision::single ? 2e-7 : 1e-11;
        const auto a = before.momentum(), b = after.momentum();
        EXPECT_NEAR(a.x, b.x, rounding * scale);
        EXPECT_NEAR(a.y, b.y, rounding * scale);
        EXPECT_NEAR(a.z, b.z, rounding * scale);
      }
}

INSTANTIATE_TEST_SUITE_P(Devices, ThermalPlasma, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

// Waves in three dimensions along each axis and across all, and the same plasma on CPU and GPU: what a wave along x
// cannot tell about the other components of the field.
#include <gtest/gtest.h>

#include "plasma/plasma_starts.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class ObliqueWaves : public DeviceTest {};

struct Wave {
  std::array<int, 3> cells;
  std::array<int, 3> number;  // wavelengths in the box along each axis
  double amplitude = 0.01;    // of the density, relative

  double k(std::size_t axis) const { return two_pi * number[axis] / cells[axis]; }
  double k_squared() const { return k(0) * k(0) + k(1) * k(1) + k(2) * k(2); }
  double phase(double x, double y, double z) const { return k(0) * x + k(1) * y + k(2) * z; }
  /// What clouds of two points per axis leave of a wave's force on the way to the grid and back, Π sinc⁴(k/2): Birdsall
  /// & Langdon 1985, section 8-4 (the density alone: its square root).
  double cloud_factor() const {
    double factor = 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (number[axis] != 0) factor *= std::pow(std::sin(k(axis) / 2) / (k(axis) / 2), 4);
    return factor;
  }
};

const std::array<Wave, 5> waves{{{{32, 6, 8}, {1, 0, 0}},
                                 {{6, 32, 8}, {0, 1, 0}},
                                 {{8, 6, 32}, {0, 0, 1}},
                                 {{24, 24, 24}, {1, 1, 1}},
                                 {{24, 20, 28}, {1, -1, 1}}}};

/// Electrons at rest on a lattice of two per cell and axis, moved along the wave vector: ξ = amplitude k/k² sin(k·x),
/// so that n = 1 − amplitude cos(k·x).
PlasmaParticles moved_lattice(const Wave& wave) {
  PlasmaParticles particles;
  const auto within = [](double x, int cells) { return x - cells * std::floor(x / cells); };
  for (int iz = 0; iz < 2 * wave.cells[2]; ++iz)
    for (int iy = 0; iy < 2 * wave.cells[1]; ++iy)
      for (int ix = 0; ix < 2 * wave.cells[0]; ++ix) {
        const double x = (ix + 0.5) / 2, y = (iy + 0.5) / 2, z = (iz + 0.5) / 2;
        const double moved = wave.amplitude / wave.k_squared() * std::sin(wave.phase(x, y, z));
        particles.id.push_back(particles.id.size());
        particles.x.push_back(within(x + wave.k(0) * moved, wave.cells[0]));
        particles.y.push_back(within(y + wave.k(1) * moved, wave.cells[1]));
        particles.z.push_back(within(z + wave.k(2) * moved, wave.cells[2]));
        particles.vx.push_back(0), particles.vy.push_back(0), particles.vz.push_back(0);
      }
  return particles;
}

/// The part of a field on the grid that goes with a function of the phase.
template <class Function>
double part(const Wave& wave, const std::vector<double>& field, Function function) {
  double sum = 0;
  std::size_t i = 0;
  for (int z = 0; z < wave.cells[2]; ++z)
    for (int y = 0; y < wave.cells[1]; ++y)
      for (int x = 0; x < wave.cells[0]; ++x) sum += field.at(i++) * function(wave.phase(x, y, z));
  return 2 * sum / static_cast<double>(field.size());
}
double cosine(double phase) { return std::cos(phase); }
double sine(double phase) { return std::sin(phase); }

// ∇·E = ρ = amplitude cos(k·x): E = amplitude k/k² sin(k·x), φ = amplitude/k² cos(k·x).
TEST_P(ObliqueWaves, EveryComponentOfTheFieldPointsAlongTheWave) {
  for (const Wave& wave : waves) {
    const auto system = make_particle_in_cell(device(), electrons(wave.cells, 8), Precision::single);
    system->start({moved_lattice(wave)});
    const PlasmaFields fields = system->fields();
    const double expected = wave.amplitude * std::sqrt(wave.cloud_factor()) / wave.k_squared();
    const double tolerance = 0.01 * expected;  // the lattice is 12 to 16 cells to half a wave
    EXPECT_NEAR(part(wave, fields.potential, cosine), expected, tolerance);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(part(wave, fields.electric[axis], sine), wave.k(axis) * expected, tolerance) << axis;
      EXPECT_NEAR(part(wave, fields.electric[axis], cosine), 0, tolerance) << axis;
    }
  }
}

// ω = ω_p for any wave vector (Tonks & Langmuir 1929), but for the clouds. With one component of E reversed the wave
// would grow instead.
TEST_P(ObliqueWaves, ColdPlasmaOscillatesWithThePlasmaFrequencyInEveryDirection) {
  const double step = 0.1;
  for (const Wave& wave : waves) {
    const auto system = make_particle_in_cell(device(), electrons(wave.cells, 8), Precision::single);
    system->start({moved_lattice(wave)});
    std::vector<double> history{part(wave, system->field(PlasmaFieldPart::potential), cosine)};
    for (int i = 0; i < 160; ++i) {
      system->advance(1, step);
      history.push_back(part(wave, system->field(PlasmaFieldPart::potential), cosine));
    }
    const auto found = fit_oscillation(history, step, 0);
    EXPECT_NEAR(found.frequency, std::sqrt(wave.cloud_factor()), 0.005);
    EXPECT_NEAR(found.growth, 0, 0.002);
  }
}

// The same plasma on this device and on one CPU thread: fields and particles differ by rounding.
TEST_P(ObliqueWaves, DevicesAgreeOnFieldsAndParticles) {
  for (const auto shape : {PlasmaShape::linear, PlasmaShape::quadratic}) {
    PlasmaOptions options = electrons({12, 10, 16}, 8);
    options.shape = shape;
    options.magnetic_field = {0.1, -0.2, 0.3};
    const double thermal = 0.5;
    const auto start = random_particles(options, 8 * options.cell_count(), thermal, 7);
    const auto here = make_particle_in_cell(device(), options, Precision::double_);
    const auto reference = make_particle_in_cell(Device::open("cpu", 1), options, Precision::double_);
    for (auto* system : {here.get(), reference.get()}) {
      system->start({start});
      system->advance(20, 0.1);
    }
    const PlasmaFields a = here->fields(), b = reference->fields();
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t i = 0; i < b.electric[axis].size(); ++i)
        ASSERT_NEAR(a.electric[axis][i], b.electric[axis][i], 1e-5) << axis << " " << i;
    const PlasmaParticles p = here->particles(0), q = reference->particles(0);
    ASSERT_EQ(p.id, q.id);
    for (std::size_t i = 0; i < q.id.size(); ++i) {
      ASSERT_NEAR(p.vx[i], q.vx[i], 1e-5 * thermal) << i;
      ASSERT_NEAR(p.vy[i], q.vy[i], 1e-5 * thermal) << i;
      ASSERT_NEAR(p.vz[i], q.vz[i], 1e-5 * thermal) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ObliqueWaves, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

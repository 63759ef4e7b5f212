// A plasma with light: particles that deposit whole-number currents and gather from Yee's grid. References: the
// continuity equation in whole units, Gauss's law, energy, Bohm & Gross, and the kinetic dispersion relation.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "marks.hpp"
#include "physics/plasma_dispersion.hpp"
#include "plasma/particle_in_cell.hpp"
#include "plasma/plasma_starts.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class ElectromagneticPlasma : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, ElectromagneticPlasma, OnEachDevice(), device_test_name);

PlasmaOptions lit(PlasmaOptions options, double light_speed, PlasmaShape shape = PlasmaShape::linear) {
  options.field = "electromagnetic";
  options.light_speed = light_speed;
  options.shape = shape;
  return options;
}

/// Σ over the axes of field_a(i) − field_a(i − 1) at the grid points.
std::vector<double> divergence(const PlasmaOptions& options, const std::array<std::vector<double>, 3>& field) {
  const auto& n = options.cells;
  std::vector<double> sum(static_cast<std::size_t>(options.cell_count()));
  const auto at = [&](int x, int y, int z) {
    return static_cast<std::size_t>(((z + n[2]) % n[2] * n[1] + (y + n[1]) % n[1]) * n[0] + (x + n[0]) % n[0]);
  };
  for (int z = 0; z < n[2]; ++z)
    for (int y = 0; y < n[1]; ++y)
      for (int x = 0; x < n[0]; ++x)
        for (int a = 0; a < options.dimensions; ++a)
          sum[at(x, y, z)] += field[static_cast<std::size_t>(a)][at(x, y, z)] -
                              field[static_cast<std::size_t>(a)][at(x - (a == 0), y - (a == 1), z - (a == 2))];
  return sum;
}

/// Electrons and light ions, hot enough that each step takes some over every kind of border. All numbers of charge and
/// of the step are powers of two, so that fields hold whole units without rounding.
std::unique_ptr<ParticleInCell> hot_plasma(const Device& device, const PlasmaOptions& options, Precision precision,
                                           const std::shared_ptr<Communicator>& ranks = nullptr) {
  auto plasma = make_particle_in_cell(device, options, precision, nullptr, ranks);
  const std::int64_t count = 4 * options.cell_count();
  std::vector<PlasmaParticles> own;
  for (const std::uint64_t seed : {1, 2}) {
    const auto all = random_particles(options, count, seed == 1 ? 4 : 1, seed);
    const Shares shares{count, ranks ? ranks->size() : 1};
    const auto first = shares.first(ranks ? ranks->rank() : 0), last = shares.first(ranks ? ranks->rank() + 1 : 1);
    PlasmaParticles& some = own.emplace_back();
    some.id.assign(all.id.begin() + first, all.id.begin() + last);
    for (const PlasmaCoordinate one : plasma_coordinates)
      if (!(all.*one).empty()) (some.*one).assign((all.*one).begin() + first, (all.*one).begin() + last);
  }
  plasma->start(own);
  return plasma;
}
PlasmaOptions hot_options(std::array<int, 3> cells, PlasmaShape shape, PlasmaPusher pusher = PlasmaPusher::boris) {
  PlasmaOptions options = lit(electrons(cells, 8, 3), 8, shape);
  options.pusher = pusher;
  options.magnetic_field = {0.5, 0.25, 1};
  options.species.push_back({"ions", 1, 4, 0.125});
  return options;
}

// The last row of tiles is not whole; three cells and two tiles along an axis at least.
TEST_P(ElectromagneticPlasma, ContinuityIsExactInEveryStep) {
  for (const auto& cells : {std::array<int, 3>{20, 36, 1}, std::array<int, 3>{10, 12, 18}})
    for (const auto shape : {PlasmaShape::linear, PlasmaShape::quadratic})
      for (const auto precision : {Precision::single, Precision::double_}) {
        const auto options = hot_options(cells, shape);
        const auto plasma = hot_plasma(device(), options, precision);
        const double step = 0.0625;
        std::vector<double> before = plasma->field(PlasmaFieldPart::density);
        double moved = 0;
        for (int k = 0; k < 4; ++k) {
          plasma->advance(1, step);
          const PlasmaFields fields = plasma->fields();
          const auto flux = divergence(options, fields.current);
          for (std::size_t i = 0; i < flux.size(); ++i) {
            ASSERT_EQ(fields.density[i] - before[i] + step * flux[i], 0) << "step " << k << " point " << i;
            moved = std::max(moved, std::fabs(flux[i]));
          }
          before = fields.density;
        }
        EXPECT_GT(moved, 1);
      }
}

/// Of a thermal plasma of Debye length 1: the largest violation of Gauss's law, and the change of its energy.
void expect_gauss_and_energy(const Device& device, PlasmaOptions options, Precision precision, int steps) {
  const auto plasma = make_particle_in_cell(device, options, precision);
  plasma->start({random_particles(options, 16 * options.cell_count(), 1, 3)});
  const double before = plasma->energies().total();
  plasma->advance(steps, 0.05);
  const PlasmaFields fields = plasma->fields();
  const auto flux = divergence(options, fields.electric);
  double worst = 0;
  for (std::size_t i = 0; i < flux.size(); ++i) worst = std::max(worst, std::fabs(flux[i] - fields.density[i]));
  EXPECT_LT(worst, precision == Precision::single ? 1e-5 : 1e-12);
  EXPECT_NEAR(plasma->energies().total() / before, 1, 0.003);
}

TEST_P(ElectromagneticPlasma, ThermalPlasmaKeepsGaussLawAndEnergy) {
  for (const auto precision : {Precision::single, Precision::double_}) {
    expect_gauss_and_energy(device(), lit(electrons({32, 32, 1}, 16, 3), 10), precision, 1000);
    expect_gauss_and_energy(device(), lit(electrons({32, 32, 1}, 16, 3), 10, PlasmaShape::quadratic), precision, 200);
    expect_gauss_and_energy(device(), lit(electrons({12, 10, 8}, 16, 3), 8), precision, 200);
  }
}

// Reference: Bohm & Gross with the shape of the particles.
TEST_P(ElectromagneticPlasma, LangmuirWaveHasItsFrequency) {
  const double step = 0.05, thermal = 0.5;
  for (const auto& cells : {std::array<int, 3>{32, 4, 1}, std::array<int, 3>{32, 4, 4}}) {
    const PlasmaOptions options = lit(electrons(cells, 64, 3), 8);
    const auto plasma = make_particle_in_cell(device(), options, Precision::single);
    plasma->start({quiet_particles(options, 64 * options.cell_count(), thermal, 0.05)});
    std::vector<double> history;
    for (int k = 0; k < 400; ++k) {
      plasma->advance(1, step);
      const auto field = plasma->field(PlasmaFieldPart::electric_x);
      double sum = 0;
      for (std::size_t i = 0; i < field.size(); ++i)
        sum += field[i] * std::sin(two_pi * (static_cast<double>(i % 32) + 0.5) / 32);
      history.push_back(sum);
    }
    const double k = two_pi / 32;
    EXPECT_NEAR(fit_oscillation(history, step, 0).frequency, bohm_gross(k, thermal, grid_shape_squared(k, 0, 2)), 0.01);
  }
}

/// The growth rate of the Weibel mode of two beams ±v across k, of temperature m σ²: the root ω = iΓ of ω² = k² c² +
/// ω_p²/γ³ − (ω_p²/γ) (v/σ)² (1 + ζ Z(ζ)), ζ = ω/(√2 k σ). Weibel 1959; Bret, Gremillet & Dieckmann 2010, Phys.
/// Plasmas 17, 120501.
double weibel_growth(double k, double light, double beam, double thermal) {
  const double gamma = 1 / std::sqrt(1 - beam * beam / (light * light));
  const auto excess = [&](double growth) {
    const std::complex<double> zeta{0, growth / (std::sqrt(2.0) * k * thermal)};
    const double response = dispersion_response(zeta).real();
    return growth * growth + k * k * light * light + 1 / (gamma * gamma * gamma) -
           beam * beam / (thermal * thermal) / gamma * response;
  };
  double low = 1e-6, high = 1;
  for (int step = 0; step < 100; ++step) {
    const double middle = 0.5 * (low + high);
    (excess(middle) < 0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// Two beams across the plane, moved apart a little: B_y of mode 1 grows. (Reference: weibel_growth.)
TEST_P(ElectromagneticPlasma, WeibelInstabilityGrowsAtItsKineticRate) {
  const double light = 32 / two_pi, beam = 0.2 * light, thermal = 0.02 * light, k = two_pi / 32, step = 0.1;
  PlasmaOptions options = lit(electrons({32, 4, 1}, 128, 3), light);
  options.species.push_back({"other electrons", -1, 1, 1.0 / 128});
  std::vector<PlasmaParticles> start;
  for (const double sign : {1.0, -1.0}) {
    auto one = quiet_particles(options, 64 * options.cell_count(), thermal, sign * 0.0005);
    const double gamma = 1 / std::sqrt(1 - 0.04);
    for (double& vz : one.vz) vz = sign * beam * gamma;
    start.push_back(one);
  }
  const auto plasma = make_particle_in_cell(device(), options, Precision::double_);
  plasma->start(start);
  const auto mode = [&] {
    const auto field = plasma->field(PlasmaFieldPart::magnetic_y);
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < field.size(); ++i)
      sum += field[i] * std::polar(1.0, k * (static_cast<double>(i % 32) + 0.5));
    return std::abs(sum);
  };
  plasma->advance(220, step);
  const double early = mode();
  plasma->advance(220, step);  // five beats with the light wave of the start
  const double growth = std::log(mode() / early) / (220 * step), expected = weibel_growth(k, light, beam, thermal);
  EXPECT_NEAR(growth, expected, 0.05 * expected);
}

StateBlocks saved(const ParticleInCell& plasma) {
  StateSource state;
  plasma.save(state);
  return state.blocks();
}

TEST_P(ElectromagneticPlasma, ResumedRunHasTheBitsOfAnUninterruptedOne) {
  const auto options = hot_options({20, 36, 1}, PlasmaShape::linear, PlasmaPusher::higuera_cary);
  const auto whole = hot_plasma(device(), options, Precision::single);
  whole->advance(5, 0.0625);
  const StateBlocks blocks = saved(*whole);
  const auto resumed = make_particle_in_cell(device(), options, Precision::single);
  BlocksInput input(blocks);
  resumed->restore(input);
  whole->advance(5, 0.05), resumed->advance(5, 0.05);
  EXPECT_TRUE(saved(*whole).blocks() == saved(*resumed).blocks());
}

TEST_P(ElectromagneticPlasma, RanksHaveTheBitsOfOne) {
  const std::string spec = GetParam();
  const auto expect_bits = [&](const PlasmaOptions& options, Precision precision, const std::vector<int>& numbers) {
    const auto alone = hot_plasma(Device::open(spec, 1), options, precision);
    alone->advance(6, 0.05);
    const PlasmaFields one = alone->fields();
    const PlasmaEnergies energies = alone->energies();
    const std::size_t layer = one.density.size() / static_cast<std::size_t>(options.cells[options.dimensions - 1]);
    for (const int ranks : numbers)
      run_on_thread_ranks(ranks, [&](Communicator& communicator) {
        const auto plasma =
            hot_plasma(Device::open(spec, 1), options, precision, {&communicator, [](Communicator*) {}});
        plasma->advance(6, 0.05);
        const PlasmaFields here = plasma->fields();
        for (const PlasmaFieldPart part : plasma_field_parts(options)) {
          const auto first = one[part].begin() + static_cast<std::ptrdiff_t>(layer) * plasma->slab().first;
          EXPECT_TRUE(here[part] ==
                      std::vector<double>(first, first + static_cast<std::ptrdiff_t>(layer) * plasma->slab().count))
              << ranks << " ranks, field " << static_cast<int>(part);
        }
        const PlasmaEnergies sums = plasma->energies();
        EXPECT_EQ(sums.total(), energies.total());
      });
  };
  expect_bits(hot_options({20, 72, 1}, PlasmaShape::linear), Precision::single, {2, 3, 7});
  expect_bits(hot_options({20, 40, 1}, PlasmaShape::quadratic), Precision::double_, {3});
  expect_bits(hot_options({10, 12, 28}, PlasmaShape::linear), Precision::single, {3});
}

}  // namespace
}  // namespace pergola

// Light in a box without particles, by Yee's scheme: waves, conservation, Gauss's laws, and slabs of ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <random>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "marks.hpp"
#include "physics/yee.hpp"
#include "plasma/field.hpp"
#include "plasma/host_field.hpp"
#include "plasma/plasma_starts.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*Ranks*");

using Values = std::vector<double>;
using Sixfold = std::array<Values, 6>;  // E, then B

PlasmaOptions light(std::array<int, 3> cells, double speed = 2) {
  PlasmaOptions options = electrons(cells, 1, 3);
  options.field = "electromagnetic";
  options.light_speed = speed;
  return options;
}

std::int64_t size_of(const PlasmaOptions& options) { return options.cell_count(); }

/// Writes E and B of the box into the layers of a rank.
template <class Real>
void set_fields(PlasmaField<Real>& field, const Device& device, const PlasmaOptions& options, const Sixfold& all,
                Communicator* ranks = nullptr) {
  const plasma::TileSlab slab(options, ranks);
  const std::int64_t layer = slab.rows_in_layer() * slab.cells[0];
  const auto state = field.state();
  for (std::size_t k = 0; k < 6; ++k) {
    const auto first = all[k].begin() + slab.first * layer;
    values_to_device(device, Values(first, first + slab.count * layer), state[k].own);
  }
  field.resume();
}

template <class Real>
Sixfold fields_of(PlasmaField<Real>& field) {
  Sixfold all;
  for (int k = 0; k < 6; ++k)
    all[static_cast<std::size_t>(k)] = field.values(component_of(PlasmaFieldPart::electric_x, k));
  return all;
}

Sixfold random_fields(const PlasmaOptions& options, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, 1);
  Sixfold all;
  for (Values& one : all) {
    one.resize(static_cast<std::size_t>(size_of(options)));
    for (double& value : one) value = normal(engine);
  }
  return all;
}

/// The place of a grid point beside point k, and the divergence there of three components: with a step of −1 of E, with
/// 1 of B, but for its sign.
std::int64_t beside(const PlasmaOptions& options, std::int64_t k, int axis, int step) {
  std::int64_t stride = 1;
  for (int a = 0; a < axis; ++a) stride *= options.cells[static_cast<std::size_t>(a)];
  const int cells = options.cells[static_cast<std::size_t>(axis)];
  const auto here = static_cast<int>(k / stride % cells);
  return k + stride * ((here + step + cells) % cells - here);
}
double divergence(const PlasmaOptions& options, const Values* f, std::int64_t k, int step) {
  double sum = 0;
  for (int a = 0; a < options.dimensions; ++a)
    sum += f[a][static_cast<std::size_t>(k)] - f[a][static_cast<std::size_t>(beside(options, k, a, step))];
  return sum;
}
double largest(const Values& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::fabs(value));
  return most;
}

/// A wave that travels, in the scheme: the amplitudes of Re Σ f exp(i (k·x − ω t)), of E along `towards` without its
/// part along the discrete wave vector K_a = 2 sin(k_a/2), and of B = dt K × E / (2 tan(ω dt/2)): at whole steps the
/// mean of the half steps around.
struct YeeWave {
  std::array<int, 3> mode;
  Vec3<double> towards;
  double light_speed = 2, step = 0.1;

  Vec3<double> k(const PlasmaOptions& options) const {
    return {two_pi * mode[0] / options.cells[0], two_pi * mode[1] / options.cells[1],
            two_pi * mode[2] / options.cells[2]};
  }
  double frequency(const PlasmaOptions& options) const { return physics::yee_frequency(light_speed, step, k(options)); }
  Sixfold at(const PlasmaOptions& options, double time) const {
    const Vec3<double> wave = k(options);
    const Vec3<double> of_grid{2 * std::sin(wave.x / 2), 2 * std::sin(wave.y / 2), 2 * std::sin(wave.z / 2)};
    const Vec3<double> e = towards - (dot(towards, of_grid) / dot(of_grid, of_grid)) * of_grid;
    const Vec3<double> b = (step / (2 * std::tan(frequency(options) * step / 2))) * cross(of_grid, e);
    const double amplitude[6] = {e.x, e.y, e.z, b.x, b.y, b.z};
    Sixfold all;
    for (int f = 0; f < 6; ++f)
      for (std::int64_t i = 0; i < size_of(options); ++i) {
        const std::int64_t nx = options.cells[0], ny = options.cells[1];
        double place[3] = {double(i % nx), double(i / nx % ny), double(i / nx / ny)};
        for (int a = 0; a < options.dimensions; ++a)
          if ((f < 3) == (a == f % 3)) place[a] += 0.5;
        const double phase = wave.x * place[0] + wave.y * place[1] + wave.z * place[2] - frequency(options) * time;
        all[static_cast<std::size_t>(f)].push_back(amplitude[f] * std::cos(phase));
      }
    return all;
  }
};

class ElectromagneticPhysics : public DeviceTest {
 protected:
  /// One for the whole test: what another one has begun is not waited for.
  const Device& on() const {
    if (!on_) on_.emplace(device());
    return *on_;
  }
  std::unique_ptr<PlasmaField<double>> in_double(const PlasmaOptions& options) {
    return make_plasma_field<double>(on(), options);
  }

 private:
  mutable std::optional<Device> on_;
};

// Reference: Yee's dispersion relation, as phase over time; at half the longest step and near it.
TEST_P(ElectromagneticPhysics, WavesTravelByTheDispersionRelationOfTheScheme) {
  struct Case {
    std::array<int, 3> cells;
    YeeWave wave;
  };
  const double near = 0.499 / std::sqrt(3.0);
  const std::vector<Case> cases{
      {{24, 16, 1}, {{3, 0, 0}, {0, 1, 0}}},           {{24, 16, 1}, {{3, 0, 0}, {0, 0, 1}}},
      {{24, 20, 1}, {{0, 2, 0}, {1, 0, 0}}},           {{24, 24, 1}, {{4, 4, 0}, {1, -1, 0}, 2, 0.35}},
      {{16, 16, 1}, {{3, 3, 0}, {0, 0, 1}, 2, 0.1}},   {{12, 14, 8}, {{2, 0, 0}, {0, 0, 1}}},
      {{12, 14, 8}, {{0, 3, 0}, {1, 0, 0}}},           {{12, 14, 8}, {{0, 0, 1}, {0, 1, 0}}},
      {{12, 12, 12}, {{2, 2, 2}, {1, 2, -1}, 2, near}}};
  const int steps = 60;
  for (const auto& [cells, wave] : cases) {
    const PlasmaOptions options = light(cells);
    const auto field = in_double(options);
    field->start();
    set_fields(*field, on(), options, wave.at(options, 0));
    for (int n = 0; n < steps; ++n) field->advance(wave.step);
    const Sixfold found = fields_of(*field), expected = wave.at(options, steps * wave.step);
    for (std::size_t f = 0; f < 6; ++f)
      for (std::size_t i = 0; i < found[f].size(); ++i)
        ASSERT_NEAR(found[f][i], expected[f][i], 1e-11)
            << "component " << f << ", mode " << wave.mode[0] << wave.mode[1] << wave.mode[2];
    // The phase of the component of E along `towards`, from what was found.
    std::size_t f = 0;
    for (std::size_t a = 0; a < 3; ++a)
      if (std::fabs(largest(expected[a])) > std::fabs(largest(expected[f]))) f = a;
    const Sixfold before = wave.at(options, 0), quarter = wave.at(options, two_pi / 4 / wave.frequency(options));
    double cosine = 0, sine = 0;
    for (std::size_t i = 0; i < found[f].size(); ++i)
      cosine += found[f][i] * before[f][i], sine += found[f][i] * quarter[f][i];
    const double turned =
        std::remainder(std::atan2(sine, cosine) - wave.frequency(options) * steps * wave.step, two_pi);
    EXPECT_LT(std::fabs(turned), 1e-6 * wave.frequency(options) * steps * wave.step);
  }
}

// Along the diagonal of a square, with the longest step, the scheme has no dispersion (Taflove & Hagness 2005, section
// 4.6): light crosses the box at its own speed.
TEST(Yee, DiagonalWavesTravelAtTheSpeedOfLightWithTheLongestStep) {
  const double c = 3, k = 0.6, step = 1 / (c * std::sqrt(2.0));
  EXPECT_NEAR(physics::yee_frequency(c, step, {k, k, 0}), c * k * std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(physics::courant_number(2, c, step), 1, 1e-12);
  EXPECT_LT(physics::yee_frequency(c, step, {k, 0, 0}), c * k);
}

// Reference: the scheme's own invariant, ½ Σ (E² + c² B₋·B₊) with B half a step before and after E.
TEST_P(ElectromagneticPhysics, VacuumEnergyIsConserved) {
  for (const auto& cells : {std::array<int, 3>{20, 36, 1}, {12, 10, 14}}) {
    const PlasmaOptions options = light(cells);
    const double step = 0.95 / physics::courant_number(options.dimensions, options.light_speed, 1);
    const auto invariant = [&](const Sixfold& f) {
      double sum = 0;
      for (std::int64_t k = 0; k < size_of(options); ++k) {
        const auto at = [&](std::size_t c, int axis, int by) {
          return f[c][static_cast<std::size_t>(axis < options.dimensions ? beside(options, k, axis, by) : k)];
        };
        for (int a = 0; a < 3; ++a) {
          const int b = (a + 1) % 3, c = (a + 2) % 3;
          const auto second = static_cast<std::size_t>(b), third = static_cast<std::size_t>(c);
          const double curl = (at(third, b, 1) - at(third, b, 0)) - (at(second, c, 1) - at(second, c, 0));
          const double electric = at(static_cast<std::size_t>(a), 0, 0),
                       magnetic = at(static_cast<std::size_t>(3 + a), 0, 0);
          const double half = step / 2 * curl;
          sum += electric * electric + options.light_speed * options.light_speed * (magnetic * magnetic - half * half);
        }
      }
      return sum / 2;
    };
    const auto field = in_double(options);
    field->start();
    set_fields(*field, on(), options, random_fields(options, 5));
    const double before = invariant(fields_of(*field)), energy = field->energy();
    for (int n = 0; n < 200; ++n) field->advance(step);
    EXPECT_NEAR(invariant(fields_of(*field)) / before, 1, 1e-12);
    EXPECT_GT(energy, before);
    double sum = 0;
    const Sixfold after = fields_of(*field);
    for (std::size_t f = 0; f < 6; ++f)
      for (const double value : after[f]) sum += value * value * (f < 3 ? 1 : 4);
    EXPECT_NEAR(field->energy() / (sum / 2), 1, 1e-12);
  }
}

// ∇·B stays 0; ∇·E changes by the divergence of the moved charge alone. Reference: vector analysis.
TEST_P(ElectromagneticPhysics, DivergencesFollowTheChargeAlone) {
  for (const auto& cells : {std::array<int, 3>{18, 40, 1}, {10, 12, 16}}) {
    PlasmaOptions options = light(cells);
    options.magnetic_field = {0.5, -1, 2};
    const auto field = in_double(options);
    field->start();
    Sixfold all = random_fields(options, 3);
    const Sixfold moved = random_fields(options, 4);
    for (std::size_t a = 0; a < 3; ++a) all[3 + a].assign(all[3 + a].size(), (&options.magnetic_field.x)[a]);
    set_fields(*field, on(), options, all);
    for (std::size_t a = 0; a < 3; ++a) values_to_device(on(), moved[a], field->deposited().current[a]);
    const double step = 0.2;
    const int steps = 50;
    for (int n = 0; n < steps; ++n) field->advance(step);
    const Sixfold after = fields_of(*field);
    const double strength = largest(after[3]) + largest(after[1]);
    for (std::int64_t k = 0; k < size_of(options); ++k) {
      ASSERT_NEAR(divergence(options, &after[3], k, 1), 0, 1e-13 * strength);
      ASSERT_NEAR(divergence(options, &after[0], k, -1),
                  divergence(options, &all[0], k, -1) - steps * divergence(options, &moved[0], k, -1),
                  1e-12 * strength);
    }
    EXPECT_NEAR(field->values(PlasmaFieldPart::current_y)[7], moved[1][7] / step, 1e-13);
  }
}

// Reference: Gauss's law of the scheme for a random charge, and the uniform magnetic field of the options.
TEST_P(ElectromagneticPhysics, TheStartSolvesGaussLaw) {
  for (const auto& cells : {std::array<int, 3>{18, 40, 1}, {10, 12, 16}}) {
    PlasmaOptions options = light(cells);
    options.magnetic_field = {0.5, -1, 2};
    const auto field = in_double(options);
    Values charge = random_fields(options, 9)[0];
    values_to_device(on(), charge, field->deposited().density);
    field->start();
    double mean = 0;
    for (const double value : charge) mean += value / static_cast<double>(charge.size());
    const Sixfold found = fields_of(*field);
    for (std::int64_t k = 0; k < size_of(options); ++k)
      ASSERT_NEAR(divergence(options, &found[0], k, -1), charge[static_cast<std::size_t>(k)] - mean, 1e-12);
    for (std::size_t a = 0; a < 3; ++a) {
      double sum = 0;
      for (const double value : found[a]) sum += value;
      EXPECT_NEAR(sum, 0, 1e-9);
      for (const double value : found[3 + a]) EXPECT_EQ(value, (&options.magnetic_field.x)[a]);
    }
    EXPECT_EQ(field->values(PlasmaFieldPart::current_x)[3], 0);
  }
}

// What is left of a pulse after its way out, relative to the beginning: the reflected energy. Reference: open space.
// Normal incidence, and at 45° on both axes.
TEST_P(ElectromagneticPhysics, AbsorbingLayersReflectLittle) {
  struct Case {
    std::array<int, 3> cells;
    int axis;
    double mode_across;  // waves on the periodic axis across
    double most;
  };
  for (const auto& [cells, axis, across, most] : {Case{{240, 4, 1}, 0, 0, 1e-5},
                                                  {{4, 240, 1}, 1, 0, 1e-5},
                                                  {{240, 16, 1}, 0, 1, 1e-4},
                                                  {{16, 240, 1}, 1, 1, 1e-4},
                                                  {{4, 4, 240}, 2, 0, 1e-5},
                                                  {{4, 240, 4}, 1, 0, 1e-5}}) {
    PlasmaOptions options = light(cells);
    options.edges[static_cast<std::size_t>(axis)] = PlasmaEdge::absorbing;
    options.absorbing_cells = 12;
    const auto field = in_double(options);
    field->start();
    Sixfold pulse;
    for (Values& one : pulse) one.assign(static_cast<std::size_t>(size_of(options)), 0.0);
    const double k = two_pi / 16;
    for (std::int64_t i = 0; i < size_of(options); ++i) {
      const std::int64_t nx = cells[0], ny = cells[1];
      const std::int64_t place[3] = {i % nx, i / nx % ny, i / nx / ny};
      const double along = static_cast<double>(place[axis]) - 120, beside = static_cast<double>(place[1 - axis % 2]);
      pulse[axis == 2 ? 0 : 2][static_cast<std::size_t>(i)] =
          std::exp(-along * along / 450) * std::cos(k * along + across * k * beside);
    }
    set_fields(*field, on(), options, pulse);
    const double before = field->energy();
    // The pulse is gone, and what has come back is still in the box.
    for (int n = 0; n < (across > 0 ? 650 : 400); ++n) field->advance(0.28);
    EXPECT_LT(field->energy() / before, most) << "along axis " << axis << ", " << across;
    EXPECT_GT(field->energy(), 0);
  }
}

// Reference: a wave with a₀ of the laser, E₀ = a₀ c ω, that has left the antenna at the numerical wave number; in 2D
// and 3D, divided over the directions of polarisation.
TEST_P(ElectromagneticPhysics, AntennasSendWavesOfTheGivenStrength) {
  for (const auto& cells : {std::array<int, 3>{160, 4, 1}, {160, 4, 4}}) {
    PlasmaOptions options = light(cells);
    options.edges[0] = PlasmaEdge::absorbing;
    const double step = 0.25, c = options.light_speed, frequency = two_pi * c / 20;
    options.lasers = {{.amplitude = 0.5, .wavelength = 20, .duration = 40, .delay = 60, .polarisation = 0.6, .x = 20}};
    const auto field = in_double(options);
    field->start();
    field->set_time(0, 0);
    for (int n = 0; n < 400; ++n) field->advance(step);
    const double k = 2 * std::asin(std::sin(frequency * step / 2) / (c * step));
    for (const auto& [axis, part] : {std::pair{1, std::cos(0.6)}, {2, std::sin(0.6)}}) {
      const Values found = field->values(electric_part(axis));
      for (int x = 30; x < 145; x += 5) {
        const double late = 400 * step - 60, far = x - 20;
        const double envelope = (late - far / c) / 40;
        const double expected =
            0.5 * c * frequency * part * std::exp(-envelope * envelope) * std::cos(frequency * late - k * far);
        EXPECT_NEAR(found[static_cast<std::size_t>(x + 160 * 2)], expected, 0.01 * c * frequency) << axis << ", " << x;
      }
    }
  }
}

// Reference: the Gaussian beam. In the focus, beside the axis by the angle, the field is E₀ and falls to 1/e at the
// waist, in the mean over a period of E².
TEST_P(ElectromagneticPhysics, GaussianBeamsMeetInTheFocus) {
  PlasmaOptions options = light({200, 160, 1});
  options.edges = {PlasmaEdge::absorbing, PlasmaEdge::absorbing, PlasmaEdge::periodic};
  const double step = 0.25, angle = 0.3, focus = 100, period = 10;
  options.lasers = {{.amplitude = 1,
                     .wavelength = 20,
                     .waist = 20,
                     .focus = focus,
                     .duration = 1000,
                     .delay = 110,
                     .angle = angle,
                     .polarisation = two_pi / 4,
                     .x = 15,
                     .y = 60}};
  const auto field = in_double(options);
  field->start();
  field->set_time(0, 0);
  for (int n = 0; n < 400; ++n) field->advance(step);
  Values mean(static_cast<std::size_t>(size_of(options)));
  for (int n = 0; n < static_cast<int>(period / step); ++n) {
    field->advance(step);
    const Values now = field->values(electric_part(2));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += 2 * now[i] * now[i] * step / period;
  }
  const double expected = options.light_speed * two_pi * options.light_speed / 20;
  const auto strength = [&](double along, double across) {
    const auto x = std::lround(15 + along * std::cos(angle) - across * std::sin(angle)),
               y = std::lround(60 + along * std::sin(angle) + across * std::cos(angle));
    return std::sqrt(mean[static_cast<std::size_t>(x + 200 * y)]) / expected;
  };
  EXPECT_NEAR(strength(focus, 0), 1, 0.06);
  EXPECT_NEAR(strength(focus, 20), std::exp(-1.0), 0.06);
  EXPECT_NEAR(strength(focus, -20), std::exp(-1.0), 0.06);
  const double far = 70 / (two_pi / 20 * 200);  // before the focus, in Rayleigh lengths
  EXPECT_NEAR(strength(focus - 70, 0), std::pow(1 + far * far, -0.25), 0.06);
}

// Reference: the standing waves of a cavity, sin(k_x x) sin(k_y y) with the frequency of the scheme; all walls conduct.
TEST_P(ElectromagneticPhysics, ConductorsHoldStandingWaves) {
  PlasmaOptions options = light({20, 24, 1});
  options.edges = {PlasmaEdge::conducting, PlasmaEdge::conducting, PlasmaEdge::periodic};
  const auto field = in_double(options);
  field->start();
  Sixfold wave;
  for (Values& one : wave) one.assign(480, 0.0);
  const double kx = 2 * two_pi / 40, ky = 3 * two_pi / 48, step = 0.3;
  for (std::size_t i = 0; i < 480; ++i)
    wave[2][i] = std::sin(kx * static_cast<double>(i % 20)) * std::sin(ky * static_cast<double>(i / 20));
  set_fields(*field, on(), options, wave);
  for (int n = 1; n <= 100; ++n) {
    field->advance(step);
    const Values found = field->values(electric_part(2));
    const double turned = std::cos(physics::yee_frequency(options.light_speed, step, {kx, ky, 0}) * step * n);
    for (std::size_t i = 0; i < 480; ++i) ASSERT_NEAR(found[i], turned * wave[2][i], 1e-11);
  }
}

// Also with more ranks than rows of tiles, and a start from the charge of all.
TEST_P(ElectromagneticPhysics, RanksHaveTheBitsOfOne) {
  for (const auto shape : {PlasmaShape::linear, PlasmaShape::quadratic})
    for (const auto& cells : {std::array<int, 3>{20, 56, 1}, {10, 12, 28}}) {
      PlasmaOptions options = light(cells);
      options.shape = shape;
      if (shape == PlasmaShape::quadratic) {
        options.edges[0] = options.edges[static_cast<std::size_t>(options.dimensions - 1)] = PlasmaEdge::absorbing;
        options.absorbing_cells = 4;
        if (options.dimensions == 3) options.edges[1] = PlasmaEdge::conducting;
        options.lasers = {{.waist = 4, .duration = 3, .angle = 0.2, .polarisation = 0.5, .x = 5}};
      }
      const Sixfold given = random_fields(options, 7), moved = random_fields(options, 8);
      struct Seen {
        Sixfold start, end;
        double energy;
      };
      const auto run = [&](const std::shared_ptr<Communicator>& ranks, int threads) {
        const Device device = this->device(threads);
        const auto field = make_plasma_field<float>(device, options, ranks);
        const plasma::TileSlab slab(options, ranks.get());
        const std::int64_t layer = slab.rows_in_layer() * slab.cells[0];
        const auto own = [&](const Values& all) {
          return Values(all.begin() + slab.first * layer, all.begin() + (slab.first + slab.count) * layer);
        };
        values_to_device(device, own(given[0]), field->deposited().density);
        field->start();
        Seen seen{fields_of(*field), {}, 0};
        set_fields(*field, device, options, given, ranks.get());
        for (std::size_t a = 0; a < 3; ++a) values_to_device(device, own(moved[a]), field->deposited().current[a]);
        for (int n = 0; n < 12; ++n) field->advance(0.1 + 0.01 * n);
        seen.end = fields_of(*field), seen.energy = field->energy();
        return seen;
      };
      const Seen one = run(nullptr, 2);
      for (const int count : {1, 2, 3, 5})
        run_on_thread_ranks(count, [&](Communicator& communicator) {
          const std::shared_ptr<Communicator> ranks(&communicator, [](Communicator*) {});
          const plasma::TileSlab slab(options, ranks.get());
          const std::int64_t layer = slab.rows_in_layer() * slab.cells[0];
          const Seen here = run(ranks, 1);
          for (std::size_t f = 0; f < 6; ++f) {
            const auto same = [&](const Values& own, const Values& all) {
              return std::equal(own.begin(), own.end(), all.begin() + slab.first * layer,
                                all.begin() + (slab.first + slab.count) * layer);
            };
            EXPECT_TRUE(same(here.start[f], one.start[f])) << count << " ranks, start, component " << f;
            EXPECT_TRUE(same(here.end[f], one.end[f])) << count << " ranks, component " << f;
          }
          EXPECT_EQ(here.energy, one.energy);
        });
    }
}

TEST_P(ElectromagneticPhysics, WhatItCannotDoIsRefused) {
  const auto words = [&](const PlasmaOptions& options, double step) -> std::string {
    try {
      const auto field = in_double(options);
      field->start();
      field->advance(step);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.what();
    }
    return "nothing was refused";
  };
  const PlasmaOptions options = light({8, 8, 1});
  EXPECT_NE(words(options, 0.36).find("the time step is 0.36, expected below 0.3535"), std::string::npos);
  EXPECT_EQ(words(options, 0.35), "nothing was refused");
  EXPECT_NE(words(light({8, 8, 8}), 0.35).find("expected below 0.2886"), std::string::npos);
  EXPECT_NE(words(light({8, 8, 1}, 0), 0.1).find("needs a light_speed above zero, found 0"), std::string::npos);
  PlasmaOptions other = options;
  other.velocities = 2;
  EXPECT_NE(words(other, 0.1).find("three velocities"), std::string::npos);
  other = options, other.edges[1] = PlasmaEdge::absorbing, other.absorbing_cells = 4;
  EXPECT_NE(words(other, 0.1).find("absorbing layers of 1 to 3 cells along y, found 4"), std::string::npos);
  other = options, other.lasers = {{.x = 8}};
  EXPECT_NE(words(other, 0.1).find("antenna of a laser at x of 1 to 7 cells, found 8"), std::string::npos);
  other = options, other.smoothing = 1;
  EXPECT_NE(words(other, 0.1).find("no smoothing, found 1"), std::string::npos);
}

// From an uninterrupted run, with the ψ of absorbing layers.
TEST_P(ElectromagneticPhysics, ResumedFieldsHaveTheSameBits) {
  PlasmaOptions options = light({20, 40, 1});
  options.edges = {PlasmaEdge::absorbing, PlasmaEdge::absorbing, PlasmaEdge::periodic};
  options.absorbing_cells = 5;
  const auto whole = make_plasma_field<float>(on(), options), again = make_plasma_field<float>(on(), options);
  whole->start();
  set_fields(*whole, on(), options, random_fields(options, 2));
  for (int n = 0; n < 9; ++n) whole->advance(0.2);
  StateSource state;
  whole->save(state);
  StateBlocks blocks = state.blocks();
  EXPECT_EQ(blocks.blocks().size(), 6u + 8u);
  BlocksInput input(blocks);
  again->restore(input), again->resume();
  for (int n = 0; n < 9; ++n) whole->advance(0.25), again->advance(0.25);
  EXPECT_EQ(fields_of(*again), fields_of(*whole));
}

INSTANTIATE_TEST_SUITE_P(Devices, ElectromagneticPhysics, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

#include "sim/plasma_curves.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

namespace pergola {
namespace {

/// Waves of 3, 5 and the most wavelengths in the box, by the part of a turn that one wavelength has gone.
double wave_at(double turn, int n) {
  return 0.5 * std::sin(3 * turn + 1) + 0.125 * std::sin(5 * turn) + 0.25 * std::cos(n / 2 * turn);
}

/// Such waves along an axis of a box whose sides all differ, and one across it that has no mean.
std::vector<double> waves(const PlasmaOptions& options, int axis) {
  std::vector<double> field;
  const auto& n = options.cells;
  const auto along = static_cast<std::size_t>(axis);
  const auto across = static_cast<std::size_t>((axis + 1) % options.dimensions);
  for (int z = 0; z < n[2]; ++z)
    for (int y = 0; y < n[1]; ++y)
      for (int x = 0; x < n[0]; ++x) {
        const std::array<int, 3> place{x, y, z};
        const auto turn = [&](std::size_t a) { return 2 * std::numbers::pi * place[a] / n[a]; };
        field.push_back(wave_at(turn(along), n[along]) + 7 * std::cos(turn(across)));
      }
  return field;
}

// Reference: the waves that the field was made of, a cell being 0.25 of the file's lengths and E in its unit.
TEST(PlasmaCurves, HaveTheFieldAlongAnAxisAndTheAmplitudesOfItsWaves) {
  for (const int dimensions : {2, 3})
    for (int axis = 0; axis < dimensions; ++axis) {
      PlasmaOptions options;
      options.dimensions = dimensions;
      options.cells = {32, 16, dimensions == 3 ? 12 : 1};
      PlasmaUnits units;
      units.lengths = PlasmaLengths::debye;
      units.dimensions = dimensions;
      units.cell = 0.25;
      const double strength = units.electric_field().file;
      const std::vector<double> field = waves(options, axis);
      const auto curves = plasma_curves(whole_field(field), options, units, axis);
      ASSERT_EQ(curves.size(), 2u);
      const StateCurve &profile = curves[0], &spectrum = curves[1];
      const int n = options.cells[static_cast<std::size_t>(axis)];
      ASSERT_EQ(profile.x.size(), static_cast<std::size_t>(n));
      for (std::size_t k = 0; k < profile.x.size(); ++k) {
        const double turn = 2 * std::numbers::pi * static_cast<double>(k) / n;
        EXPECT_DOUBLE_EQ(profile.x[k], 0.25 * static_cast<double>(k));
        EXPECT_NEAR(profile.y[k] / strength, wave_at(turn, n), 1e-12);
      }
      ASSERT_EQ(spectrum.x.size(), static_cast<std::size_t>(n / 2));
      for (int mode = 1; mode <= n / 2; ++mode) {
        const auto k = static_cast<std::size_t>(mode - 1);
        EXPECT_DOUBLE_EQ(spectrum.x[k], 2 * std::numbers::pi * mode / (0.25 * n));
        EXPECT_NEAR(spectrum.y[k] / strength,
                    mode == 3       ? 0.5
                    : mode == 5     ? 0.125
                    : mode == n / 2 ? 0.25
                                    : 0,
                    1e-12)
            << mode;
      }
      EXPECT_EQ(spectrum.look, StateCurve::Look::logarithmic);
      EXPECT_EQ(profile.title, (std::array{"Ex(x)", "Ey(y)", "Ez(z)"}[static_cast<std::size_t>(axis)]));
    }
}

// Reference: values of the cells, added by hand.
TEST(PlasmaMaps, AreMeansOverTheThirdAxisInTheUnitsOfTheFile) {
  PlasmaOptions options;
  options.dimensions = 3;
  options.cells = {2, 1, 2};
  PlasmaUnits units;
  units.lengths = PlasmaLengths::debye;
  units.dimensions = 3;
  units.cell = 0.25;
  const std::vector<double> density{1, 2, 3, 6};
  const auto lengths = lengths_of({std::vector<double>{3, 0, 0, 0}, {4, 0, 0, 2}, {0, 0, 7, 0}});
  const auto maps = plasma_maps(whole_field(density), whole_field(lengths), options, units);
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0].title, "charge density");
  EXPECT_EQ(maps[0].unit, "e n_0");
  EXPECT_EQ(maps[0].cells, (std::array{2, 1}));
  EXPECT_EQ(maps[0].side, (std::array{0.5, 0.25}));
  const auto charge = static_cast<float>(units.charge_density().file);
  EXPECT_EQ(maps[0].values, (std::vector<float>{2 * charge, 4 * charge}));
  const double strength = units.electric_field().file;
  EXPECT_FLOAT_EQ(maps[1].values.at(0), static_cast<float>(strength * 6));  // |(3, 4, 0)| and |(0, 0, 7)|
  EXPECT_FLOAT_EQ(maps[1].values.at(1), static_cast<float>(strength * 1));
}

}  // namespace
}  // namespace pergola

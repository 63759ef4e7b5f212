#include "physics/resolution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "physics/numerics.hpp"

namespace pergola {
namespace {

using physics::departs_at;
using physics::mesh_wave_factor;
using physics::softened_wave_factor;

/// Reference: the transform of the density that Plummer's potential belongs to, 3ε²/(4π) (r² + ε²)^{−5/2} (Binney &
/// Tremaine 2008, eq. 2.44), by quadrature.
double transform_of_plummer_density(double x) {
  double sum = 0;
  for (int piece = 0; piece < 4000; ++piece)  // to r = 400 ε, where the density has fallen by 10¹³
    sum += physics::gauss_legendre(
        [x](double r) { return 3 * r * r * std::pow(r * r + 1, -2.5) * std::sin(x * r) / (x * r); }, piece * 0.1,
        (piece + 1) * 0.1);
  return sum;
}

TEST(Resolution, PlummersSofteningWeakensWavesAsItsDensityDoes) {
  for (const double x : {0.05, 0.3, 1.0, 2.0})
    EXPECT_NEAR(softened_wave_factor(SofteningKernel::plummer, x), transform_of_plummer_density(x), 3e-6) << x;
}

/// Reference: the second moment of the cubic spline, ⟨r²⟩ = 9/40 h² (integrals of its two polynomials by hand), and the
/// transform 1 − k² ⟨r²⟩/6 of any compact density.
TEST(Resolution, TheSplineWeakensWavesByItsSecondMoment) {
  const double x = 0.02, second = 0.225 * physics::spline_support * physics::spline_support;
  EXPECT_NEAR((1 - softened_wave_factor(SofteningKernel::spline, x)) / (x * x), second / 6, 1e-4);
  EXPECT_NEAR(softened_wave_factor(SofteningKernel::spline, 1e-6), 1, 1e-9);
  const auto factor = [](double y) { return softened_wave_factor(SofteningKernel::spline, y); };
  EXPECT_NEAR(departs_at(factor, 0.01, 3), std::sqrt(0.06 / second), 0.003);
}

/// Reference: the first terms of the series by hand. Two windows of order p take p x²/12, the seven-point Laplacian
/// gives x²/12 back, two points take x²/6, four take x⁴/30.
TEST(Resolution, AMeshWeakensWavesByWindowLaplacianAndDifference) {
  const double x = 0.01, x2 = x * x;
  EXPECT_NEAR((1 - mesh_wave_factor(x, 3, true, 2)) / x2, 3.0 / 12 - 1.0 / 12 + 1.0 / 6, 1e-4);
  EXPECT_NEAR((1 - mesh_wave_factor(x, 2, false, 0)) / x2, 2.0 / 12, 1e-4);
  EXPECT_NEAR((1 - mesh_wave_factor(0.1, 0, false, 4)) / 1e-4, 1.0 / 30, 1e-3);
  EXPECT_DOUBLE_EQ(mesh_wave_factor(0.5, 0, false, 0), 1);
}

TEST(Resolution, AHaloOfTheForcesLengthHasTheMassOfItsSphere) {
  // A sphere of one mean distance at the mean density has 4π/3 particles.
  EXPECT_NEAR(physics::halo_particles_of_force(1, 200), 200 * 4 * std::numbers::pi / 3, 1e-9);
  EXPECT_NEAR(physics::halo_particles_of_force(0.5, 200) / physics::halo_particles_of_force(1, 200), 0.125, 1e-12);
}

}  // namespace
}  // namespace pergola

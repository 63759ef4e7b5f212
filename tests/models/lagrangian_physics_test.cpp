#include "models/lagrangian.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <map>
#include <numbers>
#include <vector>

#include "models/density_wave.hpp"
#include "physics/lagrangian.hpp"

namespace pergola {

namespace {

using Complex = std::complex<double>;
using Field = std::vector<double>;
using Terms = std::map<LagrangianTerm, std::array<Field, 3>>;
constexpr double two_pi = 2 * std::numbers::pi;

Terms terms_of(int side, const DensityWave& delta, int order) {
  Terms terms;
  WaveCube cube(side, 2);
  lagrangian_displacements(cube, delta, order, [&](LagrangianTerm term, const auto& by) { terms[term] = by; });
  return terms;
}

// φ1 of two crossed waves δ = A cos x + B cos y (x, y in radians per box) is −A cos x − B cos y over k²; the second
// order has the source A B cos x cos y, and ∇φ2 = (A B/2k²) (sin x cos y, cos x sin y) k. Lengths in boxes: k = 2π.
TEST(LagrangianTheory, SecondOrderOfTwoCrossedWavesIsTheClosedForm) {
  const int side = 16;
  const double a = 0.3, b = 0.2;
  const auto delta = [&](int kx, int ky, int kz) -> Complex {
    if (kz != 0) return 0;
    if (std::abs(kx) == 1 && ky == 0) return a / 2;
    return kx == 0 && std::abs(ky) == 1 ? b / 2 : 0.0;
  };
  Terms by = terms_of(side, delta, 2);
  const auto &first = by[LagrangianTerm::first], &second = by[LagrangianTerm::second];
  for (const auto& [ix, iy, iz] : {std::array{3, 5, 7}, std::array{0, 1, 2}, std::array{15, 9, 0}}) {
    const auto i = static_cast<std::size_t>((iz * side + iy) * side + ix);
    const double x = two_pi * ix / side, y = two_pi * iy / side;
    EXPECT_NEAR(first[0][i], -a * std::sin(x) / two_pi, 1e-14);
    EXPECT_NEAR(first[1][i], -b * std::sin(y) / two_pi, 1e-14);
    EXPECT_NEAR(first[2][i], 0, 1e-14);
    EXPECT_NEAR(second[0][i], a * b / 2 * std::sin(x) * std::cos(y) / two_pi, 1e-14);
    EXPECT_NEAR(second[1][i], a * b / 2 * std::cos(x) * std::sin(y) / two_pi, 1e-14);
    EXPECT_NEAR(second[2][i], 0, 1e-14);
  }
}

// Zel'dovich 1970: the first order is exact for a plane wave.
TEST(LagrangianTheory, HigherOrdersOfAPlaneWaveVanish) {
  const auto delta = [](int kx, int ky, int kz) -> Complex {
    const bool one = kx == 1 && ky == -2 && kz == 1, opposite = kx == -1 && ky == 2 && kz == -1;
    return one ? Complex(0.2, 0.1) : opposite ? Complex(0.2, -0.1) : 0.0;
  };
  double largest = 0;
  for (const auto& [term, by] : terms_of(8, delta, 3))
    for (const Field& field : by)
      for (const double value : field) {
        if (term == LagrangianTerm::first)
          largest = std::max(largest, std::abs(value));
        else
          EXPECT_NEAR(value, 0, 1e-15);
      }
  EXPECT_GT(largest, 0.01);
}

// The exact collapse of a sphere in an Einstein–de Sitter universe, the cycloid r/(a q) with linear contrast δ:
// 1 − δ/3 − δ²/21 − 23 δ³/1701 − … (Munshi, Sahni & Starobinsky 1994, ApJ 436, 517).
TEST(LagrangianTheory, ThirdOrderIsTheSeriesOfTheSphere) {
  const physics::TidalTensor first{1.0 / 3, 1.0 / 3, 1.0 / 3, 0, 0, 0};
  const double source = physics::second_order_source(first);
  const physics::TidalTensor second{source / 3, source / 3, source / 3, 0, 0, 0};
  const auto third = physics::third_order_sources(first, second);
  EXPECT_NEAR(-3.0 / 7 * source / 3, -1.0 / 21, 1e-15);
  EXPECT_NEAR(-(-1.0 / 3 * third.a + 10.0 / 21 * third.b) / 3, -23.0 / 1701, 1e-15);
  for (const double c : third.c) EXPECT_EQ(c, 0);
}

/// ∂/∂(place in boxes) along an axis of a periodic lattice, exact for the waves that the lattice has. Fornberg 1996, "A
/// practical guide to pseudospectral methods", chapter 3.
Field derivative(const Field& field, int side, int axis) {
  const std::array<int, 3> stride{1, side, side * side};
  const int step = stride[static_cast<std::size_t>(axis)];
  Field result(field.size(), 0.0);
  for (int i = 0; i < static_cast<int>(field.size()); ++i) {
    const int at = i / step % side, start = i - at * step;
    for (int other = 0; other < side; ++other) {
      if (other == at) continue;
      const double angle = std::numbers::pi * (at - other) / side;
      const double weight = ((at - other) % 2 == 0 ? 0.5 : -0.5) * two_pi / std::tan(angle);
      result[static_cast<std::size_t>(i)] += weight * field[static_cast<std::size_t>(start + other * step)];
    }
  }
  return result;
}

/// What is missing in the equations of motion of x(q) = q + Σ D ψ in an Einstein–de Sitter universe at a = 1, written
/// in q and without any expansion: with X = ∂x/∂q, J = det X, and Y the same of d²x/d(ln a)² + ½ dx/d(ln a),
/// Σ cof(X)_ij Y_ij = 3/2 (J − 1) and Σ_l ∇x_l × ∇Y_l = 0. Buchert 1992, MNRAS 254, 729.
struct Missing {
  double divergence = 0, rotation = 0;
};
Missing missing(double amplitude, int order) {
  const int side = 8;
  const std::map<LagrangianTerm, std::array<double, 2>> growth{{LagrangianTerm::first, {1, 1}},
                                                               {LagrangianTerm::second, {-3.0 / 7, 2}},
                                                               {LagrangianTerm::third_a, {-1.0 / 3, 3}},
                                                               {LagrangianTerm::third_b, {10.0 / 21, 3}},
                                                               {LagrangianTerm::third_c, {-1.0 / 7, 3}}};
  const WaveDraw draw{.seed = 11};
  const auto wave = [&](int kx, int ky, int kz) {
    const DrawnWave drawn = drawn_wave(draw, kx, ky, kz, 1e-2);
    return std::complex<double>(drawn.real, drawn.imaginary);
  };
  const auto delta = [&](int kx, int ky, int kz) -> Complex {  // the third power of these waves fits the lattice
    return std::max({std::abs(kx), std::abs(ky), std::abs(kz)}) > 1 ? 0.0 : amplitude * wave(kx, ky, kz);
  };
  std::array<std::array<Field, 3>, 3> x, y;
  for (auto* matrix : {&x, &y})
    for (auto& row : *matrix)
      for (Field& field : row) field.assign(512, 0.0);
  for (const auto& [term, by] : terms_of(side, delta, order))
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        const auto [d, power] = growth.at(term);
        const Field slope = derivative(by[i], side, static_cast<int>(j));
        for (std::size_t k = 0; k < 512; ++k) {
          x[i][j][k] += d * slope[k];
          y[i][j][k] += (power * power + power / 2) * d * slope[k];
        }
      }
  Missing result;
  for (std::size_t k = 0; k < 512; ++k) {
    double divergence = 0, determinant = 0;
    for (std::size_t i = 0; i < 3; ++i) x[i][i][k] += 1;
    for (std::size_t i = 0; i < 3; ++i) {
      double rotation = 0;
      const std::size_t i1 = (i + 1) % 3, i2 = (i + 2) % 3;
      for (std::size_t j = 0; j < 3; ++j) {
        const std::size_t j1 = (j + 1) % 3, j2 = (j + 2) % 3;
        const double cofactor = x[i1][j1][k] * x[i2][j2][k] - x[i1][j2][k] * x[i2][j1][k];
        divergence += cofactor * y[i][j][k];
        if (i == 0) determinant += cofactor * x[i][j][k];
        rotation += x[j][i1][k] * y[j][i2][k] - x[j][i2][k] * y[j][i1][k];
      }
      result.rotation = std::max(result.rotation, std::abs(rotation));
    }
    result.divergence = std::max(result.divergence, std::abs(divergence - 1.5 * (determinant - 1)));
  }
  return result;
}

// Reference: the equations themselves, not expanded. What n orders leave falls with the power n + 1 of the amplitude;
// it would fall with a lower one if a sign, a factor or the transverse part were wrong.
TEST(LagrangianTheory, WhatIsMissingInTheEquationsOfMotionFallsWithTheOrder) {
  for (const int order : {1, 2, 3}) {
    const Missing small = missing(0.005, order), large = missing(0.01, order);
    EXPECT_NEAR(std::log2(large.divergence / small.divergence), order + 1, 0.1) << order;
    if (order > 1) {  // to first order there is no rotation at all
      EXPECT_NEAR(std::log2(large.rotation / small.rotation), order + 1, 0.1) << order;
    }
  }
}

}  // namespace

}  // namespace pergola

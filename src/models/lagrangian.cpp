#include "models/lagrangian.hpp"

#include <cmath>
#include <numbers>

#include "base/philox.hpp"
#include "models/wave_cube.hpp"
#include "physics/lagrangian.hpp"

namespace pergola {

namespace {

using Complex = std::complex<double>;
constexpr Complex i_unit{0, 1};
constexpr std::uint32_t wave_stream = 14;
constexpr double two_pi = 2 * std::numbers::pi;

double square(int kx, int ky, int kz) {
  return static_cast<double>(kx) * kx + static_cast<double>(ky) * ky + static_cast<double>(kz) * kz;
}

/// Two real fields in one transform: what `first` and `second` give for a wave are their waves.
template <class First, class Second>
void fill_pair(WaveCube& cube, const First& first, const Second& second) {
  cube.fill_waves([&](int kx, int ky, int kz, Complex) {
    const std::array<double, 3> k{double(kx), double(ky), double(kz)};
    const double k2 = square(kx, ky, kz);
    return Complex(first(k, k2)) + i_unit * Complex(second(k, k2));
  });
}

void take(WaveCube& cube, std::vector<double>* real, std::vector<double>* imaginary) {
  for (auto* to : {real, imaginary})
    if (to) to->resize(static_cast<std::size_t>(cube.size()));
  cube.each([&](Complex& value, std::size_t i) {
    if (real) (*real)[i] = value.real();
    if (imaginary) (*imaginary)[i] = value.imag();
  });
}

/// Σ_{i<j} (φ,ii φ,jj − φ,ij²) at the places of the lattice.
std::vector<double> second_source(WaveCube& cube, const DensityWave& delta) {
  const auto tide = [&](std::size_t i, std::size_t j) {
    return [&delta, i, j](const std::array<double, 3>& k, double k2) {
      return physics::tidal_wave(k[i], k[j], k2, delta(int(k[0]), int(k[1]), int(k[2])));
    };
  };
  std::vector<double> xx, yy, source(static_cast<std::size_t>(cube.size()));
  fill_pair(cube, tide(0, 0), tide(1, 1));
  cube.to_places();
  take(cube, &xx, &yy);
  fill_pair(cube, tide(2, 2), tide(0, 1));
  cube.to_places();
  cube.each(
      [&](Complex& v, std::size_t i) { source[i] = xx[i] * yy[i] + (xx[i] + yy[i]) * v.real() - v.imag() * v.imag(); });
  fill_pair(cube, tide(0, 2), tide(1, 2));
  cube.to_places();
  cube.each([&](Complex& v, std::size_t i) { source[i] -= v.real() * v.real() + v.imag() * v.imag(); });
  return source;
}

/// The three components of a gradient field: wave(k along an axis, k²) of `of` (kx, ky, kz, place in the cube).
template <class Wave>
void fill_vector(WaveCube& cube, const Wave& wave, std::array<std::vector<double>, 3>& to) {
  const auto along = [&](std::size_t axis) {
    return [&wave, axis](const std::array<double, 3>& k, double k2) { return wave(k, k2, axis); };
  };
  fill_pair(cube, along(0), along(1));
  cube.to_places();
  take(cube, &to[0], &to[1]);
  fill_pair(cube, along(2), [](const std::array<double, 3>&, double) { return 0.0; });
  cube.to_places();
  take(cube, &to[2], nullptr);
}

}  // namespace

Displacements lagrangian_displacements(int side, const DensityWave& delta, int order, int threads) {
  Displacements result;
  WaveCube cube(side, threads);
  // Wave numbers are counted per box, gradients are over lengths in boxes: a factor 1/2π for each displacement.
  fill_vector(
      cube,
      [&](const std::array<double, 3>& k, double k2, std::size_t axis) {
        return physics::first_displacement(k[axis], k2, delta(int(k[0]), int(k[1]), int(k[2]))) / two_pi;
      },
      result.first);
  if (order < 2) return result;
  const auto source = second_source(cube, delta);
  cube.each([&](Complex& value, std::size_t i) { value = source[i]; });
  cube.to_waves();
  const std::vector<Complex> waves = cube.values();
  const auto index = [side](double k) { return static_cast<std::size_t>(k < 0 ? k + side : k); };
  const auto n = static_cast<std::size_t>(side);
  fill_vector(
      cube,
      [&](const std::array<double, 3>& k, double k2, std::size_t axis) {
        return physics::second_displacement(k[axis], k2, waves[(index(k[2]) * n + index(k[1])) * n + index(k[0])]) /
               two_pi;
      },
      result.second);
  return result;
}

std::complex<double> draw_wave(const WaveDraw& draw, int kx, int ky, int kz, double variance) {
  // One of each pair k, −k is drawn.
  const bool mirrored = kz != 0 ? kz < 0 : ky != 0 ? ky < 0 : kx < 0;
  const auto coded = [&](int k) { return static_cast<std::uint64_t>((mirrored ? -k : k) + (1 << 20)); };
  Philox random(draw.seed, wave_stream, coded(kz) << 42 | coded(ky) << 21 | coded(kx));
  const double u = random.uniform(), phase = two_pi * random.uniform();
  const double size = std::sqrt(variance) * (draw.fixed ? 1 : std::sqrt(-std::log(u))) * (draw.paired ? -1 : 1);
  return {size * std::cos(phase), (mirrored ? -size : size) * std::sin(phase)};
}

}  // namespace pergola

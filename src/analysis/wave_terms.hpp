#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/host_device.hpp"
#include "device/chunk_sums.hpp"

namespace pergola {

/// The 13 independent largest waves of a periodic box: (1 0 0) and (1 1 0) and (1 1 1) with all signs, of each pair k
/// and −k one.
inline constexpr std::size_t large_wave_count = 13;

/// What particle i adds to Σ m exp(−i k·x) of these waves, real and imaginary parts, and to Σ m.
struct WaveTerms {
  static constexpr int count = 2 * static_cast<int>(large_wave_count) + 1, mass_at = count - 1;
  const double *x = nullptr, *y = nullptr, *z = nullptr, *mass = nullptr;
  double unit = 0;  // the wave number of the box

  struct Phase {
    double real, imaginary;
    PERGOLA_HD Phase operator*(const Phase& other) const {
      return {real * other.real - imaginary * other.imaginary, real * other.imaginary + imaginary * other.real};
    }
    PERGOLA_HD Phase operator~() const { return {real, -imaginary}; }
  };
  PERGOLA_HD static Phase phase(double angle) { return {std::cos(angle), -std::sin(angle)}; }

  PERGOLA_HD Terms<count> operator()(std::int64_t i) const {
    const Phase a = phase(unit * x[i]), b = phase(unit * y[i]), c = phase(unit * z[i]);
    const Phase sum = a * b, difference = a * ~b;
    const Phase waves[large_wave_count] = {a,     b,      c,       sum,      difference,     a * c,          a * ~c,
                                           b * c, b * ~c, sum * c, sum * ~c, difference * c, ~difference * c};
    Terms<count> terms;
    for (std::size_t k = 0; k < large_wave_count; ++k) {
      terms.value[2 * k] = mass[i] * waves[k].real;
      terms.value[2 * k + 1] = mass[i] * waves[k].imaginary;
    }
    terms.value[mass_at] = mass[i];
    return terms;
  }
};

}  // namespace pergola

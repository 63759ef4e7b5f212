#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace pergola {

/// exp(−x) I_n(x) for n = 0 … orders − 1: Miller's backward recurrence, normalised by exp(x) = I_0 + 2 Σ I_n.
/// Abramowitz & Stegun 1964, 9.6.26 and 9.6.37.
inline std::vector<double> scaled_bessel_i(double x, int orders) {
  std::vector<double> values(static_cast<std::size_t>(orders), 0.0);
  if (x == 0) {
    if (orders > 0) values[0] = 1;
    return values;
  }
  const int start = std::max(orders, static_cast<int>(2 * x)) + 40 + static_cast<int>(6 * std::sqrt(x));
  double above = 0, at = 1e-250, sum = 0;
  for (int n = start; n >= 0; --n) {
    if (n < orders) values[static_cast<std::size_t>(n)] = at;
    sum += n == 0 ? at : 2 * at;
    const double below = above + 2 * n / x * at;
    above = at;
    at = below;
    if (sum > 1e250) {
      for (double* value : {&above, &at, &sum}) *value *= 1e-250;
      for (double& value : values) value *= 1e-250;
    }
  }
  for (double& value : values) value /= sum;
  return values;
}

/// The electron Bernstein wave between the harmonics `harmonic` and `harmonic` + 1 of the cyclotron frequency, at wave
/// number k across the magnetic field: the root of 1 = s² 2/(k λ_D)² Σ_n exp(−b) I_n(b) n² ω_c²/(ω² − n² ω_c²) with
/// b = (k v/ω_c)², λ_D = v/ω_p. Bernstein 1958, Phys. Rev. 109, 10. Frequencies and speeds in one
/// system of units.
inline double bernstein_frequency(int harmonic, double k, double thermal_speed, double cyclotron_frequency,
                                  double plasma_frequency = 1, double shape_squared = 1) {
  const double larmor = k * thermal_speed / cyclotron_frequency, b = larmor * larmor;
  const double debye = k * thermal_speed / plasma_frequency;
  const int orders = harmonic + 30 + static_cast<int>(3 * larmor + b);
  const std::vector<double> bessel = scaled_bessel_i(b, orders);
  // Falls from +∞ to −∞ between two harmonics.
  const auto excess = [&](double ratio) {
    double sum = 0;
    for (int n = orders - 1; n > 0; --n) sum += bessel[static_cast<std::size_t>(n)] * n * n / (ratio * ratio - n * n);
    return 2 * shape_squared / (debye * debye) * sum - 1;
  };
  double low = harmonic, high = harmonic + 1;
  for (int step = 0; step < 200 && high - low > 4 * std::numeric_limits<double>::epsilon() * high; ++step) {
    const double middle = 0.5 * (low + high);
    (excess(middle) > 0 ? low : high) = middle;
  }
  return 0.5 * (low + high) * cyclotron_frequency;
}

}  // namespace pergola

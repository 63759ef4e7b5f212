#pragma once
// Particles for the tests of the plasma.
#include <cmath>
#include <random>

#include "physics/numerics.hpp"
#include "plasma/particle_in_cell.hpp"

namespace pergola {

inline constexpr double two_pi = 6.283185307179586;

/// A uniform Maxwellian, all at random.
inline PlasmaParticles random_particles(const PlasmaOptions& options, std::int64_t count, double thermal_velocity,
                                        std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal(0, thermal_velocity);
  PlasmaParticles particles;
  for (std::int64_t i = 0; i < count; ++i) {
    particles.id.push_back(static_cast<std::uint64_t>(i) + 1);
    particles.x.push_back(options.cells[0] * uniform(engine));
    particles.y.push_back(options.cells[1] * uniform(engine));
    if (options.dimensions == 3) particles.z.push_back(options.cells[2] * uniform(engine));
    particles.vx.push_back(normal(engine));
    particles.vy.push_back(normal(engine));
    if (options.velocities == 3) particles.vz.push_back(normal(engine));
  }
  return particles;
}

/// One species of electrons, `per_cell` in a cell, whose plasma frequency is 1.
inline PlasmaOptions electrons(std::array<int, 3> cells, double per_cell, int velocities = 2) {
  PlasmaOptions options;
  options.dimensions = cells[2] > 1 ? 3 : 2;
  options.cells = cells;
  options.velocities = options.dimensions == 3 ? 3 : velocities;
  options.species = {{"electrons", -1, 1, 1 / per_cell}};
  return options;
}

/// The digits of i in a base, mirrored at the point: numbers that fill 0 … 1 evenly.
inline double mirrored(std::uint64_t i, std::uint64_t base) {
  double value = 0, digit = 1;
  for (; i > 0; i /= base) {
    digit /= static_cast<double>(base);
    value += static_cast<double>(i % base) * digit;
  }
  return value;
}

/// Electrons that fill space and velocities evenly (a quiet start), moved along x by (amplitude / k) sin(k x) for mode
/// 1: a density wave. Cold for thermal_velocity 0; drifts along x.
inline PlasmaParticles quiet_particles(const PlasmaOptions& options, std::int64_t count, double thermal_velocity,
                                       double amplitude, double drift = 0, std::uint64_t first_id = 1) {
  const double length = options.cells[0], k = two_pi / length;
  PlasmaParticles particles;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    const double x = length * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    const auto velocity = [&](std::uint64_t base) {
      return thermal_velocity == 0 ? 0.0 : thermal_velocity * physics::normal_quantile(mirrored(n + 1, base));
    };
    particles.id.push_back(first_id + n);
    const double moved = x + amplitude / k * std::sin(k * x);
    particles.x.push_back(moved - length * std::floor(moved / length));
    particles.y.push_back(options.cells[1] * mirrored(n, 5));
    if (options.dimensions == 3) particles.z.push_back(options.cells[2] * mirrored(n, 7));
    particles.vx.push_back(drift + velocity(2));
    particles.vy.push_back(velocity(3));
    if (options.velocities == 3) particles.vz.push_back(velocity(11));
  }
  return particles;
}

/// Mode 1 along x of the potential, its cosine part: a standing wave of quiet_particles().
inline double cosine_mode(const PlasmaOptions& options, const std::vector<double>& potential) {
  double sum = 0;
  for (std::size_t i = 0; i < potential.size(); ++i)
    sum += potential[i] * std::cos(two_pi * static_cast<double>(i % options.cells[0]) / options.cells[0]);
  return 2 * sum / static_cast<double>(potential.size());
}

/// The cosine mode at times 0, step, 2 step, …
inline std::vector<double> mode_history(const Device& device, const PlasmaOptions& options,
                                        const std::vector<PlasmaParticles>& start, double step, int steps,
                                        Precision precision = Precision::single) {
  const auto system = make_particle_in_cell(device, options, precision);
  system->start(start);
  std::vector<double> history{cosine_mode(options, system->field(PlasmaFieldPart::potential))};
  for (int i = 0; i < steps; ++i) {
    system->advance(1, step);
    history.push_back(cosine_mode(options, system->field(PlasmaFieldPart::potential)));
  }
  return history;
}

/// Frequency and growth of an oscillation, from the zeros of the history after `from` and the extrema between them.
struct Oscillation {
  double frequency = 0, growth = 0;
};
inline Oscillation fit_oscillation(const std::vector<double>& history, double step, double from) {
  std::vector<double> zeros, peaks, peak_times;
  double largest = 0, largest_time = 0;
  for (auto i = static_cast<std::size_t>(from / step) + 1; i + 1 < history.size(); ++i) {
    const double a = history[i - 1], b = history[i], c = history[i + 1];
    if ((b - a) * (c - b) <= 0 && std::fabs(b) > largest) {  // a parabola through three points
      const double curvature = a - 2 * b + c, shift = curvature == 0 ? 0 : 0.5 * (a - c) / curvature;
      largest = std::fabs(b - 0.25 * (a - c) * shift);
      largest_time = (static_cast<double>(i) + shift) * step;
    }
    if (b * c < 0 || b == 0) {
      if (!zeros.empty()) peaks.push_back(std::log(largest)), peak_times.push_back(largest_time);
      zeros.push_back((static_cast<double>(i) + b / (b - c)) * step);
      largest = 0;
    }
  }
  const auto slope = [](const std::vector<double>& x, const std::vector<double>& y) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    const auto n = static_cast<double>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) sx += x[i], sy += y[i], sxx += x[i] * x[i], sxy += x[i] * y[i];
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
  };
  std::vector<double> number;
  for (std::size_t i = 0; i < zeros.size(); ++i) number.push_back(static_cast<double>(i));
  return {0.5 * two_pi / slope(number, zeros), slope(peak_times, peaks)};
}

}  // namespace pergola

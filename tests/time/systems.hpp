#pragma once
#include <cmath>
#include <memory>
#include <numbers>

#include "base/vec.hpp"
#include "time/integrator.hpp"

namespace pergola {

/// A few bodies by hand, and their energy by the textbook: independent of models/ and analysis/.
struct Body {
  double mass;
  Vec3<double> x, v;
};

inline Particles bodies(const std::vector<Body>& list) {
  Particles p;
  p.resize(static_cast<std::int64_t>(list.size()));
  for (std::size_t i = 0; i < list.size(); ++i) {
    p.mass[i] = list[i].mass;
    p.x[i] = list[i].x.x, p.y[i] = list[i].x.y, p.z[i] = list[i].x.z;
    p.vx[i] = list[i].v.x, p.vy[i] = list[i].v.y, p.vz[i] = list[i].v.z;
  }
  return p;
}

inline Vec3<double> position(const Particles& p, std::size_t i) { return {p.x[i], p.y[i], p.z[i]}; }
inline Vec3<double> velocity(const Particles& p, std::size_t i) { return {p.vx[i], p.vy[i], p.vz[i]}; }
inline double length(const Vec3<double>& v) { return std::sqrt(dot(v, v)); }

inline double total_energy(const Particles& p, double epsilon = 0) {
  double energy = 0;
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    energy += 0.5 * p.mass[i] * dot(velocity(p, i), velocity(p, i));
    for (std::size_t j = 0; j < i; ++j) {
      const auto d = position(p, i) - position(p, j);
      energy -= p.mass[i] * p.mass[j] / std::sqrt(dot(d, d) + epsilon * epsilon);
    }
  }
  return energy;
}

inline Vec3<double> momentum(const Particles& p) {
  Vec3<double> sum{};
  for (std::size_t i = 0; i < p.id.size(); ++i) sum = sum + p.mass[i] * velocity(p, i);
  return sum;
}

inline Vec3<double> angular_momentum(const Particles& p) {
  Vec3<double> sum{};
  for (std::size_t i = 0; i < p.id.size(); ++i) sum = sum + p.mass[i] * cross(position(p, i), velocity(p, i));
  return sum;
}

/// Two bodies of masses 0.75 and 0.25 at apocentre of a relative orbit with semi-major axis 1: period 2π, energy −m₁
/// m₂ / 2.
inline Particles kepler(double eccentricity) {
  const double apocentre = 1 + eccentricity, speed = std::sqrt((1 - eccentricity) / (1 + eccentricity));
  return bodies({{0.75, {0.25 * apocentre, 0, 0}, {0, 0.25 * speed, 0}},
                 {0.25, {-0.75 * apocentre, 0, 0}, {0, -0.75 * speed, 0}}});
}

/// Where the relative orbit of kepler() is after a time t, from Kepler's equation M = E − e sin E.
inline Vec3<double> kepler_separation(double eccentricity, double t) {
  const double mean = std::numbers::pi + t;
  double anomaly = mean;
  for (int i = 0; i < 100; ++i)
    anomaly -= (anomaly - eccentricity * std::sin(anomaly) - mean) / (1 - eccentricity * std::cos(anomaly));
  // kepler() stands at apocentre on the +x side.
  return {-(std::cos(anomaly) - eccentricity), -std::sqrt(1 - eccentricity * eccentricity) * std::sin(anomaly), 0};
}

inline std::unique_ptr<Integrator> integrator(const TimeOptions& time, const Device& device,
                                              Precision precision = Precision::double_, double epsilon = 0) {
  SolverOptions gravity;
  gravity.precision = precision;
  gravity.softening = Softening::same(epsilon);
  return make_integrator(time, gravity, {device, serial_communicator(), nullptr});
}

/// The particles after a whole run from time 0.
inline Particles run(const Particles& particles, double end, const TimeOptions& time, const Device& device,
                     Precision precision = Precision::double_, double epsilon = 0) {
  const auto system = integrator(time, device, precision, epsilon);
  system->start(particles, 0);
  system->finish(end);
  return system->state_at(end);
}

inline TimeOptions hermite(double eta) {
  TimeOptions time;
  time.eta = eta;
  time.eta_start = eta / 4;
  return time;
}

/// Hermite with all steps equal to `step`, a power of two.
inline TimeOptions hermite_fixed(double step) {
  TimeOptions time;
  time.eta = time.eta_start = 1e30;
  time.step_max = step;
  return time;
}

inline TimeOptions leapfrog(double step) {
  TimeOptions time;
  time.integrator = "leapfrog";
  time.step = step;
  return time;
}

}  // namespace pergola

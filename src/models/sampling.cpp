#include "models/sampling.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "device/device.hpp"
#include "models/ordered_sum.hpp"
#include "physics/spheres.hpp"

namespace pergola {

void check_memory(std::int64_t n) {
  constexpr double bytes_each = sizeof(std::uint64_t) + sizeof(std::uint8_t) + 7 * sizeof(double);
  const double needed = static_cast<double>(n) * bytes_each;
  const double free = static_cast<double>(Device::open("cpu", 1).memory().free_bytes());
  if (needed > free)
    throw Error(ErrorKind::device, fmt::format("cpu: {} particles need {} of memory, {} are free", n,
                                               bytes_text(needed), bytes_text(free)));
}

Particles equal_masses(std::int64_t n, double total_mass) {
  check_memory(n);
  Particles particles;
  particles.resize(n);
  particles.mass.assign(static_cast<std::size_t>(n), total_mass / static_cast<double>(n));
  return particles;
}

Vec3<double> random_direction(Philox& random) {
  const double z = 2 * random.uniform() - 1, phi = 2 * std::numbers::pi * random.uniform();
  const double s = std::sqrt((1 - z) * (1 + z));
  return {s * std::cos(phi), s * std::sin(phi), z};
}

double random_normal(Philox& random) {
  const double radius = std::sqrt(-2 * std::log(random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

PhaseSpacePoint draw_plummer_star(Philox& random, double mass_within_cutoff) {
  const double r = physics::plummer_radius(random.uniform() * mass_within_cutoff);
  const Vec3<double> place = random_direction(random);
  double q = 0, height = 0;
  do {
    q = random.uniform();
    height = physics::plummer_speed_weight_bound * random.uniform();
  } while (height > physics::plummer_speed_weight(q));
  return {r * place, (q * physics::plummer_escape_speed(r)) * random_direction(random)};
}

void shift(Particles& particles, const PhaseSpacePoint& by) {
  const auto add = [](std::vector<double>& values, double amount) {
    for (double& value : values) value += amount;
  };
  add(particles.x, by.x.x), add(particles.y, by.x.y), add(particles.z, by.x.z);
  add(particles.vx, by.v.x), add(particles.vy, by.v.y), add(particles.vz, by.v.z);
}

void centre(Particles& particles, int threads) {
  const auto& mass = particles.mass;
  const std::int64_t n = particles.size();
  const double total = ordered_sum(n, threads, [&](std::size_t i) { return mass[i]; });
  for (auto* values : {&particles.x, &particles.y, &particles.z, &particles.vx, &particles.vy, &particles.vz}) {
    auto& q = *values;
    const double mean = ordered_sum(n, threads, [&](std::size_t i) { return mass[i] * q[i]; }) / total;
    parallel_chunks(threads, n, sum_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) q[static_cast<std::size_t>(i)] -= mean;
    });
  }
}

double kinetic_energy(const Particles& p, int threads) {
  return ordered_sum(p.size(), threads, [&](std::size_t i) {
    const Vec3<double> v{p.vx[i], p.vy[i], p.vz[i]};
    return 0.5 * p.mass[i] * dot(v, v);
  });
}

}  // namespace pergola

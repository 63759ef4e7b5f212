#include "models/sampling.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/collectives.hpp"
#include "comm/shares.hpp"
#include "device/device.hpp"
#include "device/parallel.hpp"
#include "physics/spheres.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace pergola {

/// Throws Error(device) before memory is taken: an allocation that is granted and then used may end the process.
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

/// Uniform on the sphere: z is uniform (Archimedes).
Vec3<double> random_direction(Philox& random) {
  const double z = 2 * random.uniform() - 1, phi = 2 * std::numbers::pi * random.uniform();
  const double s = std::sqrt((1 - z) * (1 + z));
  return {s * std::cos(phi), s * std::sin(phi), z};
}

/// Mean 0 and variance 1 (Box & Muller 1958); the second number of the pair is not used.
double random_normal(Philox& random) {
  const double radius = std::sqrt(-2 * std::log(random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

/// Aarseth, Hénon & Wielen 1974: radius by inversion, speed by rejection from q² (1 − q²)^(7/2) of the escape speed.
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

namespace {

std::array<double, 6> numbers_of(const PhaseSpacePoint& p) { return {p.x.x, p.x.y, p.x.z, p.v.x, p.v.y, p.v.z}; }

}  // namespace

Particles make_drawn(const DrawnModel& model, int threads) {
  Particles particles = equal_masses(model.n, model.total_mass);
  draw_particles(particles, model.seed, threads, model.draw);
  if (model.centred) centre(particles, threads);
  return particles;
}

DrawnSource::DrawnSource(DrawnModel model, int threads)
    : model_(std::move(model)),
      threads_(threads),
      mass_(model_.total_mass / static_cast<double>(model_.n)),
      mean_known_(!model_.centred) {}

PhaseSpacePoint DrawnSource::drawn(std::int64_t i) const {
  Philox random(model_.seed, 0, static_cast<std::uint64_t>(i));
  return model_.draw(random);
}

/// The sums of centre(): per chunk, added in the order of the chunks.
void DrawnSource::find_mean(Communicator& ranks) {
  struct Sums {
    double mass = 0;
    std::array<double, 6> weighted{};
  };
  const Shares chunks{(model_.n + sum_chunk - 1) / sum_chunk, ranks.size()};
  const std::int64_t first = chunks.first(ranks.rank()) * sum_chunk;
  const std::int64_t last = std::min(model_.n, chunks.first(ranks.rank() + 1) * sum_chunk);
  std::vector<Sums> own(static_cast<std::size_t>(chunks.count(ranks.rank())));
  parallel_chunks(threads_, last - first, sum_chunk, [&](std::int64_t begin, std::int64_t end) {
    Sums sums;
    for (std::int64_t i = first + begin; i < first + end; ++i) {
      const auto numbers = numbers_of(drawn(i));
      sums.mass += mass_;
      for (std::size_t c = 0; c < numbers.size(); ++c) sums.weighted[c] += mass_ * numbers[c];
    }
    own[static_cast<std::size_t>(begin / sum_chunk)] = sums;
  });
  const std::vector<Sums> partial = gather_on_all(ranks, chunks, own.data());
  Sums total;
  for (const Sums& sums : partial) {
    total.mass += sums.mass;
    for (std::size_t c = 0; c < mean_.size(); ++c) total.weighted[c] += sums.weighted[c];
  }
  for (std::size_t c = 0; c < mean_.size(); ++c) mean_[c] = total.weighted[c] / total.mass;
  mean_known_ = true;
}

/// Draws particles again whenever they are read: nothing is stored but the mean.
void DrawnSource::read(std::int64_t first, std::int64_t n, Particles& to) {
  if (!mean_known_) find_mean(*serial_communicator());
  const auto room = static_cast<std::size_t>(n);
  to.id.resize(room);
  to.species.assign(room, species_halo);
  to.mass.assign(room, mass_);
  to.potential.clear();
  const std::array<std::vector<double>*, 6> columns{&to.x, &to.y, &to.z, &to.vx, &to.vy, &to.vz};
  for (auto* column : columns) column->resize(room);
  parallel_chunks(threads_, n, sum_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      to.id[i] = static_cast<std::uint64_t>(first + i) + 1;
      const auto numbers = numbers_of(drawn(first + i));
      for (std::size_t c = 0; c < numbers.size(); ++c)
        (*columns[c])[i] = model_.centred ? numbers[c] - mean_[c] : numbers[c];
    }
  });
}

}  // namespace pergola

#include "sim/start_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gravity/solver_entry.hpp"

namespace pergola {

void check_shared_step(const RunConfig& config, double start, const char* key, double step) {
  const auto inner = [&](double at) { return std::abs(config.cosmology ? std::log(at) : at); };
  const double largest =
      std::max({inner(start), inner(config.run.end_time), config.length_between(start, config.run.end_time)});
  // Times are doubles, of 53 bits; steps are counted with as many.
  const double least = std::ldexp(largest, -53);
  if (!(step > 0) || step > least) return;
  throw Error(ErrorKind::input,
              fmt::format("{}: {}: expected more than {:.3g}, for shorter steps do not change the time of a run to {}, "
                          "found {}",
                          config.source, key, least, to_text(config.run.end_time), to_text(step)));
}

namespace {

/// Some thousand particles, in stretches that are spread over all.
Particles some_of(ParticleSource& particles) {
  constexpr std::int64_t stretches = 64, most = 4096;
  Particles some, piece;
  const std::int64_t n = particles.count(), parts = n > most ? stretches : 1, each = std::min(n, most) / parts;
  for (std::int64_t k = 0; k < parts; ++k) {
    particles.read(n / parts * k, each, piece);
    some.append(piece);
  }
  return some;
}

/// The value that half of the weight is below.
double median(const std::vector<double>& values, const std::vector<double>& weights) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double below = 0;
  for (const std::size_t k : order)
    if ((below += weights[k]) >= 0.5 * all) return values[k];
  return values.empty() ? 0 : values[order.back()];
}

/// About the medians of the coordinates, which no single particle moves.
double half_mass_radius(const Particles& particles) {
  const std::array<const std::vector<double>*, 3> places{&particles.x, &particles.y, &particles.z};
  std::vector<double> square(particles.x.size(), 0);
  for (const auto* values : places) {
    const double middle = median(*values, particles.mass);
    for (std::size_t k = 0; k < square.size(); ++k) square[k] += ((*values)[k] - middle) * ((*values)[k] - middle);
  }
  return std::sqrt(median(square, particles.mass));
}

}  // namespace

std::string crowded_mesh_remark(const SolverOptions& gravity, ParticleSource& particles) {
  constexpr std::int64_t fewest = 16;  // fewer have no half-mass radius to speak of
  if (!solver_entry(gravity.solver).can.smooths || box_of(gravity).periodic() || particles.count() < fewest) return {};
  const Vec3<double>& side = gravity.mesh.box.side;
  const auto& cells = gravity.mesh.cells;
  const double cell = std::max({side.x / cells[0], side.y / cells[1], side.z / cells[2]});
  const double radius = half_mass_radius(some_of(particles));
  // Pulls of a mesh are too weak within about two cells: then half of the mass hardly pulls itself.
  if (radius >= cell) return {};
  return fmt::format(
      "gravity.mesh.cells: half of the mass lies within {:.3g}, less than a cell of {:.3g}: the mesh does not resolve "
      "it; use more cells, or leave out what is far away and makes the box {:.3g} wide, or gravity.solver = \"tree\"",
      radius, cell, std::max({side.x, side.y, side.z}));
}

}  // namespace pergola

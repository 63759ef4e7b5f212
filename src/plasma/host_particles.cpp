#include "plasma/host_particles.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.hpp"

namespace pergola {

void check_particles(const PlasmaOptions& options, int species, const PlasmaParticles& particles) {
  const std::string& name = options.species[static_cast<std::size_t>(species)].name;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::input, fmt::format("plasma: species {}: {}", name, what));
  };
  const std::size_t count = particles.id.size();
  if (count > UINT32_MAX) refuse(fmt::format("{} particles, expected fewer than 2^32", count));
  const std::vector<double>* const place[] = {&particles.x, &particles.y, &particles.z};
  const std::vector<double>* const velocity[] = {&particles.vx, &particles.vy, &particles.vz};
  for (int a = 0; a < options.dimensions; ++a) {
    if (place[a]->size() != count) refuse(fmt::format("{} places on axis {} for {} ids", place[a]->size(), a, count));
    const int cells = options.cells[static_cast<std::size_t>(a)];
    for (std::size_t i = 0; i < count; ++i)
      if (const double x = (*place[a])[i]; !(x >= 0 && x <= cells))
        refuse(fmt::format("particle id {} is at {} on axis {}, expected 0 to {} cells", particles.id[i], x, a, cells));
  }
  for (int a = 0; a < options.velocities; ++a) {
    if (velocity[a]->size() != count)
      refuse(fmt::format("{} velocities on axis {} for {} ids", velocity[a]->size(), a, count));
    for (std::size_t i = 0; i < count; ++i)
      if (!std::isfinite((*velocity[a])[i]))
        refuse(fmt::format("particle id {} has velocity {}, expected a finite number", particles.id[i],
                           (*velocity[a])[i]));
  }
}

std::vector<std::uint32_t> order_by_id(const std::string& species, const std::vector<std::uint64_t>& id) {
  std::vector<std::uint32_t> order;
  if (std::adjacent_find(id.begin(), id.end(), std::greater_equal<>()) == id.end()) return order;
  order.resize(id.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return id[a] < id[b]; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (id[order[i]] == id[order[i - 1]])
      throw Error(ErrorKind::input,
                  fmt::format("plasma: species {}: two particles have the id {}", species, id[order[i]]));
  return order;
}

}  // namespace pergola

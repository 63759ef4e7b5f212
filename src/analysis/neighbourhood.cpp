#include "analysis/neighbourhood.hpp"
#include "device/parallel.hpp"
#include "device/sort.hpp"
#include "particles/box.hpp"
#include "physics/measures.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

// Particles are sorted by coarse cell, with their positions copied beside each other. A search reads whole cells and
// sorts what it finds by (distance, id), so that sums from the centre outward do not depend on the order of the file.
namespace pergola {

// Half of a periodic box: beyond, a sphere would meet its own image.
double farthest_in(const Box& box) { return box.periodic() ? box.side.x / 2 : std::numeric_limits<double>::infinity(); }

Neighbourhood::Neighbourhood(const AnalysisSnapshot& snapshot, int threads, double filled)
    : snapshot_(snapshot), cells_(snapshot.box, snapshot.particles.size(), filled) {
  constexpr std::int64_t chunk = 16384;
  const Particles& p = snapshot.particles;
  const std::int64_t cells = cells_.count();
  // Not initialised here: all threads touch it first, so that its pages are distributed.
  const auto cell = std::make_unique_for_overwrite<std::uint32_t[]>(
      static_cast<std::size_t>(order_by_key_bytes(p.size())) / sizeof(std::uint32_t));
  begin_.assign(static_cast<std::size_t>(cells) + 1, 0);
  parallel_chunks(threads, p.size(), chunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      cell[i] = static_cast<std::uint32_t>(cells_.cell_of({p.x[i], p.y[i], p.z[i]}));
      std::atomic_ref(begin_[cell[i] + 1]).fetch_add(1, std::memory_order_relaxed);
    }
  });
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  order_ = std::make_unique_for_overwrite<std::uint32_t[]>(p.id.size());
  places_ = std::make_unique_for_overwrite<Vec3<double>[]>(p.id.size());
  order_by_key(threads, p.size(), cells, order_.get(), cell.get());
  parallel_chunks(threads, p.size(), chunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
      places_[k] = {p.x[order_[k]], p.y[order_[k]], p.z[order_[k]]};
  });
}

// reach < 0: the sphere spans so much of the box that all particles are looked at.
SeenFromCenter Neighbourhood::within(const Vec3<double>& center, double radius) const {
  struct Near {
    double radius;
    std::uint32_t place;
  };
  std::vector<Near> near;
  const auto look = [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Vec3<double> d = separation(center, places_[k], snapshot_.box);
      const double distance = std::sqrt(dot(d, d));
      if (distance <= radius) near.push_back({distance, order_[k]});
    }
  };
  const std::int64_t reach = cells_.reach(radius);
  if (reach < 0) {
    look(0, snapshot_.particles.id.size());
  } else {
    const Vec3<double>& corner = snapshot_.box.corner;
    const std::int64_t at[3] = {cells_.place(center.x, corner.x), cells_.place(center.y, corner.y),
                                cells_.place(center.z, corner.z)};
    for (std::int64_t z = -reach; z <= reach; ++z)
      for (std::int64_t y = -reach; y <= reach; ++y)
        for (std::int64_t x = -reach; x <= reach; ++x) {
          const auto cell = static_cast<std::size_t>(
              cells_.index(cells_.around(at[0] + x), cells_.around(at[1] + y), cells_.around(at[2] + z)));
          look(begin_[cell], begin_[cell + 1]);
        }
  }
  const auto& id = snapshot_.particles.id;
  std::sort(near.begin(), near.end(), [&id](const Near& a, const Near& b) {
    return a.radius != b.radius ? a.radius < b.radius : id[a.place] < id[b.place];
  });
  SeenFromCenter seen;
  seen.order.reserve(near.size()), seen.radius.reserve(near.size());
  for (const Near& one : near) seen.order.push_back(one.place), seen.radius.push_back(one.radius);
  return seen;
}

Overdensity overdensity_of(const SphereMass& sphere, double density) {
  return {sphere, std::cbrt(sphere.mass / (density * physics::shell_volume(0.0, 1.0)))};
}

// The last particle from the centre outward within which the mean density is still as high; at least least_in_sphere
// particles are tried.
Overdensity overdensity_in(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, double density) {
  SphereMass sphere;
  double mass = 0;
  for (std::size_t k = 0; k < seen.order.size(); ++k) {
    mass += snapshot.particles.mass[seen.order[k]];
    const auto particles = static_cast<std::int64_t>(k) + 1;
    if (is_as_dense(mass, seen.radius[k], density))
      sphere = {mass, particles};
    else if (particles >= least_in_sphere)
      break;
  }
  return overdensity_of(sphere, density);
}

Vec3<double> velocity_of(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, const SphereMass& sphere) {
  Vec3<double> momentum{0, 0, 0};
  for (std::size_t k = 0; k < static_cast<std::size_t>(sphere.particles); ++k) {
    const std::size_t i = seen.order[k];
    momentum = momentum + snapshot.particles.mass[i] * velocity_from(snapshot, i, {0, 0, 0});
  }
  return (1 / sphere.mass) * momentum;
}

// The first radius is 1.2 times that of a sphere with the group's mass at the wanted density.
DensitySearch::DensitySearch(double mass, double density, double farthest)
    : radius_(1.2 * std::cbrt(mass / (density * physics::shell_volume(0.0, 1.0)))),
      density_(density),
      farthest_(farthest) {}

double seen_mass(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen) {
  double mass = 0;
  for (const std::size_t i : seen.order) mass += snapshot.particles.mass[i];
  return mass;
}

// The sphere is large enough once its mean density is below the wanted one.
bool DensitySearch::is_enough(double mass) {
  // A group without mass has no sphere.
  if (!(radius_ > 0) || radius_ >= farthest_ || !is_as_dense(mass, radius_, density_)) return true;
  radius_ *= 1.5;
  return false;
}

SeenFromCenter seen_to_density(const Neighbourhood& all, const Vec3<double>& center, double mass, double density) {
  for (DensitySearch search(mass, density, all.farthest());;) {
    SeenFromCenter seen = all.within(center, search.radius());
    if (search.is_enough(seen_mass(all.snapshot(), seen))) return seen;
  }
}

}  // namespace pergola

#include "analysis/neighbourhood.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "device/parallel.hpp"
#include "device/sort.hpp"
#include "particles/separation.hpp"
#include "physics/profiles.hpp"

namespace pergola {

Neighbourhood::Neighbourhood(const AnalysisSnapshot& snapshot, int threads, double filled) : snapshot_(snapshot) {
  constexpr std::int64_t chunk = 16384;
  const Particles& p = snapshot.particles;
  if (snapshot.box.periodic())
    side_ = std::clamp(static_cast<std::int64_t>(std::cbrt(static_cast<double>(p.size()) / (8 * filled))),
                       std::int64_t{1}, std::int64_t{256});
  const std::int64_t cells = side_ * side_ * side_;
  // Memory that all threads touch first, for there is much of it.
  const auto cell = std::make_unique_for_overwrite<std::uint32_t[]>(
      static_cast<std::size_t>(order_by_key_bytes(p.size())) / sizeof(std::uint32_t));
  begin_.assign(static_cast<std::size_t>(cells) + 1, 0);
  const Vec3<double>& corner = snapshot.box.corner;
  parallel_chunks(threads, p.size(), chunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      cell[i] =
          static_cast<std::uint32_t>(index(place(p.x[i], corner.x), place(p.y[i], corner.y), place(p.z[i], corner.z)));
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

double Neighbourhood::farthest() const {
  return snapshot_.box.periodic() ? snapshot_.box.side.x / 2 : std::numeric_limits<double>::infinity();
}

std::int64_t Neighbourhood::place(double x, double low) const {
  if (side_ == 1) return 0;
  const double from_corner = wrap(x, low, snapshot_.box.side.x) - low;
  return std::min(static_cast<std::int64_t>(from_corner / cell_side()), side_ - 1);
}

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
  if (side_ == 1 || 2 * std::ceil(radius / cell_side()) + 1 >= static_cast<double>(side_)) {
    look(0, snapshot_.particles.id.size());
  } else {
    const auto reach = static_cast<std::int64_t>(std::ceil(radius / cell_side()));
    const Vec3<double>& corner = snapshot_.box.corner;
    const std::int64_t at[3] = {place(center.x, corner.x), place(center.y, corner.y), place(center.z, corner.z)};
    for (std::int64_t z = -reach; z <= reach; ++z)
      for (std::int64_t y = -reach; y <= reach; ++y)
        for (std::int64_t x = -reach; x <= reach; ++x) {
          const std::size_t cell = index(around(at[0] + x), around(at[1] + y), around(at[2] + z));
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

Overdensity overdensity_in(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, double density) {
  Overdensity sphere;
  double mass = 0;
  for (std::size_t k = 0; k < seen.order.size(); ++k) {
    mass += snapshot.particles.mass[seen.order[k]];
    if (mass >= density * physics::shell_volume(0.0, seen.radius[k]))
      sphere = {mass, std::cbrt(mass / (density * physics::shell_volume(0.0, 1.0))), k + 1};
    else if (k + 1 >= least_in_sphere)
      break;
  }
  return sphere;
}

Vec3<double> velocity_of(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, const Overdensity& sphere) {
  Vec3<double> momentum{0, 0, 0};
  for (std::size_t k = 0; k < sphere.particles; ++k) {
    const std::size_t i = seen.order[k];
    momentum = momentum + snapshot.particles.mass[i] * velocity_from(snapshot, i, {0, 0, 0});
  }
  return (1 / sphere.mass) * momentum;
}

DensitySearch::DensitySearch(double mass, double density, double farthest)
    : radius_(1.2 * std::cbrt(mass / (density * physics::shell_volume(0.0, 1.0)))),
      density_(density),
      farthest_(farthest) {}

bool DensitySearch::is_enough(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen) {
  double within = 0;
  for (const std::size_t i : seen.order) within += snapshot.particles.mass[i];
  // Nothing grows from a group without mass.
  if (!(radius_ > 0) || radius_ >= farthest_ || within < density_ * physics::shell_volume(0.0, radius_)) return true;
  radius_ *= 1.5;
  return false;
}

SeenFromCenter seen_to_density(const Neighbourhood& all, const Vec3<double>& center, double mass, double density) {
  for (DensitySearch search(mass, density, all.farthest());;) {
    SeenFromCenter seen = all.within(center, search.radius());
    if (search.is_enough(all.snapshot(), seen)) return seen;
  }
}

}  // namespace pergola

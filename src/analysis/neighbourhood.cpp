#include "analysis/neighbourhood.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "particles/separation.hpp"
#include "physics/profiles.hpp"

namespace pergola {

Neighbourhood::Neighbourhood(const AnalysisSnapshot& snapshot) : snapshot_(snapshot) {
  const Particles& p = snapshot.particles;
  if (snapshot.box.periodic())
    side_ = std::clamp(static_cast<std::int64_t>(std::cbrt(static_cast<double>(p.size()) / 8)), std::int64_t{1},
                       std::int64_t{256});
  begin_.assign(static_cast<std::size_t>(side_ * side_ * side_) + 1, 0);
  std::vector<std::size_t> cell(p.id.size());
  const Vec3<double>& corner = snapshot.box.corner;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    cell[i] = index(place(p.x[i], corner.x), place(p.y[i], corner.y), place(p.z[i], corner.z));
    ++begin_[cell[i] + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  order_.resize(cell.size());
  auto next = begin_;
  for (std::size_t i = 0; i < cell.size(); ++i) order_[next[cell[i]]++] = i;
}

double Neighbourhood::farthest() const {
  return snapshot_.box.periodic() ? snapshot_.box.side.x / 2 : std::numeric_limits<double>::infinity();
}

std::int64_t Neighbourhood::place(double x, double low) const {
  if (side_ == 1) return 0;
  const double from_corner = wrap(x, low, snapshot_.box.side.x) - low;
  return std::min(static_cast<std::int64_t>(from_corner / cell_side()), side_ - 1);
}

std::vector<std::size_t> Neighbourhood::candidates(const Vec3<double>& center, double radius) const {
  if (side_ == 1 || 2 * std::ceil(radius / cell_side()) + 1 >= static_cast<double>(side_)) return order_;
  const auto reach = static_cast<std::int64_t>(std::ceil(radius / cell_side()));
  const Vec3<double>& corner = snapshot_.box.corner;
  const std::int64_t at[3] = {place(center.x, corner.x), place(center.y, corner.y), place(center.z, corner.z)};
  std::vector<std::size_t> found;
  for (std::int64_t z = -reach; z <= reach; ++z)
    for (std::int64_t y = -reach; y <= reach; ++y)
      for (std::int64_t x = -reach; x <= reach; ++x) {
        const std::size_t cell = index(around(at[0] + x), around(at[1] + y), around(at[2] + z));
        for (std::size_t k = begin_[cell]; k < begin_[cell + 1]; ++k) found.push_back(order_[k]);
      }
  return found;
}

SeenFromCenter Neighbourhood::within(const Vec3<double>& center, double radius) const {
  struct Near {
    double radius;
    std::uint64_t id;
    std::size_t place;
  };
  std::vector<Near> near;
  for (const std::size_t i : candidates(center, radius)) {
    const Vec3<double> d = place_from(snapshot_, i, center);
    const double distance = std::sqrt(dot(d, d));
    if (distance <= radius) near.push_back({distance, snapshot_.particles.id[i], i});
  }
  std::sort(near.begin(), near.end(),
            [](const Near& a, const Near& b) { return a.radius != b.radius ? a.radius < b.radius : a.id < b.id; });
  SeenFromCenter seen;
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

SeenFromCenter seen_to_density(const Neighbourhood& all, const Vec3<double>& center, double mass, double density) {
  const Particles& p = all.snapshot().particles;
  double radius = 1.5 * std::cbrt(mass / (density * physics::shell_volume(0.0, 1.0)));
  for (;; radius *= 1.5) {
    const bool all_there_is = radius >= all.farthest();
    SeenFromCenter seen = all.within(center, std::min(radius, all.farthest()));
    double within = 0;
    for (const std::size_t i : seen.order) within += p.mass[i];
    if (all_there_is || within < density * physics::shell_volume(0.0, radius)) return seen;
  }
}

}  // namespace pergola

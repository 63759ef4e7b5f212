#include "analysis/group_properties.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/centers.hpp"
#include "particles/separation.hpp"
#include "physics/profiles.hpp"

namespace pergola {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr double overdensity = 200;

/// All particles in coarse cells, to find those near a place.
class Neighbourhood {
 public:
  explicit Neighbourhood(const AnalysisSnapshot& snapshot) : snapshot_(snapshot) {
    const auto count = static_cast<double>(snapshot.particles.size());
    side_ = std::clamp(static_cast<std::int64_t>(std::cbrt(count / 8)), std::int64_t{1}, std::int64_t{256});
    const auto cells = static_cast<std::size_t>(side_ * side_ * side_);
    begin_.assign(cells + 1, 0);
    std::vector<std::size_t> cell(snapshot.particles.id.size());
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const Particles& p = snapshot.particles;
      cell[i] = index(place(p.x[i], 0), place(p.y[i], 1), place(p.z[i], 2));
      ++begin_[cell[i] + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    order_.resize(cell.size());
    auto next = begin_;
    for (std::size_t i = 0; i < cell.size(); ++i) order_[next[cell[i]]++] = i;
  }

  /// Distances and masses of the particles within `radius`, which is at most half the box.
  std::vector<std::pair<double, double>> within(const Vec3<double>& center, double radius) const {
    std::vector<std::pair<double, double>> found;
    const auto reach = static_cast<std::int64_t>(std::ceil(radius / cell_side()));
    if (2 * reach + 1 >= side_) {
      for (const std::size_t i : order_) add(i, center, radius, found);
      return found;
    }
    const std::int64_t at[3] = {place(center.x, 0), place(center.y, 1), place(center.z, 2)};
    for (std::int64_t z = -reach; z <= reach; ++z)
      for (std::int64_t y = -reach; y <= reach; ++y)
        for (std::int64_t x = -reach; x <= reach; ++x) {
          const std::size_t cell = index(around(at[0] + x), around(at[1] + y), around(at[2] + z));
          for (std::size_t k = begin_[cell]; k < begin_[cell + 1]; ++k) add(order_[k], center, radius, found);
        }
    return found;
  }

 private:
  double cell_side() const { return snapshot_.box.side.x / static_cast<double>(side_); }
  std::int64_t around(std::int64_t k) const { return ((k % side_) + side_) % side_; }
  std::size_t index(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return static_cast<std::size_t>((z * side_ + y) * side_ + x);
  }
  std::int64_t place(double x, int axis) const {
    const Vec3<double>& corner = snapshot_.box.corner;
    const double low = axis == 0 ? corner.x : axis == 1 ? corner.y : corner.z, side = snapshot_.box.side.x;
    return std::min(static_cast<std::int64_t>((wrap(x, low, side) - low) / cell_side()), side_ - 1);
  }
  void add(std::size_t i, const Vec3<double>& center, double radius, std::vector<std::pair<double, double>>& to) const {
    const Vec3<double> d = place_from(snapshot_, i, center);
    const double distance = std::sqrt(dot(d, d));
    if (distance <= radius) to.emplace_back(distance, snapshot_.particles.mass[i]);
  }

  const AnalysisSnapshot& snapshot_;
  std::int64_t side_ = 1;
  std::vector<std::size_t> begin_, order_;
};

Overdensity sphere_of(const Neighbourhood& all, const AnalysisSnapshot& snapshot, const Vec3<double>& center,
                      double mass, double density) {
  const double most = snapshot.box.side.x / 2;
  // A sphere of the group's own mass at that density, and larger ones until the density at the edge is lower.
  double radius = 1.5 * std::cbrt(mass / (density * physics::shell_volume(0.0, 1.0)));
  for (;;) {
    radius = std::min(radius, most);
    auto found = all.within(center, radius);
    std::sort(found.begin(), found.end());
    double sum = 0;
    Overdensity sphere;
    bool below = false;  // from here on to the edge
    for (const auto& [distance, m] : found) {
      sum += m;
      below = sum < density * physics::shell_volume(0.0, distance);
      if (!below) sphere = {sum, std::cbrt(sum / (density * physics::shell_volume(0.0, 1.0)))};
    }
    below = sum < density * physics::shell_volume(0.0, radius);
    if (below || radius >= most) return {sphere.mass, sphere.radius};
    radius *= 1.5;
  }
}

/// The members about the first of them, so that a group at the edge of a periodic box is whole.
AnalysisSnapshot members_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group) {
  const Particles& p = snapshot.particles;
  AnalysisSnapshot part;
  part.name = snapshot.name;
  part.gravitational_constant = snapshot.gravitational_constant;
  part.particles.resize(static_cast<std::int64_t>(group.size()));
  Particles& to = part.particles;
  const Vec3<double> first{p.x[group[0]], p.y[group[0]], p.z[group[0]]};
  for (std::size_t k = 0; k < group.size(); ++k) {
    const std::size_t i = group[k];
    const Vec3<double> d = place_from(snapshot, i, first);
    to.id[k] = p.id[i], to.mass[k] = p.mass[i];
    to.x[k] = d.x, to.y[k] = d.y, to.z[k] = d.z;
    to.vx[k] = p.vx[i], to.vy[k] = p.vy[i], to.vz[k] = p.vz[i];
  }
  return part;
}

/// The place of the member with the lowest potential of the others; a softening of a hundredth of the group's size
/// keeps one close pair from being the centre.
Vec3<double> deepest(const AnalysisSnapshot& members, const Device& device) {
  const Particles& p = members.particles;
  double size = 0;
  for (std::size_t i = 0; i < p.id.size(); ++i) size = std::max(size, std::hypot(p.x[i], p.y[i], p.z[i]));
  if (!(size > 0)) return {0, 0, 0};
  const auto potential = potentials_in(members, 0.01 * size, device);
  const auto best = static_cast<std::size_t>(std::min_element(potential.begin(), potential.end()) - potential.begin());
  return {p.x[best], p.y[best], p.z[best]};
}

GroupProperties properties_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group,
                              const Device& device) {
  const AnalysisSnapshot members = members_of(snapshot, group);
  const Particles& p = members.particles;
  GroupProperties found;
  found.particles = p.size();
  Vec3<double> momentum{0, 0, 0};
  double square = 0;
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const Vec3<double> v{p.vx[i], p.vy[i], p.vz[i]};
    found.mass += p.mass[i];
    momentum = momentum + p.mass[i] * v;
    square += p.mass[i] * dot(v, v);
  }
  if (found.mass > 0) {
    found.velocity = (1 / found.mass) * momentum;
    found.dispersion = std::sqrt(std::max(0.0, square / found.mass - dot(found.velocity, found.velocity)) / 3);
  }
  const Particles& all = snapshot.particles;
  found.center = Vec3<double>{all.x[group[0]], all.y[group[0]], all.z[group[0]]} + deepest(members, device);
  if (snapshot.box.periodic()) found.center = wrap(found.center, snapshot.box);
  return found;
}

}  // namespace

std::vector<GroupProperties> group_properties(const AnalysisSnapshot& snapshot, const FriendGroups& groups,
                                              const Device& device) {
  std::vector<GroupProperties> all;
  const auto& masses = snapshot.particles.mass;
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  for (const auto& group : groups.groups) {
    all.push_back(properties_of(snapshot, group, device));
    all.back().m200m = all.back().r200m = all.back().m200c = all.back().r200c = none;
  }
  if (!snapshot.box.periodic() || !(total > 0)) return all;
  const double mean = total / snapshot.box.volume();
  const Neighbourhood neighbourhood(snapshot);
  for (GroupProperties& group : all) {
    const auto about = [&](double density) {
      return sphere_of(neighbourhood, snapshot, group.center, group.mass, density);
    };
    const Overdensity of_mean = about(overdensity * mean);
    group.m200m = of_mean.mass, group.r200m = of_mean.radius;
    if (!snapshot.matter_part) continue;
    const Overdensity critical = about(overdensity * mean / *snapshot.matter_part);
    group.m200c = critical.mass, group.r200c = critical.radius;
  }
  return all;
}

}  // namespace pergola

#include "analysis/hierarchy.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pergola {

namespace {

constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();
constexpr double unbound = std::numeric_limits<double>::infinity();

struct Body {
  std::string name;
  std::uint64_t lowest_id = 0;
  int level = 0;
  double mass = 0;
  Vec3<double> x, v;
  std::size_t partner = nobody;  // with the smallest semi-major axis
  double axis = unbound;
};

class Hierarchy {
 public:
  Hierarchy(const Particles& p, double g, bool crowded) : g_(g), crowded_(crowded) {
    for (std::size_t i = 0; i < p.id.size(); ++i)
      bodies_.push_back(
          {std::to_string(p.id[i]), p.id[i], 0, p.mass[i], {p.x[i], p.y[i], p.z[i]}, {p.vx[i], p.vy[i], p.vz[i]}});
    std::sort(bodies_.begin(), bodies_.end(), [](const Body& a, const Body& b) { return a.lowest_id < b.lowest_id; });
    for (std::size_t i = 0; i < bodies_.size(); ++i) find_partner(i);
  }

  std::vector<BoundPair> pairs() {
    std::vector<BoundPair> found;
    for (;;) {
      std::size_t best = nobody;
      for (std::size_t i = 0; i < bodies_.size(); ++i)
        if (is_pair(i) && (best == nobody || bodies_[i].axis < bodies_[best].axis)) best = i;
      if (best == nobody) return found;
      found.push_back(join(best, bodies_[best].partner));
    }
  }

 private:
  double axis_of(const Body& a, const Body& b) const {
    const double mu = g_ * (a.mass + b.mass);
    const Vec3<double> r = b.x - a.x, v = b.v - a.v;
    const double r2 = dot(r, r);
    if (!(mu > 0) || !(r2 > 0)) return unbound;
    const double inverse = 2 / std::sqrt(r2) - dot(v, v) / mu;  // vis-viva, without the elements that are not needed
    return inverse > 0 ? 1 / inverse : unbound;
  }

  void find_partner(std::size_t i) {
    Body& body = bodies_[i];
    body.partner = nobody, body.axis = unbound;
    for (std::size_t j = 0; j < bodies_.size(); ++j) {
      if (j == i) continue;
      const double axis = axis_of(body, bodies_[j]);
      if (axis < body.axis) body.axis = axis, body.partner = j;
    }
  }

  /// Each is the other's partner, and in a crowd they are by themselves.
  bool is_pair(std::size_t i) const {
    const std::size_t j = bodies_[i].partner;
    if (j == nobody || j < i || bodies_[j].partner != i) return false;
    return !crowded_ || alone(i, j);
  }

  bool alone(std::size_t i, std::size_t j) const {
    const Body &a = bodies_[i], &b = bodies_[j];
    const double mass = a.mass + b.mass;
    const auto orbit = physics::orbit_elements(b.x - a.x, b.v - a.v, g_ * mass);
    const double reach = orbit.semi_major_axis * (1 + orbit.eccentricity);
    const Vec3<double> center = (1 / mass) * (a.mass * a.x + b.mass * b.x);
    for (std::size_t k = 0; k < bodies_.size(); ++k) {
      const Vec3<double> d = bodies_[k].x - center;
      if (k != i && k != j && dot(d, d) < reach * reach) return false;
    }
    return true;
  }

  BoundPair join(std::size_t i, std::size_t j) {
    if (bodies_[j].mass > bodies_[i].mass) std::swap(i, j);  // of equal ones i has the lower id
    const Body a = bodies_[i], b = bodies_[j];
    const Vec3<double> r = b.x - a.x, v = b.v - a.v;
    const double mass = a.mass + b.mass, mu = g_ * mass;
    BoundPair pair{a.name,
                   b.name,
                   1 + std::max(a.level, b.level),
                   a.mass,
                   b.mass,
                   std::sqrt(dot(r, r)),
                   physics::pair_binding_energy(r, v, a.mass, b.mass, g_),
                   physics::orbit_elements(r, v, mu),
                   physics::orbit_angles(r, v, mu)};
    const std::size_t keep = std::min(i, j), drop = std::max(i, j);
    bodies_[keep] = {
        fmt::format("({}+{})", a.name, b.name),     std::min(a.lowest_id, b.lowest_id),        pair.level, mass,
        (1 / mass) * (a.mass * a.x + b.mass * b.x), (1 / mass) * (a.mass * a.v + b.mass * b.v)};
    bodies_.erase(bodies_.begin() + static_cast<std::ptrdiff_t>(drop));
    renew(keep, drop);
    return pair;
  }

  /// After a join: whose partner is gone looks for another one, and all look at the new body.
  void renew(std::size_t keep, std::size_t drop) {
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      Body& body = bodies_[i];
      if (i == keep || body.partner == keep || body.partner == drop) {
        find_partner(i);
        continue;
      }
      if (body.partner != nobody && body.partner > drop) --body.partner;
      if (const double axis = axis_of(body, bodies_[keep]); axis < body.axis) body.axis = axis, body.partner = keep;
    }
  }

  double g_;
  bool crowded_;
  std::vector<Body> bodies_;  // by lowest id
};

}  // namespace

std::vector<BoundPair> bound_hierarchy(const Particles& particles, double gravitational_constant, std::int64_t few) {
  return Hierarchy(particles, gravitational_constant, particles.size() > few).pairs();
}

}  // namespace pergola

#include "analysis/rotation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/exponential_disc.hpp"
#include "physics/measures.hpp"

namespace pergola {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct RingSums {
  std::int64_t count = 0;
  double mass = 0, speed2 = 0;
  double first[3] = {}, second[3] = {};

  double mean(int k) const { return first[k] / mass; }
  double sigma(int k) const {
    return count > 1 ? std::sqrt(std::max(0.0, second[k] / mass - mean(k) * mean(k))) : none;
  }
};

/// The slope of v² between the neighbours of a ring that have particles.
double slope_at(const std::vector<DiscRing>& rings, std::size_t k) {
  const auto middle = [&](std::size_t i) { return (rings[i].inner + rings[i].outer) / 2; };
  const auto speed2 = [&](std::size_t i) { return rings[i].circular_speed * rings[i].circular_speed; };
  const std::size_t before = k > 0 ? k - 1 : k, after = k + 1 < rings.size() ? k + 1 : k;
  return after > before ? (speed2(after) - speed2(before)) / (middle(after) - middle(before)) : none;
}

}  // namespace

std::vector<DiscRing> disc_rings(const AnalysisSnapshot& snapshot, const DiscFrame& frame,
                                 const std::vector<Vec3<double>>& pull, double low, double high, std::int64_t bins) {
  std::vector<DiscRing> rings;
  std::size_t next = 0;
  while (next < frame.radius.size() && frame.radius[next] < low) ++next;
  for (std::int64_t b = 0; b < bins; ++b) {
    const double width = (high - low) / static_cast<double>(bins);
    DiscRing ring;
    ring.inner = low + width * static_cast<double>(b);
    ring.outer = b + 1 == bins ? high : low + width * static_cast<double>(b + 1);
    RingSums sums;
    for (; next < frame.radius.size() && frame.radius[next] <= ring.outer; ++next) {
      const std::size_t i = frame.order[next];
      const double m = snapshot.particles.mass[i];
      const double v[3] = {frame.v_radial[next], frame.v_azimuthal[next], frame.v_vertical[next]};
      ++sums.count;
      sums.mass += m;
      sums.speed2 += m * -frame.radial_part(next, pull[i]) * frame.radius[next];
      for (int k = 0; k < 3; ++k) sums.first[k] += m * v[k], sums.second[k] += m * v[k] * v[k];
    }
    const bool some = sums.mass > 0;
    ring.particles = sums.count;
    ring.surface_density = sums.mass / physics::ring_area(ring.inner, ring.outer);
    ring.rotation = some ? sums.mean(1) : none;
    ring.circular_speed = some && sums.speed2 >= 0 ? std::sqrt(sums.speed2 / sums.mass) : none;
    ring.sigma_radial = some ? sums.sigma(0) : none;
    ring.sigma_azimuthal = some ? sums.sigma(1) : none;
    ring.sigma_vertical = some ? sums.sigma(2) : none;
    rings.push_back(ring);
  }
  for (std::size_t k = 0; k < rings.size(); ++k) {
    DiscRing& ring = rings[k];
    const double speed2 = ring.circular_speed * ring.circular_speed;
    ring.kappa = std::sqrt(physics::epicyclic_frequency2((ring.inner + ring.outer) / 2, speed2, slope_at(rings, k)));
    ring.toomre_q =
        physics::toomre_q(ring.sigma_radial, ring.kappa, snapshot.gravitational_constant * ring.surface_density);
  }
  return rings;
}

}  // namespace pergola

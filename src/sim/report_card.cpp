#include "sim/report_card.hpp"

#include <cmath>
#include <limits>
#include <unordered_map>

#include "analysis/radii.hpp"
#include "physics/separation.hpp"

namespace pergola {

namespace {

double length(const Vec3<double>& v) { return std::sqrt(dot(v, v)); }

double measure(const std::string& name, const RunEnds& ends) {
  if (name == "energy_error") return ends.energy_error.value_or(relative_energy_error(ends.end, ends.start));
  if (name == "energy") return ends.end.total();
  if (name == "virial_ratio") return ends.end.virial_ratio();
  if (name == "momentum") return length(ends.end.momentum - ends.start.momentum);
  if (name == "angular_momentum") return length(ends.end.angular_momentum - ends.start.angular_momentum);
  if (name == "half_mass_radius") return lagrangian_radii(*ends.particles, mass_center(*ends.particles), {0.5})[0];
  if (name == "return_distance" && ends.starting_particles)
    return return_distance(*ends.starting_particles, *ends.particles);
  return ends.watched ? ends.watched(name) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<Check> report_card(const std::vector<Expectation>& expectations, const RunEnds& ends) {
  std::vector<Check> checks;
  for (const auto& expectation : expectations) {
    Check check{expectation.name, measure(expectation.name, ends), expectation.expected, expectation.tolerance, false};
    check.passed = std::abs(check.measured - check.expected) <= check.tolerance;
    checks.push_back(check);
  }
  return checks;
}

double return_distance(const Particles& before, const Particles& after) {
  std::unordered_map<std::uint64_t, std::size_t> place;
  for (std::size_t i = 0; i < before.id.size(); ++i) place[before.id[i]] = i;
  double sum = 0;
  for (std::size_t k = 0; k < after.id.size(); ++k) {
    const std::size_t i = place.at(after.id[k]);
    const auto d =
        physics::separation<double>({before.x[i], before.y[i], before.z[i]}, {after.x[k], after.y[k], after.z[k]});
    sum += dot(d, d);
  }
  return std::sqrt(sum / static_cast<double>(after.id.size()));
}

}  // namespace pergola

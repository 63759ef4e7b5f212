#include "analysis/group_centers.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/centers.hpp"
#include "gravity/solver.hpp"

namespace pergola {

namespace {

/// Rough potentials of a tree err by less than this part of the lowest.
constexpr double tree_doubt = 1e-3;

Vec3<double> first_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group) {
  const Particles& p = snapshot.particles;
  return {p.x[group[0]], p.y[group[0]], p.z[group[0]]};
}

/// The members about the first of them, so that a group at the edge of a periodic box is whole.
AnalysisSnapshot members_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group) {
  const Particles& p = snapshot.particles;
  AnalysisSnapshot part;
  part.name = snapshot.name;
  part.gravitational_constant = snapshot.gravitational_constant;
  part.particles.resize(static_cast<std::int64_t>(group.size()));
  Particles& to = part.particles;
  for (std::size_t k = 0; k < group.size(); ++k) {
    const std::size_t i = group[k];
    const Vec3<double> d = place_from(snapshot, i, first_of(snapshot, group));
    to.id[k] = p.id[i], to.mass[k] = p.mass[i];
    to.x[k] = d.x, to.y[k] = d.y, to.z[k] = d.z;
    to.vx[k] = p.vx[i], to.vy[k] = p.vy[i], to.vz[k] = p.vz[i];
  }
  return part;
}

/// The size of a group is how far a member is from the first of it.
double softening_of(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group) {
  double size2 = 0;
  for (const std::size_t i : group) {
    const Vec3<double> place = place_from(snapshot, i, first_of(snapshot, group));
    size2 = std::max(size2, dot(place, place));
  }
  return softening_in_sizes * std::sqrt(size2);
}

/// The member with the lowest potential of the others, the first of equal ones.
std::size_t lowest_by_pairs(const AnalysisSnapshot& members, double softening, const std::vector<std::int64_t>& among,
                            const Device& device) {
  SolverOptions options;
  options.softening = Softening::same(softening);
  options.precision = Precision::double_;
  const Device cpu = device.is_cuda() ? Device::open("cpu", device.threads()) : device;
  const auto potential =
      evaluate_forces(*make_solver(options, cpu), cpu, members.particles, want_potential, among).potential;
  const auto lowest = std::min_element(potential.begin(), potential.end()) - potential.begin();
  return static_cast<std::size_t>(among[static_cast<std::size_t>(lowest)]);
}

/// Those whose potentials, of which all are known roughly, may be the lowest.
std::vector<std::int64_t> perhaps_lowest(const std::vector<double>& potential) {
  const double lowest = std::min(0.0, *std::min_element(potential.begin(), potential.end()));
  std::vector<std::int64_t> among;
  for (std::size_t k = 0; k < potential.size() && lowest < 0; ++k)
    if (potential[k] <= (1 - tree_doubt) * lowest) among.push_back(static_cast<std::int64_t>(k));
  return among;
}

}  // namespace

std::size_t deepest_member(const AnalysisSnapshot& snapshot, const std::vector<std::size_t>& group,
                           const Device& device) {
  const double softening = softening_of(snapshot, group);
  if (!(softening > 0)) return 0;
  const AnalysisSnapshot members = members_of(snapshot, group);
  const auto potential = potentials_in(members, softening, device, most_for_pairs_in_group);
  if (members.particles.size() <= most_for_pairs_in_group)
    return static_cast<std::size_t>(std::min_element(potential.begin(), potential.end()) - potential.begin());
  const auto among = perhaps_lowest(potential);
  return among.empty() ? 0 : lowest_by_pairs(members, softening, among, device);
}

}  // namespace pergola

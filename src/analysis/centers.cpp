#include "analysis/centers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/radii.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/gather.hpp"
#include "gravity/solver.hpp"
#include "particles/separation.hpp"

namespace pergola {

namespace {

Vec3<double> given_place(const std::string& text) {
  const auto place = parse_place(text);
  if (!place)
    throw Error(ErrorKind::input, fmt::format("--center: expected density, potential, mass or three numbers such as "
                                              "0,0,0.5, found \"{}\"",
                                              text));
  return *place;
}

Vec3<double> lowest_potential(const AnalysisSnapshot& snapshot, double softening, const Device& device) {
  const Particles& p = snapshot.particles;
  const auto potential = potentials_in(snapshot, softening, device);
  std::size_t best = 0;
  for (std::size_t i = 1; i < potential.size(); ++i)
    if (potential[i] < potential[best] || (potential[i] == potential[best] && p.id[i] < p.id[best])) best = i;
  return {p.x[best], p.y[best], p.z[best]};
}

void keep(Particles& p, const std::vector<std::size_t>& places) {
  const auto take = [&](auto& list) {
    for (std::size_t k = 0; k < places.size(); ++k) list[k] = list[places[k]];
    list.resize(places.size());
  };
  take(p.id), take(p.species), take(p.mass);
  take(p.x), take(p.y), take(p.z), take(p.vx), take(p.vy), take(p.vz);
  if (!p.potential.empty()) take(p.potential);
}

}  // namespace

Vec3<double> place_of_center(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, Communicator& ranks) {
  if (options.center != "density" && options.center != "mass") return given_place(options.center);
  if (snapshot.box.periodic())
    throw Error(ErrorKind::input, fmt::format("{}: is a periodic box (BoxSize {}), which has no centre of {}; expected "
                                              "--center potential or --center X,Y,Z",
                                              snapshot.name, to_text(snapshot.box.side.x), options.center));
  return options.center == "mass" ? mass_center(snapshot.particles, ranks) : density_center(snapshot.particles, ranks);
}

Vec3<double> mean_velocity(const AnalysisSnapshot& snapshot, const SeenFromCenter& seen, std::int64_t count,
                           double mass, Communicator& ranks) {
  struct Sums {
    Vec3<double> velocity{0, 0, 0};
    double mass = 0;
  };
  const Particles& p = snapshot.particles;
  const bool equal_weights = !(mass > 0);
  const double half = (equal_weights ? static_cast<double>(count) : mass) / 2;
  const Sums sums = add_in_turn(ranks, Sums(), [&](Sums& to) {
    for (std::size_t k = 0; k < seen.order.size() && to.mass < half; ++k) {
      const std::size_t i = seen.order[k];
      const double weight = equal_weights ? 1 : p.mass[i];
      to.velocity = to.velocity + weight * Vec3<double>{p.vx[i], p.vy[i], p.vz[i]};
      to.mass += weight;
    }
  });
  return (1 / sums.mass) * sums.velocity;
}

SystemCenter find_center(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device) {
  const auto alone = serial_communicator();
  const auto& mass = snapshot.particles.mass;
  const Vec3<double> place = options.center == "potential" ? lowest_potential(snapshot, options.softening, device)
                                                           : place_of_center(snapshot, options, *alone);
  const bool named = options.center == "density" || options.center == "mass" || options.center == "potential";
  return {place,
          mean_velocity(snapshot, seen_from(snapshot, place), snapshot.particles.size(),
                        std::accumulate(mass.begin(), mass.end(), 0.0), *alone),
          named ? options.center : "given"};
}

Vec3<double> place_from(const AnalysisSnapshot& snapshot, std::size_t i, const Vec3<double>& center) {
  const Particles& p = snapshot.particles;
  return separation(center, Vec3<double>{p.x[i], p.y[i], p.z[i]}, snapshot.box);
}

Vec3<double> velocity_from(const AnalysisSnapshot& snapshot, std::size_t i, const Vec3<double>& velocity) {
  const Particles& p = snapshot.particles;
  return Vec3<double>{p.vx[i], p.vy[i], p.vz[i]} - velocity;
}

SeenFromCenter seen_from(const AnalysisSnapshot& snapshot, const Vec3<double>& center) {
  const Particles& p = snapshot.particles;
  std::vector<double> radius(p.id.size());
  for (std::size_t i = 0; i < radius.size(); ++i) {
    const Vec3<double> d = place_from(snapshot, i, center);
    radius[i] = std::sqrt(dot(d, d));
  }
  SeenFromCenter seen;
  seen.order.resize(radius.size());
  std::iota(seen.order.begin(), seen.order.end(), std::size_t{0});
  std::sort(seen.order.begin(), seen.order.end(), [&](std::size_t a, std::size_t b) {
    return radius[a] != radius[b] ? radius[a] < radius[b] : p.id[a] < p.id[b];
  });
  for (const std::size_t i : seen.order) seen.radius.push_back(radius[i]);
  return seen;
}

namespace {

/// Of all particles in each other's field.
ForceResult forces_in(const AnalysisSnapshot& snapshot, double softening, unsigned want, const Device& device,
                      std::int64_t most_for_pairs) {
  const Particles& p = snapshot.particles;
  SolverOptions options;
  options.solver = p.size() <= most_for_pairs ? "direct" : "tree";
  options.gravitational_constant = snapshot.gravitational_constant;
  options.softening = Softening::same(softening);
  options.precision = p.size() <= most_for_pairs ? Precision::double_ : Precision::mixed;
  try {
    return evaluate_forces(*make_solver(options, device), device, p, want);
  } catch (const CoincidentParticles& error) {
    const auto id = [&p](std::int64_t place) { return p.id[static_cast<std::size_t>(place)]; };
    throw Error(ErrorKind::input, fmt::format("{}: particles with id {} and {} are in one place; expected a distance "
                                              "or --softening above 0",
                                              snapshot.name, id(error.first()), id(error.second())));
  }
}

}  // namespace

std::vector<double> potentials_in(const AnalysisSnapshot& snapshot, double softening, const Device& device,
                                  std::int64_t most_for_pairs) {
  if (!snapshot.particles.potential.empty()) return snapshot.particles.potential;
  return forces_in(snapshot, softening, want_potential, device, most_for_pairs).potential;
}

std::vector<Vec3<double>> pull_in(const AnalysisSnapshot& all, const AnalysisSnapshot& some, double softening,
                                  const Device& device) {
  const ForceResult forces = forces_in(all, softening, want_acceleration, device, usual_most_for_pairs);
  std::vector<Vec3<double>> pull;
  std::size_t at = 0;
  for (const auto id : some.particles.id) {
    while (all.particles.id[at] != id) ++at;
    pull.push_back({forces.ax[at], forces.ay[at], forces.az[at]});
  }
  return pull;
}

std::optional<Vec3<double>> parse_place(const std::string& text) {
  std::array<double, 3> value{};
  std::string_view rest = text;
  for (std::size_t k = 0; k < 3; ++k) {
    const auto comma = rest.find(',');
    const auto number = parse_real(rest.substr(0, comma));
    if (!number || !std::isfinite(*number) || (comma == std::string_view::npos) != (k == 2)) return std::nullopt;
    value[k] = *number;
    rest.remove_prefix(k == 2 ? rest.size() : comma + 1);
  }
  return Vec3<double>{value[0], value[1], value[2]};
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0;;) {
    const auto comma = text.find(',', begin);
    names.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return names;
    begin = comma + 1;
  }
}

AnalysisSnapshot frame_of(AnalysisSnapshot& snapshot) {
  Particles aside = std::exchange(snapshot.particles, {});  // there may be many: they are not copied
  AnalysisSnapshot frame = snapshot;
  snapshot.particles = std::move(aside);
  return frame;
}

AnalysisSnapshot chosen_species(AnalysisSnapshot snapshot, const AnalysisOptions& options,
                                const std::shared_ptr<Communicator>& ranks) {
  const auto anywhere = [&](bool here) {
    std::int64_t found = here ? 1 : 0;
    ranks->all_reduce(&found, 1, Reduction::maximum);
    return found > 0;
  };
  if (!anywhere(snapshot.particles.size() > 0))
    throw Error(ErrorKind::input, fmt::format("{}: holds no particles, expected at least 1", snapshot.name));
  if (options.species == "all") return snapshot;
  const std::vector<std::string> known(species_names.begin(), species_names.end());
  std::array<bool, species_count> wanted{};
  for (const auto& name : split_names(options.species)) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      const std::string near = nearest_name(name, known);
      throw Error(ErrorKind::input,
                  fmt::format("--species: expected all or some of {}, found {}{}", fmt::join(known, ", "), name,
                              near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    wanted[static_cast<std::size_t>(found - known.begin())] = true;
  }
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < snapshot.particles.id.size(); ++i)
    if (wanted[snapshot.particles.species[i]]) places.push_back(i);
  if (!anywhere(!places.empty()))
    throw Error(ErrorKind::input,
                fmt::format("{}: expected particles of the species {}, found none", snapshot.name, options.species));
  keep(snapshot.particles, places);
  return snapshot;
}

}  // namespace pergola

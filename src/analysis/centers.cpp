#include "analysis/centers.hpp"
#include "analysis/radii.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "comm/collectives.hpp"
#include "domain/gather_particles.hpp"
#include "gravity/solver_entry.hpp"
#include "particles/box.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

// Three ways to the lowest potential: known potentials are compared over ranks; few particles, and GPUs, are gathered
// on rank 0; many particles use the distributed tree. All compare (potential, id), so that they find the same particle.
namespace pergola {

namespace {

/// A centre given as three numbers, in the length unit of the file.
Vec3<double> given_place(const std::string& text) {
  const auto place = parse_place(text);
  if (!place)
    throw Error(ErrorKind::input, fmt::format("--center: expected density, potential, mass or three numbers such as "
                                              "0,0,0.5, found \"{}\"",
                                              text));
  return *place;
}

/// Few particles: pairs in double precision. Many: the tree in mixed precision.
SolverOptions options_for(const AnalysisSnapshot& snapshot, double softening, bool pairs) {
  SolverOptions options;
  options.solver = pairs ? "direct" : "tree";
  options.gravitational_constant = snapshot.gravitational_constant;
  options.softening = Softening::same(softening);
  options.precision = pairs ? Precision::double_ : Precision::mixed;
  return options;
}

/// Forces among the particles. If two particles coincide, the error names them: `id_of` gives the id of a place among
/// all.
template <class IdOf>
ForceResult forces_by(AnySolver& solver, const AnalysisSnapshot& snapshot, unsigned want, const Device& device,
                      const IdOf& id_of) {
  try {
    return evaluate_forces(solver, device, snapshot.particles, want);
  } catch (const CoincidentParticles& error) {
    const std::uint64_t first = id_of(error.first()), second = id_of(error.second());
    throw Error(ErrorKind::input, fmt::format("{}: particles with id {} and {} are in one place; expected a distance "
                                              "or --softening above 0",
                                              snapshot.name, first, second));
  }
}

ForceResult forces_in(const AnalysisSnapshot& snapshot, double softening, unsigned want, const Device& device,
                      std::int64_t most_for_pairs) {
  const Particles& p = snapshot.particles;
  const auto solver = make_solver(options_for(snapshot, softening, p.size() <= most_for_pairs), device);
  return forces_by(*solver, snapshot, want, device, [&p](std::int64_t i) { return p.id[static_cast<std::size_t>(i)]; });
}

/// A particle and its potential; the order is by potential, then by id.
struct DeepPlace {
  double potential = 0;
  std::uint64_t id = 0;
  Vec3<double> place{0, 0, 0};
  bool operator<(const DeepPlace& other) const {
    return potential != other.potential ? potential < other.potential : id < other.id;
  }
};

/// The lowest of known potentials over all ranks.
Vec3<double> lowest_potential(const Particles& own, const std::vector<double>& potential, Communicator& ranks) {
  std::vector<DeepPlace> deepest;
  for (std::size_t i = 0; i < own.id.size(); ++i) {
    const DeepPlace one{potential[i], own.id[i], {own.x[i], own.y[i], own.z[i]}};
    if (deepest.empty()) deepest.push_back(one);
    if (one < deepest[0]) deepest[0] = one;
  }
  deepest = gather_lists_on_all(ranks, deepest);
  return std::min_element(deepest.begin(), deepest.end())->place;
}

/// Rank 0 gathers all particles and finds the potentials.
Vec3<double> lowest_of_gathered(const AnalysisSnapshot& own, double softening, const Device& device,
                                Communicator& ranks) {
  AnalysisSnapshot all;
  all.name = own.name;
  all.gravitational_constant = own.gravitational_constant;
  all.particles = gather_on_root(ranks, own.particles);
  Vec3<double> place;
  on_root(ranks, [&] {
    place = lowest_potential(all.particles, potentials_in(all, softening, device), *serial_communicator());
  });
  return share_value(ranks, place);
}

/// All ranks find the potentials with the distributed tree.
Vec3<double> lowest_of_distributed(const AnalysisSnapshot& own, const SolverOptions& options, const Device& device,
                                   const std::shared_ptr<Communicator>& ranks) {
  const auto counts = gather_values(*ranks, own.particles.size());
  const std::int64_t before = std::reduce(counts.begin(), counts.begin() + ranks->rank(), std::int64_t{0});
  const auto id_of = [&](std::int64_t place) {
    std::vector<std::uint64_t> found;
    if (place >= before && place - before < own.particles.size())
      found.push_back(own.particles.id[static_cast<std::size_t>(place - before)]);
    return gather_lists_on_all(*ranks, found).at(0);
  };
  const auto solver = make_distributed_solver<double>(options, device, ranks);
  return lowest_potential(own.particles, forces_by(*solver, own, want_potential, device, id_of).potential, *ranks);
}

/// Chooses among the three ways. All ranks choose alike, since they compare reduced numbers.
Vec3<double> lowest_potential(const AnalysisSnapshot& own, double softening, const Device& device,
                              const std::shared_ptr<Communicator>& ranks) {
  if (ranks->size() == 1) return lowest_potential(own.particles, potentials_in(own, softening, device), *ranks);
  std::int64_t numbers[2] = {own.particles.size(), own.particles.potential.empty() ? 0 : 1};
  ranks->all_reduce(numbers, 2, Reduction::sum);
  if (numbers[1] > 0) return lowest_potential(own.particles, own.particles.potential, *ranks);
  const bool pairs = numbers[0] <= usual_most_for_pairs;
  if (const auto options = options_for(own, softening, pairs); !pairs && !device.is_cuda())
    return lowest_of_distributed(own, options, device, ranks);
  return lowest_of_gathered(own, softening, device, *ranks);
}

/// Keeps the particles at these rising places, in their order.
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

std::string name_of_center(const AnalysisOptions& options) {
  const bool named = options.center == "density" || options.center == "mass" || options.center == "potential";
  return named ? options.center : "given";
}

// A periodic box has no centre of mass or density; there only a potential or a given place makes sense.
Vec3<double> place_of_center(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device,
                             const std::shared_ptr<Communicator>& ranks) {
  if (options.center == "potential") return lowest_potential(snapshot, options.softening, device, ranks);
  if (options.center != "density" && options.center != "mass") return given_place(options.center);
  if (snapshot.box.periodic())
    throw Error(ErrorKind::input, fmt::format("{}: is a periodic box (BoxSize {}), which has no centre of {}; expected "
                                              "--center potential or --center X,Y,Z",
                                              snapshot.name, to_text(snapshot.box.side.x), options.center));
  return options.center == "mass" ? mass_center(snapshot.particles, *ranks)
                                  : density_center(snapshot.particles, *ranks);
}

// The mean over the inner half of the mass, nearest particles first. Without masses each particle weighs 1.
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

// On one process. `sorted` receives the order by distance, which many analyses need next.
SystemCenter find_center(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, const Device& device,
                         SeenFromCenter* sorted) {
  const auto alone = serial_communicator();
  const auto& mass = snapshot.particles.mass;
  const Vec3<double> place = place_of_center(snapshot, options, device, alone);
  SeenFromCenter seen = seen_from(snapshot, place);
  const double total = std::accumulate(mass.begin(), mass.end(), 0.0);
  const auto velocity = mean_velocity(snapshot, seen, snapshot.particles.size(), total, *alone);
  if (sorted) *sorted = std::move(seen);
  return {place, velocity, name_of_center(options)};
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
  struct SeenPlace {
    double radius;
    std::size_t i;
  };
  const Particles& p = snapshot.particles;
  std::vector<SeenPlace> places(p.id.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Vec3<double> d = place_from(snapshot, i, center);
    places[i] = {std::sqrt(dot(d, d)), i};
  }
  std::sort(places.begin(), places.end(), [&](const SeenPlace& a, const SeenPlace& b) {
    return a.radius != b.radius ? a.radius < b.radius : p.id[a.i] < p.id[b.i];  // ids lie elsewhere in memory
  });
  SeenFromCenter seen;
  seen.order.reserve(places.size()), seen.radius.reserve(places.size());
  for (const auto& [radius, i] : places) seen.order.push_back(i), seen.radius.push_back(radius);
  return seen;
}

std::vector<double> potentials_in(const AnalysisSnapshot& snapshot, double softening, const Device& device,
                                  std::int64_t most_for_pairs) {
  if (!snapshot.particles.potential.empty()) return snapshot.particles.potential;
  return forces_in(snapshot, softening, want_potential, device, most_for_pairs).potential;
}

// Accelerations by all particles at the places of some. Both lists have the same order of ids.
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

// The snapshot without its particles: name, time, box, units, cosmology.
AnalysisSnapshot frame_of(AnalysisSnapshot& snapshot) {
  Particles aside = std::exchange(snapshot.particles, {});  // not copied: there may be many
  AnalysisSnapshot frame = snapshot;
  snapshot.particles = std::move(aside);
  return frame;
}

// Collective: a rank without particles of these species is no error as long as another rank has some.
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

#include "run/rank_traffic.hpp"

#include <algorithm>
#include <cmath>

#include "comm/communicator.hpp"
#include "domain/device_messages.hpp"
#include "gravity/source_moves.hpp"
#include "time/work_places.hpp"
#include "tree/estimate.hpp"

namespace pergola {

double Network::seconds(const TrafficPart& part) const {
  const double away = part.off_node * part.bytes, near = part.bytes - away;
  const double staged = staging_bytes_per_second > 0 ? 2 * part.bytes / staging_bytes_per_second : 0;
  return away / bytes_per_second + near / node_bytes_per_second + staged + part.messages * latency;
}

double off_node_of_all(int ranks, int ranks_per_node) {
  return ranks > 1 ? std::max(0.0, (ranks - std::min(ranks, ranks_per_node)) / (ranks - 1.0)) : 0;
}

double off_node_of_next(int ranks, int ranks_per_node) {
  return ranks <= ranks_per_node ? 0 : ranks_per_node == 1 ? 1 : 0.5;
}

TrafficPart sum_of(const std::vector<TrafficPart>& parts) {
  TrafficPart sum;
  double away = 0;
  for (const TrafficPart& part : parts) {
    sum.bytes += part.bytes, sum.messages += part.messages, sum.seconds += part.seconds;
    away += part.off_node * part.bytes;
  }
  sum.off_node = sum.bytes > 0 ? away / sum.bytes : 0;
  return sum;
}

namespace {

/// Values of particles that are routed, in so many exchanges; to each partner that makes a message each, or several
/// where what goes to it is too long for one.
TrafficPart routed_part(const char* name, double particles_per_rank, const RoutedCopies& routed, double bytes_each,
                        int exchanges, int messages = 1) {
  const double bytes = particles_per_rank * routed.leaving * routed.imbalance * bytes_each;
  const bool joined = bytes <= static_cast<double>(most_joined_bytes) * exchanges * routed.partners;
  return {name, bytes, exchanges * (joined ? 1 : messages) * routed.partners, routed.off_node};
}

/// Planes that so many owners send or get: CPUs send each from where it lies, those that are short together.
double plane_messages(double planes, double plane_bytes, double owners, bool on_gpus) {
  const bool joined = planes * plane_bytes <= static_cast<double>(most_joined_bytes) * owners;
  return on_gpus || joined ? owners : planes;
}

/// Ranks find out how many particles they send each other: CPUs tell all others, GPUs pass on what they are told
/// (comm/collectives.hpp).
void add_counts(TrafficPart& part, int ranks, int bytes, bool on_gpus) {
  const double messages = on_gpus ? std::ceil(std::log2(ranks)) : ranks - 1.0;
  part.bytes += bytes * messages * (on_gpus ? 0.5 * ranks : 1), part.messages += messages;
}

}  // namespace

std::vector<TrafficPart> slab_traffic(const SlabMesh& mesh, double particles, int ranks, int ranks_per_node,
                                      const RoutedCopies& routed) {
  if (ranks < 2) return {};
  const double each = mesh.value_bytes, own = particles / ranks;
  const double nx = mesh.cells[0], ny = mesh.cells[1], nz = mesh.cells[2];
  const double planes = std::max(1.0, nz / ranks);  // with more ranks than planes some have none
  const double wider = mesh.isolated ? 2 : 1;
  const double pitch = 2 * (std::floor(wider * nx / 2) + 1), rows = wider * ny;  // values of a row with its modes
  const int beyond = static_cast<int>(mesh.assignment) - 1;
  const bool spectral = mesh.gradient == Gradient::spectral;
  const int reach = spectral ? 0 : mesh.gradient == Gradient::two_point ? 1 : 2;
  const int fields = spectral ? 3 : 1;
  const double to_all = off_node_of_all(ranks, ranks_per_node), to_next = off_node_of_next(ranks, ranks_per_node);
  /// Ranks that have some of so many planes next to a slab, and planes of them that are not the rank's own.
  const auto owners = [&](int wanted) {
    return wanted > 0 ? std::min(ranks - 1.0, std::ceil(wanted / std::max(1.0, planes))) : 0;
  };
  const auto others = [&](int wanted) { return std::min(static_cast<double>(wanted), nz - planes); };

  // CPUs send those that lie together in memory from where they lie, and a list of the others.
  constexpr int lists = 2;
  const bool masses = !mesh.equal_masses;
  TrafficPart there = mesh.on_gpus
                          ? routed_part("particles to slabs", own, routed, (masses ? 4 : 3) * each, masses ? 2 : 1)
                          : routed_part("particles to slabs", own, routed, 3 * each, 1, 3 * lists);
  // Found over all ranks: who gets most, and on CPUs whether masses are all the same, the length of a step, and who has
  // left an isolated mesh.
  there.messages += ((mesh.on_gpus    ? 0
                      : mesh.isolated ? 4
                                      : 2) +
                     (mesh.groups > 0 ? 0 : 1)) *
                    std::ceil(std::log2(ranks));
  if (!mesh.on_gpus && masses) {
    const TrafficPart their_masses = routed_part("masses", own, routed, each, 1, lists);
    there.bytes += their_masses.bytes, there.messages += their_masses.messages;
  }
  add_counts(there, ranks, mesh.on_gpus ? 8 : 16, mesh.on_gpus);
  const double row = mesh.on_gpus ? nx : nx + beyond;  // CPUs keep the cells that a row repeats
  // On GPUs sums have four bytes where masses are equal in single precision (gravity/mesh.cpp), and all are told so.
  const int sum_bytes = mesh.on_gpus && mesh.equal_masses && mesh.value_bytes == 4 ? 4 : 8;
  const double sums_plane = ny * row * sum_bytes;
  // By rows also all planes that are worked on and are in the slabs of others.
  const bool by_rows = routed.planes > 0;
  const double given = others(beyond) + routed.planes_of_others, all_given = beyond + routed.planes_of_others;
  const TrafficPart sums{"sums beyond slabs", given * sums_plane,
                         plane_messages(given, sums_plane, owners(static_cast<int>(all_given)), mesh.on_gpus) +
                             (mesh.on_gpus ? std::ceil(std::log2(ranks)) : 0),
                         by_rows ? to_all : to_next};
  const double busiest = std::ceil(planes) / planes;  // planes of the rank that has most
  // Spectral forces along the planes are made of the potential, and that across them of its own; both come back in
  // one exchange, on GPUs in one message, or where these are long in several (mesh/fft/transposition_cuda.cuh).
  const int turns = spectral ? 3 : 2;
  const double turned_bytes = pitch * rows * planes * each * (1 - 1.0 / ranks),
               partners = std::min(ranks - 1.0, nz - 1);
  const bool as_one = spectral && 2 * turned_bytes <= static_cast<double>(most_joined_bytes) * partners;
  const auto exchanges = [&](int fields_together) {
    const auto most = static_cast<double>(DeviceMessages::most_bytes(ranks));
    return std::ceil(fields_together * std::ceil(planes) / std::max(1.0, std::floor(most * planes / turned_bytes)));
  };
  const double times = mesh.on_gpus ? exchanges(1) + exchanges(turns - 1) : as_one ? 2 : turns;
  const TrafficPart turned{"transposes", turns * turned_bytes * busiest, times * partners, to_all};
  // Of two slabs of an isolated mesh one has planes below, the other has them above.
  const int below = mesh.isolated && ranks == 2 ? 0 : reach, above = reach + beyond;
  // On CPUs planes of spectral forces have the three of a cell together, and the cells that rows and planes repeat.
  const bool cells = spectral && !mesh.on_gpus;
  const double plane = (cells ? fields * (nx + beyond) * (ny + beyond) : pitch * rows) * each;
  const double fetches = cells ? 1 : fields;
  const double near = std::min(ranks - 1.0, owners(below) + owners(above + static_cast<int>(routed.planes_of_others)));
  const double fetched = others(below + above) + routed.planes_of_others;
  const TrafficPart around{"planes around slabs", fetches * fetched * plane,
                           fetches * plane_messages(fetched, plane, near, mesh.on_gpus), by_rows ? to_all : to_next};
  // On GPUs spectral forces are found, and go back, one component after the other.
  const TrafficPart back = mesh.on_gpus ? routed_part("forces back from slabs", own, routed, 3 * each, spectral ? 3 : 1)
                                        : routed_part("forces back from slabs", own, routed, 3 * each, 1, 3 * lists);
  if (!(mesh.groups > 0)) return {there, sums, turned, around, back};
  // Coordinates there, and a force back.
  TrafficPart in_groups = routed_part("mesh in groups of trees", own * mesh.groups, routed, 6 * each, 2);
  add_counts(in_groups, ranks, 8, true);
  return {there, sums, turned, in_groups, around, back};
}

double groups_of_a_particle(const tree::Forest& forest, double particles) {
  double of_group = particles / static_cast<double>(forest.places());
  while (of_group > tree::estimate_capacity) of_group /= 8;
  // Some cells have more than that by chance, and their eight children are groups.
  const double split = 0.5 * std::erfc((tree::estimate_capacity - of_group) / std::sqrt(2 * of_group));
  return (1 + 7 * split) / of_group;
}

std::vector<TrafficPart> plasma_traffic(const SlabPlasma& plasma, double share, int ranks, int ranks_per_node) {
  if (ranks < 2) return {};
  const bool flat = plasma.dimensions == 2;
  const double rows = flat ? 1 : plasma.cells[1], layers = plasma.cells[flat ? 1 : 2], own = share * layers;
  const double layer = rows * 2 * (std::floor(plasma.cells[0] / 2.0) + 1) * plasma.value_bytes;  // with its modes
  const double around = std::min<double>(plasma.around, layers - own), partners = std::min(ranks - 1.0, layers - 1);
  const double next = plasma.around > 1 ? std::min(ranks - 1.0, 2.0) : 1;
  const double to_all = off_node_of_all(ranks, ranks_per_node), to_next = off_node_of_next(ranks, ranks_per_node);
  const double charge_layer = rows * plasma.cells[0] * 8 * plasma.species;
  const TrafficPart charge{"charge beyond slabs", around * charge_layer,
                           plane_messages(around, charge_layer, next, plasma.on_gpus), to_next};
  if (plasma.whole_field) return {charge, {"density of all", (layers - own) * layer, ranks - 1.0, to_all}};
  const double away = 1 - 1.0 / ranks;
  if (plasma.on_gpus)
    return {charge,
            {"transposes", (own + plasma.dimensions * (own + plasma.around)) * layer * away, 2 * partners, to_all}};
  constexpr int turns = 3;  // of the density, the potential, and the component across the layers
  return {charge,
          {"transposes", turns * own * layer * away, turns * partners, to_all},
          {"layers around slabs", plasma.dimensions * around * layer,
           plasma.dimensions * plane_messages(around, layer, next, false), to_next}};
}

bool live_with_work(double together) { return together >= WorkPlaces::fewest_steps; }

std::vector<TrafficPart> forest_traffic(const tree::Forest& forest, int value_bytes, double particles, int ranks,
                                        const ForestCopies& routed, double together, bool equal_masses) {
  if (ranks < 2) return {};
  const double each = value_bytes, own = particles / ranks, deep = std::ceil(std::log2(ranks)),
               place = particles > 0x1p32 ? 8 : 4;
  const bool live = live_with_work(together);
  // Of those that live with their roots at most so many have left them: to roots next to theirs.
  RoutedCopies leaving = live ? routed.guests : routed.own;
  if (live) leaving.leaving = 1.0 / one_in_moves_of_forest, leaving.imbalance = 1;
  // Added up over ranks: halves there and back.
  const TrafficPart counts{"counts of roots", 2 * 8 * static_cast<double>(forest.plots()), 2 * deep};
  // Coordinates, and masses where they differ; of those that are not at home the place there. Own particles also tell
  // their root.
  const int extra = (live ? 1 : 0) + (equal_masses ? 0 : 1);  // messages
  const double all = (equal_masses ? 3 : 4) * each + (live ? place : 0);
  TrafficPart there = routed_part("particles to trees", own, leaving, all + 4, 2 + extra);
  add_counts(there, ranks, 8, true);
  TrafficPart guests = routed_part("guests of trees", own, routed.guests, all, 1 + extra);
  add_counts(guests, ranks, 8, true);
  const TrafficPart back = routed_part("forces back from trees", own, leaving, 3 * 8, 1);
  if (!live) return {counts, there, guests, back};
  // Coordinates, velocities, masses, species; home also accelerations. Those that change ranks go with all of them.
  const double out = 7 * each + 1 + place, home = out + 3 * each;
  TrafficPart moves = routed_part("particles that change ranks", own, leaving, home, 9);
  const TrafficPart ways = routed_part("to trees and home", own, routed.own, out + home, 9 + 12);
  moves.bytes += ways.bytes / together, moves.messages += ways.messages / together;
  return {counts, there, guests, back, moves};
}

}  // namespace pergola

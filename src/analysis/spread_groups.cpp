#include "analysis/spread_groups.hpp"
#include "analysis/centers.hpp"
#include "analysis/friends.hpp"
#include "analysis/groups.hpp"
#include "analysis/profile.hpp"
#include "comm/collectives.hpp"
#include "comm/shares.hpp"
#include "device/parallel.hpp"
#include "domain/route_particles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

// A set of friends has the lowest id of its members as its label. Ranks exchange labels of particles that several ranks
// see, until no label changes. The owner of a set is the rank with most of its members; counts are added by a third
// rank, chosen by the label, so that no rank needs the list of all groups.
namespace pergola {

namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

Lists lists_for(const Communicator& ranks) { return Lists(static_cast<std::size_t>(ranks.size())); }

/// Sets of friends on one rank: its slab, and ghosts from later slabs.
struct SlabSets {
  std::vector<std::uint32_t> set;       // of each particle, the slab's first
  std::vector<std::uint64_t> label;     // by set: the lowest id
  std::vector<std::int64_t> own;        // members in this slab
  std::vector<std::uint8_t> is_shared;  // whether a member is seen by several ranks

  bool lower(std::size_t particle, std::uint64_t to) {
    std::uint64_t& of_set = label[set[particle]];
    if (to >= of_set) return false;
    of_set = to;
    return true;
  }
};

/// `places`: positions of the slab's particles, then of the ghosts.
SlabSets sets_in(Particles places, const std::vector<std::uint64_t>& own_id, const std::vector<std::uint64_t>& ghost_id,
                 const FriendFrame& frame, const Device& cpu) {
  SlabSets sets;
  if (places.x.empty()) return sets;
  const LinkedCells cells = link_places(cpu, std::move(places), frame);
  sets.set.resize(cells.order.size());
  sets.label.assign(cells.root.size(), std::numeric_limits<std::uint64_t>::max());
  sets.own.assign(cells.root.size(), 0), sets.is_shared.assign(cells.root.size(), 0);
  for (std::size_t cell = 0; cell < cells.root.size(); ++cell)
    for (std::uint32_t k = cells.begin[cell]; k < cells.begin[cell + 1]; ++k) {
      const std::size_t particle = cells.order[k];
      sets.set[particle] = cells.root[cell];
      const bool is_own = particle < own_id.size();
      sets.lower(particle, is_own ? own_id[particle] : ghost_id[particle - own_id.size()]);
      if (is_own) ++sets.own[cells.root[cell]];
    }
  return sets;
}

/// Gives sets that span ranks one label. Ranks exchange the labels of shared particles until nothing changes. The
/// result is the lowest id, in any order of exchanges.
void join_over_ranks(Communicator& ranks, const std::vector<Routing>& routings, std::size_t here, SlabSets& sets) {
  std::vector<std::uint64_t> labels(here);
  const auto labels_here = [&] {
    for (std::size_t i = 0; i < here; ++i) labels[i] = sets.label[sets.set[i]];
  };
  for (std::int64_t changed = 1; changed > 0;) {
    changed = 0;
    std::size_t ghost = here;
    for (const Routing& routing : routings) {
      labels_here();
      std::vector<std::uint64_t> of_ghosts = routing.there(labels.data());
      for (std::size_t k = 0; k < of_ghosts.size(); ++k) {
        changed += sets.lower(ghost + k, of_ghosts[k]) ? 1 : 0;
        sets.is_shared[sets.set[ghost + k]] = 1;
      }
      for (std::size_t k = 0; k < of_ghosts.size(); ++k) of_ghosts[k] = sets.label[sets.set[ghost + k]];
      ghost += of_ghosts.size();
      routing.back(of_ghosts.data(), labels.data());
      for (std::size_t i = 0; i < here; ++i) changed += sets.lower(i, labels[i]) ? 1 : 0;
    }
    ranks.all_reduce(&changed, 1, Reduction::sum);
  }
}

/// The members of a group on one rank.
struct MemberCount {
  std::uint64_t label = 0;
  std::int64_t count = 0;
};
/// The members of a group on all ranks, and the rank with the most.
struct GroupOwner {
  std::uint64_t label = 0;
  std::int64_t count = 0, owner = 0, most = 0;
};

bool by_label(const MemberCount& a, const MemberCount& b) { return a.label < b.label; }

/// Adds equal labels; ascending.
std::vector<MemberCount> added_up(std::vector<MemberCount> counts) {
  std::sort(counts.begin(), counts.end(), by_label);
  std::vector<MemberCount> sums;
  for (const MemberCount& one : counts) {
    if (sums.empty() || sums.back().label != one.label) sums.push_back({one.label, 0});
    sums.back().count += one.count;
  }
  return sums;
}

/// For the groups with members on this rank, by ascending label: the rank that will own them. For each label one rank,
/// chosen by the label, adds the counts of all ranks.
std::vector<GroupOwner> find_owners(Communicator& ranks, const SlabSets& sets, std::int64_t least) {
  std::vector<MemberCount> whole, parts;
  for (std::size_t set = 0; set < sets.own.size(); ++set) {
    if (sets.own[set] == 0) continue;
    if (sets.is_shared[set])
      parts.push_back({sets.label[set], sets.own[set]});
    else if (sets.own[set] >= least)
      whole.push_back({sets.label[set], sets.own[set]});
  }
  std::vector<GroupOwner> found;
  for (const MemberCount& one : whole) found.push_back({one.label, one.count, ranks.rank(), one.count});
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<std::vector<MemberCount>> asked(size);
  for (const MemberCount& one : added_up(std::move(parts))) asked[one.label % size].push_back(one);
  const auto counts_of_ranks = exchange_lists(ranks, asked);
  std::vector<GroupOwner> sums;
  std::vector<MemberCount> all;
  for (const auto& list : counts_of_ranks) all.insert(all.end(), list.begin(), list.end());
  for (const MemberCount& one : added_up(std::move(all))) sums.push_back({one.label, one.count, 0, 0});
  const auto sum_of = [&](std::uint64_t label) {
    return std::lower_bound(sums.begin(), sums.end(), label,
                            [](const GroupOwner& a, std::uint64_t b) { return a.label < b; });
  };
  for (std::size_t rank = 0; rank < size; ++rank)
    for (const MemberCount& one : counts_of_ranks[rank])
      if (const auto sum = sum_of(one.label); one.count > sum->most)
        sum->most = one.count, sum->owner = static_cast<std::int64_t>(rank);
  std::vector<std::vector<GroupOwner>> answers(size);
  for (std::size_t rank = 0; rank < size; ++rank)
    for (const MemberCount& one : counts_of_ranks[rank]) answers[rank].push_back(*sum_of(one.label));
  for (const auto& list : exchange_lists(ranks, answers))
    for (const GroupOwner& one : list)
      if (one.count >= least) found.push_back(one);
  std::sort(found.begin(), found.end(), [](const GroupOwner& a, const GroupOwner& b) { return a.label < b.label; });
  return found;
}

/// Groups of particles with the same label, members by rising id.
FriendGroups groups_by(const std::vector<std::uint64_t>& label, const Particles& members) {
  std::vector<std::size_t> order(label.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return label[a] != label[b] ? label[a] < label[b] : members.id[a] < members.id[b];
  });
  FriendGroups found;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || label[order[k]] != label[order[k - 1]]) found.groups.emplace_back();
    found.groups.back().push_back(order[k]);
  }
  // Labels ascend, so of equal groups the one with the lowest id stays first.
  std::stable_sort(found.groups.begin(), found.groups.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return found;
}

}  // namespace

// Slabs are ranges of planes of cells along z, with about equal numbers of particles.
FriendSlabs::FriendSlabs(Communicator& ranks, const FriendFrame& frame, const Particles& own) : frame_(frame) {
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<std::int64_t> planes;
  for (const double z : own.z) planes.push_back(plane_at(z));
  std::sort(planes.begin(), planes.end());
  std::int64_t total = own.size();
  ranks.all_reduce(&total, 1, Reduction::sum);
  // Bisection for all cuts at once: the first plane at which a rank's part of the particles begins.
  first_.assign(size + 1, 0);
  std::vector<std::int64_t> high(size + 1, frame_.count[2]), below(size + 1);
  first_[size] = frame_.count[2], high[0] = 0;
  for (std::int64_t widest = frame_.count[2]; widest > 0; widest /= 2) {
    const auto middle = [&](std::size_t r) { return first_[r] + (high[r] - first_[r]) / 2; };
    for (std::size_t r = 0; r <= size; ++r)
      below[r] = std::lower_bound(planes.begin(), planes.end(), middle(r)) - planes.begin();
    ranks.all_reduce(below.data(), below.size(), Reduction::sum);
    for (std::size_t r = 1; r < size; ++r) {
      if (first_[r] == high[r]) continue;
      if (below[r] >= Shares{total, ranks.size()}.first(static_cast<int>(r)))
        high[r] = middle(r);
      else
        first_[r] = middle(r) + 1;
    }
  }
}

// The part of the box that a rank's slab takes.
double FriendSlabs::part_of(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return static_cast<double>(first_[r + 1] - first_[r]) / static_cast<double>(frame_.count[2]);
}

std::int64_t FriendSlabs::plane_at(double z) const {
  if (frame_.box.periodic()) return frame_.place(z, 2);
  const double at = std::floor((z - frame_.corner[2]) / frame_.cell[2]);
  return static_cast<std::int64_t>(std::clamp(at, 0.0, static_cast<double>(frame_.count[2] - 1)));
}

int FriendSlabs::rank_of(std::int64_t plane) const {
  return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), plane) - first_.begin()) - 1;
}

// Ranks whose slab may hold particles within a radius of z; in a periodic box the range may go around.
std::vector<int> FriendSlabs::ranks_near(double z, double radius) const {
  const double reach = radius + frame_.cell[2];  // places are rounded
  const auto last_rank = static_cast<int>(first_.size()) - 2;
  int from = 0, to = last_rank;
  const bool all = frame_.box.periodic() && 2 * (reach + frame_.cell[2]) >= frame_.side[2];
  if (!all) from = rank_at(z - reach), to = rank_at(z + reach);
  std::vector<int> found;
  const bool goes_around = !all && (from > to || (from == to && plane_at(z - reach) > plane_at(z + reach)));
  for (int rank = 0; rank <= last_rank; ++rank)
    if (goes_around ? rank <= to || rank >= from : rank >= from && rank <= to) found.push_back(rank);
  return found;
}

// Particles near the lower end of a slab are ghosts on the ranks before it, one routing per distance in planes.
SlabGhosts FriendSlabs::ghosts_of(Communicator& ranks, const Particles& here, int threads) const {
  const int own = ranks.rank();
  SlabGhosts guests{{}, std::vector<std::uint8_t>(here.z.size(), 0)};
  std::vector<Lists> to(static_cast<std::size_t>(frame_.reach), lists_for(ranks));
  for (std::size_t i = 0; i < here.z.size(); ++i) {
    const std::int64_t plane = plane_at(here.z[i]);
    if (plane - frame_.reach >= first_[static_cast<std::size_t>(own)]) continue;
    std::vector<int> seen_by{own};
    for (std::int64_t before = 1; before <= frame_.reach; ++before) {
      const std::int64_t other = frame_.around(plane - before, 2);
      if (other < 0) break;  // beyond the first plane of open space
      const int rank = rank_of(other);
      if (std::find(seen_by.begin(), seen_by.end(), rank) != seen_by.end()) continue;
      seen_by.push_back(rank);
      to[static_cast<std::size_t>(before - 1)][static_cast<std::size_t>(rank)].push_back(static_cast<std::uint32_t>(i));
      guests.is_ghost[i] = 1;
    }
  }
  for (const Lists& lists : to) guests.routings.push_back(route_lists(ranks, threads, lists));
  return guests;
}

// Collective: each particle goes to the rank of its plane.
Particles bring_to_slabs(Communicator& ranks, const FriendSlabs& slabs, Particles own, int threads) {
  Lists to = lists_for(ranks);
  for (std::size_t i = 0; i < own.z.size(); ++i)
    to[static_cast<std::size_t>(slabs.rank_at(own.z[i]))].push_back(static_cast<std::uint32_t>(i));
  const Routing routing = route_lists(ranks, threads, to);
  to.clear();
  return route_particles(routing, std::move(own));
}

// Steps: (1) ghosts, (2) sets of friends within each slab and its ghosts, (3) one label for sets that span ranks,
// (4) the owner of each group, (5) the members go to the owner.
OwnGroups friends_in_slabs(Communicator& ranks, const FriendSlabs& slabs, const Particles& here, std::int64_t least,
                           const Device& device) {
  const Device cpu = device.is_cuda() ? Device::open("cpu", device.threads()) : device;
  const SlabGhosts guests = slabs.ghosts_of(ranks, here, cpu.threads());
  std::size_t seen = here.id.size();
  for (const Routing& routing : guests.routings) seen += static_cast<std::size_t>(routing.arriving());
  const auto add_ghosts = [&](const auto& own, auto& to) {
    for (const Routing& routing : guests.routings) {
      const auto arrived = routing.there(own.data());
      to.insert(to.end(), arrived.begin(), arrived.end());
    }
  };
  const auto with_ghosts = [&](const std::vector<double>& own) {
    std::vector<double> all;
    all.reserve(seen);
    all.insert(all.end(), own.begin(), own.end());
    add_ghosts(own, all);
    return all;
  };
  std::vector<std::uint64_t> ghost_id;
  add_ghosts(here.id, ghost_id);
  Particles places;
  places.x = with_ghosts(here.x), places.y = with_ghosts(here.y), places.z = with_ghosts(here.z);
  SlabSets sets = sets_in(std::move(places), here.id, ghost_id, slabs.frame(), cpu);
  for (std::size_t i = 0; i < here.id.size(); ++i)
    if (guests.is_ghost[i]) sets.is_shared[sets.set[i]] = 1;
  join_over_ranks(ranks, guests.routings, here.id.size(), sets);
  const auto owners = find_owners(ranks, sets, least);
  Lists to = lists_for(ranks);
  std::vector<std::uint64_t> label(here.id.size());
  for (std::size_t i = 0; i < here.id.size(); ++i) {
    label[i] = sets.label[sets.set[i]];
    const auto found = std::lower_bound(owners.begin(), owners.end(), label[i],
                                        [](const GroupOwner& a, std::uint64_t b) { return a.label < b; });
    if (found != owners.end() && found->label == label[i])
      to[static_cast<std::size_t>(found->owner)].push_back(static_cast<std::uint32_t>(i));
  }
  const Routing routing = route_lists(ranks, cpu.threads(), to);
  OwnGroups own{route_particles(routing, here), {}};
  own.friends = groups_by(routing.there(label.data()), own.members);
  return own;
}

namespace {

/// In a thin slab, cells of the neighbourhood are made for at least this part of the box.
constexpr double least_part = 1.0 / 32;
/// Spheres are searched in batches; the groups of a batch have about this number of members, to limit memory.
constexpr std::int64_t most_at_once = std::int64_t{1} << 20;

/// Size and lowest id of a group: its order among all groups.
struct GroupPlace {
  std::int64_t particles = 0;
  std::uint64_t lowest_id = 0;
};
bool comes_before(const GroupPlace& a, const GroupPlace& b) {
  return a.particles != b.particles ? a.particles > b.particles : a.lowest_id < b.lowest_id;
}

/// A value of a group as a message to all ranks.
template <class V>
struct OfGroup {
  std::int64_t number = 0;
  V value{};
};
/// Values of all ranks by number.
template <class V>
std::vector<V> gather_by_number(Communicator& ranks, const std::vector<OfGroup<V>>& own) {
  auto all = gather_lists_on_all(ranks, own);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  std::vector<V> values;
  for (const auto& one : all) values.push_back(one.value);
  return values;
}

/// A particle as a message.
struct ParticleRow {
  std::uint64_t id = 0, species = 0;
  double mass = 0, x = 0, y = 0, z = 0, vx = 0, vy = 0, vz = 0;
};
ParticleRow row_of(const Particles& p, std::size_t i) {
  return {p.id[i], p.species[i], p.mass[i], p.x[i], p.y[i], p.z[i], p.vx[i], p.vy[i], p.vz[i]};
}
void add_row(const ParticleRow& row, Particles& to) {
  to.id.push_back(row.id), to.species.push_back(static_cast<std::uint8_t>(row.species)), to.mass.push_back(row.mass);
  to.x.push_back(row.x), to.y.push_back(row.y), to.z.push_back(row.z);
  to.vx.push_back(row.vx), to.vy.push_back(row.vy), to.vz.push_back(row.vz);
}

/// The snapshot with other particles.
AnalysisSnapshot with_particles(AnalysisSnapshot frame, Particles particles) {
  frame.particles = std::move(particles);
  return frame;
}

}  // namespace

// Groups are numbered over all ranks by falling size, equal ones by lowest id.
DistributedGroups::DistributedGroups(std::shared_ptr<Communicator> ranks, AnalysisSnapshot own,
                                     const AnalysisOptions& options, const Device& device)
    : ranks_(std::move(ranks)), device_(device), frame_(frame_of(own)), options_(options) {
  const int threads = device_.threads();
  {
    ChosenParticles particles(std::move(own), options_, ranks_);
    const Particles& chosen = particles.chosen().particles;
    std::array<std::int64_t, 2> sums{chosen.size(), pergola::has_mass(chosen) ? 1 : 0};
    ranks_->all_reduce(sums.data(), sums.size(), Reduction::sum);
    const std::int64_t total = sums[0];
    has_mass_ = sums[1] > 0;
    slabs_.emplace(*ranks_, friend_frame(*ranks_, chosen, frame_.box, linking_length(frame_, options_, total)),
                   particles.all().particles);
    here_.emplace(with_particles(frame_, bring_to_slabs(*ranks_, *slabs_, particles.take_all(), threads)), options_,
                  ranks_);
  }
  auto found = friends_in_slabs(*ranks_, *slabs_, here_->chosen().particles, options_.least, device_);
  members_ = with_particles(frame_, std::move(found.members)), friends_ = std::move(found.friends);
  std::vector<GroupPlace> places;
  for (const auto& group : friends_.groups)
    places.push_back({static_cast<std::int64_t>(group.size()), members_.particles.id[group[0]]});
  auto all = gather_lists_on_all(*ranks_, places);
  std::sort(all.begin(), all.end(), comes_before);
  count_ = static_cast<std::int64_t>(all.size());
  for (const GroupPlace& place : places)
    numbers_.push_back(std::lower_bound(all.begin(), all.end(), place, comes_before) - all.begin());
  near_.emplace(here_->all(), threads, std::max(slabs_->part_of(ranks_->rank()), least_part));
}

std::vector<double> DistributedGroups::masses() const {
  std::vector<OfGroup<double>> own;
  for (std::size_t k = 0; k < numbers_.size(); ++k)
    own.push_back({numbers_[k], group_mass(members_, friends_.groups[k])});
  return gather_by_number(*ranks_, own);
}

// Collective: each rank measures its own groups of the range, and all get the results in the order of numbers.
std::vector<GroupProperties> DistributedGroups::properties(std::int64_t first, std::int64_t count) {
  FriendGroups wanted;
  std::vector<std::int64_t> numbers;
  for (std::size_t k = 0; k < numbers_.size(); ++k)
    if (numbers_[k] >= first && numbers_[k] - first < count)
      wanted.groups.push_back(friends_.groups[k]), numbers.push_back(numbers_[k]);
  auto groups = member_properties(members_, wanted.groups, device_);
  measure_spheres(groups);
  std::vector<OfGroup<GroupProperties>> own;
  for (std::size_t k = 0; k < groups.size(); ++k) own.push_back({numbers[k], groups[k]});
  return gather_by_number(*ranks_, own);
}

// In rounds: spheres that are not large enough yet are asked for again with a larger radius. Ranks stop together.
void DistributedGroups::measure_spheres(std::vector<GroupProperties>& groups) {
  const HaloDensities limits = halo_densities(here_->all(), device_.threads(), *ranks_);
  if (std::isnan(limits.mean)) return;
  struct Open {
    std::size_t group;
    DensitySearch search;
    bool is_done = false;
  };
  std::vector<Open> open;
  std::size_t next = 0;
  while (true) {
    std::int64_t members = 0;
    for (const Open& one : open) members += groups[one.group].particles;
    for (; next < groups.size() && members < most_at_once; ++next) {
      members += groups[next].particles;
      open.push_back({next, DensitySearch(groups[next].mass, limits.lowest(), near_->farthest())});
    }
    auto all_open = static_cast<std::int64_t>(open.size());
    ranks_->all_reduce(&all_open, 1, Reduction::sum);
    if (all_open == 0) return;
    std::vector<Sphere> spheres;
    for (const Open& one : open) spheres.push_back({groups[one.group].center, one.search.radius()});
    const auto around = all_in(spheres);
    parallel_for(device_.threads(), static_cast<std::int64_t>(open.size()), [&](std::int64_t k) {
      const auto number = static_cast<std::size_t>(k);
      GroupProperties& group = groups[open[number].group];
      const SeenFromCenter seen = seen_from(around[number], group.center);
      open[number].is_done = open[number].search.is_enough(seen_mass(around[number], seen));
      if (open[number].is_done) measure_overdensities(around[number], seen, limits, group);
    });
    std::erase_if(open, [](const Open& one) { return one.is_done; });
  }
}

// All particles in each sphere, from the ranks whose slabs it touches: questions, counts, then rows.
std::vector<AnalysisSnapshot> DistributedGroups::all_in(const std::vector<Sphere>& spheres) {
  const auto size = static_cast<std::size_t>(ranks_->size());
  std::vector<std::vector<Sphere>> asked(size);
  std::vector<std::vector<std::size_t>> numbers(size);
  for (std::size_t k = 0; k < spheres.size(); ++k)
    for (const int rank : slabs_->ranks_near(spheres[k].center.z, spheres[k].radius)) {
      asked[static_cast<std::size_t>(rank)].push_back(spheres[k]);
      numbers[static_cast<std::size_t>(rank)].push_back(k);
    }
  std::vector<std::vector<std::int64_t>> counts(size);
  std::vector<std::vector<ParticleRow>> rows(size);
  const auto to_answer = exchange_lists(*ranks_, asked);
  for (std::size_t rank = 0; rank < size; ++rank) {
    const std::vector<Sphere>& wanted = to_answer[rank];
    std::vector<std::vector<ParticleRow>> found(wanted.size());
    parallel_for(device_.threads(), static_cast<std::int64_t>(wanted.size()), [&](std::int64_t k) {
      const Sphere& sphere = wanted[static_cast<std::size_t>(k)];
      for (const std::size_t i : near_->within(sphere.center, sphere.radius).order)
        found[static_cast<std::size_t>(k)].push_back(row_of(here_->all().particles, i));
    });
    for (const auto& one : found) {
      counts[rank].push_back(static_cast<std::int64_t>(one.size()));
      rows[rank].insert(rows[rank].end(), one.begin(), one.end());
    }
  }
  const auto arrived_counts = exchange_lists(*ranks_, counts);
  const auto arrived = exchange_lists(*ranks_, rows);
  std::vector<AnalysisSnapshot> around(spheres.size(), frame_);
  for (std::size_t rank = 0; rank < size; ++rank) {
    std::size_t next = 0;
    for (std::size_t k = 0; k < numbers[rank].size(); ++k)
      for (std::int64_t left = arrived_counts[rank][k]; left > 0; --left)
        add_row(arrived[rank][next++], around[numbers[rank][k]].particles);
  }
  return around;
}

std::vector<AnalysisSnapshot> DistributedGroups::chosen_in(const std::vector<Sphere>& spheres) {
  auto found = all_in(spheres);
  for (AnalysisSnapshot& around : found)
    if (around.particles.size() > 0) around = chosen_species(std::move(around), options_);
  return found;
}

}  // namespace pergola

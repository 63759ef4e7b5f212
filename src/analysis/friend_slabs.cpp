#include "analysis/friend_slabs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "analysis/link_places.hpp"
#include "comm/collectives.hpp"
#include "comm/shares.hpp"
#include "domain/route_particles.hpp"

namespace pergola {

namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

Lists lists_for(const Communicator& ranks) { return Lists(static_cast<std::size_t>(ranks.size())); }

/// Sets of friends as a rank sees them: of its slab, and of guests from the slabs after it.
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

/// `places`: of the slab's particles and of guests.
SlabSets sets_in(Particles places, const std::vector<std::uint64_t>& own_id, const std::vector<std::uint64_t>& guest_id,
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
      sets.lower(particle, is_own ? own_id[particle] : guest_id[particle - own_id.size()]);
      if (is_own) ++sets.own[cells.root[cell]];
    }
  return sets;
}

/// Gives sets of several ranks that are one the same label: ranks tell each other those of the particles that both see
/// until nothing changes. What is found is the lowest id of all, in whatever order.
void join_over_ranks(Communicator& ranks, const std::vector<Routing>& routings, std::size_t here, SlabSets& sets) {
  std::vector<std::uint64_t> labels(here);
  const auto labels_here = [&] {
    for (std::size_t i = 0; i < here; ++i) labels[i] = sets.label[sets.set[i]];
  };
  for (std::int64_t changed = 1; changed > 0;) {
    changed = 0;
    std::size_t guest = here;
    for (const Routing& routing : routings) {
      labels_here();
      std::vector<std::uint64_t> of_guests = routing.there(labels.data());
      for (std::size_t k = 0; k < of_guests.size(); ++k) {
        changed += sets.lower(guest + k, of_guests[k]) ? 1 : 0;
        sets.is_shared[sets.set[guest + k]] = 1;
      }
      for (std::size_t k = 0; k < of_guests.size(); ++k) of_guests[k] = sets.label[sets.set[guest + k]];
      guest += of_guests.size();
      routing.back(of_guests.data(), labels.data());
      for (std::size_t i = 0; i < here; ++i) changed += sets.lower(i, labels[i]) ? 1 : 0;
    }
    ranks.all_reduce(&changed, 1, Reduction::sum);
  }
}

/// Members that a rank has of a group.
struct MemberCount {
  std::uint64_t label = 0;
  std::int64_t count = 0;
};
/// Of all ranks, and who has the most.
struct GroupOwner {
  std::uint64_t label = 0;
  std::int64_t count = 0, owner = 0, most = 0;
};

bool by_label(const MemberCount& a, const MemberCount& b) { return a.label < b.label; }

/// Rising labels, each once.
std::vector<MemberCount> added_up(std::vector<MemberCount> counts) {
  std::sort(counts.begin(), counts.end(), by_label);
  std::vector<MemberCount> sums;
  for (const MemberCount& one : counts) {
    if (sums.empty() || sums.back().label != one.label) sums.push_back({one.label, 0});
    sums.back().count += one.count;
  }
  return sums;
}

/// Who gets which group of those that this rank has members of, by rising label. For each label one rank, which has
/// nothing else to do with it, adds up what the ranks have.
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
  const auto told = exchange_lists(ranks, asked);
  std::vector<GroupOwner> sums;
  std::vector<MemberCount> all;
  for (const auto& list : told) all.insert(all.end(), list.begin(), list.end());
  for (const MemberCount& one : added_up(std::move(all))) sums.push_back({one.label, one.count, 0, 0});
  const auto sum_of = [&](std::uint64_t label) {
    return std::lower_bound(sums.begin(), sums.end(), label,
                            [](const GroupOwner& a, std::uint64_t b) { return a.label < b; });
  };
  for (std::size_t rank = 0; rank < size; ++rank)
    for (const MemberCount& one : told[rank])
      if (const auto sum = sum_of(one.label); one.count > sum->most)
        sum->most = one.count, sum->owner = static_cast<std::int64_t>(rank);
  std::vector<std::vector<GroupOwner>> answers(size);
  for (std::size_t rank = 0; rank < size; ++rank)
    for (const MemberCount& one : told[rank]) answers[rank].push_back(*sum_of(one.label));
  for (const auto& list : exchange_lists(ranks, answers))
    for (const GroupOwner& one : list)
      if (one.count >= least) found.push_back(one);
  std::sort(found.begin(), found.end(), [](const GroupOwner& a, const GroupOwner& b) { return a.label < b.label; });
  return found;
}

/// Particles of one label after the other, each group by rising id.
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
  // Labels rise: of groups of one size that with the lowest id is first.
  std::stable_sort(found.groups.begin(), found.groups.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return found;
}

}  // namespace

FriendSlabs::FriendSlabs(Communicator& ranks, const FriendFrame& frame, const Particles& own) : frame_(frame) {
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<std::int64_t> planes;
  for (const double z : own.z) planes.push_back(plane_at(z));
  std::sort(planes.begin(), planes.end());
  std::int64_t total = own.size();
  ranks.all_reduce(&total, 1, Reduction::sum);
  // All cuts at once are searched by halves: the first plane before which a rank's share is reached.
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

SlabGuests FriendSlabs::guests_of(Communicator& ranks, const Particles& here, int threads) const {
  const int own = ranks.rank();
  SlabGuests guests{{}, std::vector<std::uint8_t>(here.z.size(), 0)};
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
      guests.is_guest[i] = 1;
    }
  }
  for (const Lists& lists : to) guests.routings.push_back(route_lists(ranks, threads, lists));
  return guests;
}

Particles bring_to_slabs(Communicator& ranks, const FriendSlabs& slabs, Particles own, int threads) {
  Lists to = lists_for(ranks);
  for (std::size_t i = 0; i < own.z.size(); ++i)
    to[static_cast<std::size_t>(slabs.rank_at(own.z[i]))].push_back(static_cast<std::uint32_t>(i));
  const Routing routing = route_lists(ranks, threads, to);
  to.clear();
  return route_particles(routing, std::move(own));
}

OwnGroups friends_in_slabs(Communicator& ranks, const FriendSlabs& slabs, const Particles& here, std::int64_t least,
                           const Device& device) {
  const Device cpu = device.is_cuda() ? Device::open("cpu", device.threads()) : device;
  const SlabGuests guests = slabs.guests_of(ranks, here, cpu.threads());
  std::size_t seen = here.id.size();
  for (const Routing& routing : guests.routings) seen += static_cast<std::size_t>(routing.arriving());
  const auto add_guests = [&](const auto& own, auto& to) {
    for (const Routing& routing : guests.routings) {
      const auto arrived = routing.there(own.data());
      to.insert(to.end(), arrived.begin(), arrived.end());
    }
  };
  const auto with_guests = [&](const std::vector<double>& own) {
    std::vector<double> all;
    all.reserve(seen);
    all.insert(all.end(), own.begin(), own.end());
    add_guests(own, all);
    return all;
  };
  std::vector<std::uint64_t> guest_id;
  add_guests(here.id, guest_id);
  Particles places;
  places.x = with_guests(here.x), places.y = with_guests(here.y), places.z = with_guests(here.z);
  SlabSets sets = sets_in(std::move(places), here.id, guest_id, slabs.frame(), cpu);
  for (std::size_t i = 0; i < here.id.size(); ++i)
    if (guests.is_guest[i]) sets.is_shared[sets.set[i]] = 1;
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

}  // namespace pergola

// How the particles of a tree over several ranks get to the ranks of their cells, and their order there.
#include <algorithm>
#include <utility>

#include "device/parallel.hpp"
#include "tree/gather_points.hpp"
#include "tree/spread_octree.hpp"

namespace pergola::tree {

namespace {

constexpr std::int64_t route_chunk = 8192;
/// Numbers change a little from step to step: this part more room.
constexpr std::int64_t spare_part = 8;
/// What came from others is sorted into what stayed where it is at most this part of that.
constexpr std::int64_t few = 4;
/// Particles of a rank from which on messages are long whatever they hold.
constexpr std::int64_t many = 1 << 18;

}  // namespace

/// Finds the top of the tree, and which rank works on which particles. The kept particles are sorted.
template <class T>
template <class Real>
TopTree DistributedOctree<T>::route(const Points<Real>& kept, const SofteningDigit& digit) {
  const std::int64_t n = kept.count;
  this->sort_by_place(kept, digit);
  TopTree top = find_top_tree(*ranks_, sort_.keys.data(), n, total_, weights_before(sort_, n));
  const auto size = static_cast<std::size_t>(ranks_->size());
  std::vector<std::int64_t> sent(size);
  for (const TopTree::Leaf& leaf : top.leaves) sent[static_cast<std::size_t>(leaf.rank)] += leaf.end - leaf.begin;
  std::vector<std::uint32_t> order(sort_.values.data(), sort_.values.data() + n);
  routing_.plan(*ranks_, device_.threads(), order, std::move(sent), std::vector<PlaceRun>(size));
  return top;
}

/// The kept particles as they arrive, in the memory that gather_arrived() leaves to what it makes of them. Without
/// `equal_mass` masses differ.
template <class T>
template <class Real>
Points<Real> DistributedOctree<T>::bring(const Points<Real>& kept, const std::optional<double>& equal_mass,
                                         bool with_species, bool with_id) {
  Points<Real> here;
  here.count = routing_.arriving();
  here.box = kept.box;
  const std::int64_t n = here.count, more = n / spare_part;
  Arena arena(device_);
  for (auto* buffer : {&this->x_, &this->y_, &this->z_, &this->mass_, &spare_}) arena.room(*buffer, n, more);
  Real *const x = room<Real>(0), *const y = room<Real>(1), *const z = room<Real>(2), *const mass = room<Real>(3);
  send_there<Real>({kept.x, kept.y, kept.z}, {x, y, z});
  if (equal_mass)
    std::fill_n(mass, n, static_cast<Real>(*equal_mass));
  else
    routing_.template there<Real, 1>({kept.mass}, {mass});
  here.x = x, here.y = y, here.z = z, here.mass = mass;
  if (with_species) {
    arena.room(species_, n, more);
    routing_.template there<std::uint8_t, 1>({kept.species}, {species_.data()});
    here.species = species_.data();
  }
  if (with_id) {
    auto* const id = reinterpret_cast<std::uint64_t*>(spare_.data());
    routing_.template there<std::uint64_t, 1>({kept.id}, {id});
    here.id = id;
  }
  return here;
}

/// Of many particles one number after the other, so that a message is shorter. All ranks do the same.
template <class T>
template <class Real>
void DistributedOctree<T>::send_there(const std::array<const Real*, 3>& kept, const std::array<Real*, 3>& here) const {
  if (total_ < ranks_->size() * many) return routing_.template there<Real, 3>(kept, here);
  for (std::size_t k = 0; k < 3; ++k) routing_.template there<Real, 1>({kept[k]}, {here[k]});
}

template <class T>
template <class Real>
void DistributedOctree<T>::send_back(const std::array<const Real*, 3>& here, const std::array<Real*, 3>& kept) const {
  if (total_ < ranks_->size() * many) return routing_.template back<Real, 3>(here, kept);
  for (std::size_t k = 0; k < 3; ++k) routing_.template back<Real, 1>({here[k]}, {kept[k]});
}

/// Numbers of the particles that arrived, in the tree's order: each field into memory that is not used any more, which
/// of the first are the ids.
template <class T>
template <class Real>
void DistributedOctree<T>::gather_arrived(const Points<Real>& here, const TreeSoftening& softening) {
  this->gather(Points<Real>{}, softening);  // the softening that all have
  const std::int64_t n = here.count, more = n / spare_part;
  Arena arena(device_);
  const PointGatherer<Real> from{device_.threads(), here, frame_, sort_.values.data()};
  if (by_particle_) {
    arena.room(this->epsilon2_, n, more);
    from.epsilon2(softening, this->epsilon2_.data());
  }
  from.x(spare_.data()), this->x_.swap(spare_);
  from.y(spare_.data()), this->y_.swap(spare_);
  from.z(spare_.data()), this->z_.swap(spare_);
  from.mass(spare_.data()), this->mass_.swap(spare_);
}

/// The keys of what stayed are sorted already: what came from others is put between them, as a stable sort of all that
/// arrived would. False: there is too much of it.
template <class T>
template <class Real>
bool DistributedOctree<T>::merge_arrived(const Points<Real>& here, const SofteningDigit& digit) {
  const PlaceRun sorted = routing_.staying(), stayed = routing_.stayed();
  const std::int64_t others = here.count - stayed.count;
  if (others > stayed.count / few) return false;
  struct Other {
    std::uint64_t key;
    std::uint32_t number;
    std::int64_t before;  // so many of those that stayed
  };
  std::vector<Other> from_others;
  from_others.reserve(static_cast<std::size_t>(others));
  const std::uint64_t* const keys = sort_.keys.data() + sorted.first;
  for (std::int64_t i = 0; i < here.count; ++i) {
    if (i == stayed.first) i += stayed.count;
    if (i == here.count) break;
    const std::uint64_t key = upper_key(here, frame_, digit, i);
    const auto* const end = keys + stayed.count;
    const auto* const at = i < stayed.first ? std::lower_bound(keys, end, key) : std::upper_bound(keys, end, key);
    from_others.push_back({key, static_cast<std::uint32_t>(i), at - keys});
  }
  std::sort(from_others.begin(), from_others.end(),
            [](const Other& a, const Other& b) { return a.key != b.key ? a.key < b.key : a.number < b.number; });
  Arena arena(device_);
  arena.room(sort_.other_keys, here.count, here.count / spare_part);
  arena.room(sort_.other_values, here.count, here.count / spare_part);
  std::uint64_t* const to_keys = sort_.other_keys.data();
  std::uint32_t* const to_values = sort_.other_values.data();
  for (std::size_t k = 0; k < from_others.size(); ++k) {
    const std::int64_t at = from_others[k].before + static_cast<std::int64_t>(k);
    to_keys[at] = from_others[k].key, to_values[at] = from_others[k].number;
  }
  parallel_chunks(device_.threads(), stayed.count, route_chunk, [&](std::int64_t begin, std::int64_t end) {
    auto next = std::upper_bound(from_others.begin(), from_others.end(), begin,
                                 [](std::int64_t at, const Other& other) { return at < other.before; });
    for (std::int64_t i = begin; i < end; ++i) {
      while (next != from_others.end() && next->before <= i) ++next;
      const std::int64_t at = i + (next - from_others.begin());
      to_keys[at] = keys[i], to_values[at] = static_cast<std::uint32_t>(stayed.first + i);
    }
  });
  sort_.keys.swap(sort_.other_keys);
  sort_.values.swap(sort_.other_values);
  return true;
}

template TopTree DistributedOctree<float>::route(const Points<float>&, const SofteningDigit&);
template TopTree DistributedOctree<float>::route(const Points<double>&, const SofteningDigit&);
template TopTree DistributedOctree<double>::route(const Points<double>&, const SofteningDigit&);
template Points<float> DistributedOctree<float>::bring(const Points<float>&, const std::optional<double>&, bool, bool);
template Points<double> DistributedOctree<float>::bring(const Points<double>&, const std::optional<double>&, bool,
                                                        bool);
template Points<double> DistributedOctree<double>::bring(const Points<double>&, const std::optional<double>&, bool,
                                                         bool);
template void DistributedOctree<float>::gather_arrived(const Points<float>&, const TreeSoftening&);
template void DistributedOctree<float>::send_there(const std::array<const float*, 3>&,
                                                   const std::array<float*, 3>&) const;
template void DistributedOctree<float>::send_back(const std::array<const float*, 3>&,
                                                  const std::array<float*, 3>&) const;
template bool DistributedOctree<float>::merge_arrived(const Points<float>&, const SofteningDigit&);
template void DistributedOctree<float>::gather_arrived(const Points<double>&, const TreeSoftening&);
template void DistributedOctree<float>::send_there(const std::array<const double*, 3>&,
                                                   const std::array<double*, 3>&) const;
template void DistributedOctree<float>::send_back(const std::array<const double*, 3>&,
                                                  const std::array<double*, 3>&) const;
template bool DistributedOctree<float>::merge_arrived(const Points<double>&, const SofteningDigit&);
template void DistributedOctree<double>::gather_arrived(const Points<double>&, const TreeSoftening&);
template void DistributedOctree<double>::send_there(const std::array<const double*, 3>&,
                                                    const std::array<double*, 3>&) const;
template void DistributedOctree<double>::send_back(const std::array<const double*, 3>&,
                                                   const std::array<double*, 3>&) const;
template bool DistributedOctree<double>::merge_arrived(const Points<double>&, const SofteningDigit&);

}  // namespace pergola::tree

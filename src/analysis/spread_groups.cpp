#include "analysis/spread_groups.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analysis/centers.hpp"
#include "analysis/found_groups.hpp"
#include "analysis/profile.hpp"
#include "comm/collectives.hpp"
#include "device/parallel.hpp"

namespace pergola {

namespace {

/// Cells of a neighbourhood in a thin slab are made for no less of the box.
constexpr double least_part = 1.0 / 32;
/// Spheres of groups that have about so many members are looked around at a time, for what is in them takes memory.
constexpr std::int64_t most_at_once = std::int64_t{1} << 20;

/// A group among those of all ranks.
struct GroupPlace {
  std::int64_t particles = 0;
  std::uint64_t lowest_id = 0;
};
bool comes_before(const GroupPlace& a, const GroupPlace& b) {
  return a.particles != b.particles ? a.particles > b.particles : a.lowest_id < b.lowest_id;
}

/// Something of a group, on its way to all ranks.
template <class V>
struct OfGroup {
  std::int64_t number = 0;
  V value{};
};
/// By number, from the first that there is.
template <class V>
std::vector<V> gather_by_number(Communicator& ranks, const std::vector<OfGroup<V>>& own) {
  auto all = gather_lists_on_all(ranks, own);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  std::vector<V> values;
  for (const auto& one : all) values.push_back(one.value);
  return values;
}

/// A particle in a message.
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

/// With these particles instead of its own.
AnalysisSnapshot with_particles(AnalysisSnapshot frame, Particles particles) {
  frame.particles = std::move(particles);
  return frame;
}

}  // namespace

SpreadGroups::SpreadGroups(std::shared_ptr<Communicator> ranks, AnalysisSnapshot own, const AnalysisOptions& options,
                           const Device& device)
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

std::vector<double> SpreadGroups::masses() const {
  std::vector<OfGroup<double>> own;
  for (std::size_t k = 0; k < numbers_.size(); ++k)
    own.push_back({numbers_[k], group_mass(members_, friends_.groups[k])});
  return gather_by_number(*ranks_, own);
}

std::vector<GroupProperties> SpreadGroups::properties(std::int64_t first, std::int64_t count) {
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

void SpreadGroups::measure_spheres(std::vector<GroupProperties>& groups) {
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

std::vector<AnalysisSnapshot> SpreadGroups::all_in(const std::vector<Sphere>& spheres) {
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

std::vector<AnalysisSnapshot> SpreadGroups::chosen_in(const std::vector<Sphere>& spheres) {
  auto found = all_in(spheres);
  for (AnalysisSnapshot& around : found)
    if (around.particles.size() > 0) around = chosen_species(std::move(around), options_);
  return found;
}

}  // namespace pergola

#include "tree/forest_domains_cuda.cuh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cub/device/device_scan.cuh>
#include <numeric>
#include <utility>

#include "device/launch.cuh"
#include "domain/common_value.hpp"
#include "tree/traverse_cuda.cuh"

namespace pergola::tree {

namespace {

constexpr std::uint32_t no_rank = 0xffffffffu;

/// The ranks that a particle at a place visits, each once.
struct GhostRanks {
  int level;
  int root_block_shift;
  const RootsAlong* along;
  const std::uint32_t* owner;  // by plot
  __device__ std::uint32_t of(std::uint32_t place) const { return owner[place >> root_block_shift]; }
  template <class Use>
  __device__ void each(std::uint32_t place, const Use& use) const {
    const PlacesAround around(level, along, place);
    std::uint32_t seen[64];
    std::uint32_t count = 0;
    for (std::uint32_t k = 0; k < around.count(); ++k) {
      const std::uint32_t rank = of(around.place(k));
      bool known = rank == no_rank || rank == of(place);
      for (std::uint32_t s = 0; s < count && !known; ++s) known = seen[s] == rank;
      if (known) continue;
      seen[count++] = rank;
      use(rank);
    }
  }
};

/// Particles that follow one another are often at one place: a warp adds up once for each of its places.
__device__ void count_at(std::uint32_t place, std::uint32_t* counts) {
  const unsigned mates = __match_any_sync(__activemask(), place);
  if (static_cast<int>(threadIdx.x) % 32 == __ffs(static_cast<int>(mates)) - 1)
    atomicAdd(&counts[place], static_cast<std::uint32_t>(__popc(mates)));
}

}  // namespace

template <class Real>
ForestDomains<Real>::ForestDomains(const std::shared_ptr<DeviceMessages>& messages, std::shared_ptr<Communicator> ranks,
                                   LentMemory scratch)
    : device_(messages->device()),
      ranks_(std::move(ranks)),
      scratch_(std::move(scratch)),
      way_(messages),
      ghosts_(messages),
      masses_(device_, ranks_) {}

/// By particle: the place of its root, and what the plan of their ways takes.
template <class Real>
struct ForestDomains<Real>::Cut {
  std::uint32_t* place_of;
  std::byte* work;
  std::int64_t bytes;
  Cut(const ForestDomains& of, std::byte* memory, std::int64_t kept) {
    MemoryParts parts(memory);
    place_of = parts.take<std::uint32_t>(kept), work = parts.take<std::byte>(of.way_.work_bytes(kept));
    bytes = parts.used();
  }
};

template <class Real>
std::int64_t ForestDomains<Real>::scratch_bytes(std::int64_t n) const {
  return Cut(*this, nullptr, n).bytes;
}

/// A rank's roots as a cuboid: each second cut is along the next axis. Beyond its sides come the roots around.
template <class Real>
std::int64_t ForestDomains<Real>::ghosts_of(std::int64_t n, const Forest& forest) const {
  const double along = std::ldexp(1.0, forest.level);
  double sides[3] = {along, along, along}, own = 1, with_ghosts = 1;
  int axis = 0;
  for (double left = ranks_->size(); left > 1; left /= 2) sides[axis++ % 3] /= std::min(left, 2.0);
  for (const double side : sides) own *= side, with_ghosts *= std::min(along, side + 2);
  return static_cast<std::int64_t>((with_ghosts / own - 1) * static_cast<double>(n));
}

template <class Real>
std::int64_t ForestDomains<Real>::device_bytes(std::int64_t n, const Forest& forest, bool with_species) const {
  const std::int64_t ghosts = ghosts_of(n, forest), places = forest.places();
  Arena count;
  count.room(memory_, std::max(Own(nullptr, n).bytes, Arrived(nullptr, n + ghosts, with_species).bytes));
  count.room(counts_, forest.root_blocks()), count.room(owner_, forest.root_blocks()),
      count.room(visit_begin_, places + 1);
  return count.bytes() + way_.own_bytes(n) + ghosts_.own_bytes(ghosts);
}

/// From what is in each plot on this rank, particles or work, to the ranks that have them: stretches of about as much.
template <class Real>
std::vector<std::uint32_t> ForestDomains<Real>::owners(std::vector<std::int64_t> counts) const {
  ranks_->all_reduce(counts.data(), counts.size(), Reduction::sum);
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), size = ranks_->size();
  std::vector<std::uint32_t> owner(counts.size(), no_rank);
  std::int64_t before = 0;
  for (std::size_t root_block = 0; root_block < counts.size(); ++root_block) {
    const std::int64_t middle = before + counts[root_block] / 2;
    if (counts[root_block] > 0) owner[root_block] = static_cast<std::uint32_t>(middle * size / total);
    before += counts[root_block];
  }
  return owner;
}

template <class Real>
void ForestDomains<Real>::cut(const Points<Real>& points, const Frame& frame, const Forest& forest,
                              const CountedWork& work) {
  device_.make_current();
  Arena arena(device_);
  const Cut cut(*this, scratch_(scratch_bytes(points.count)), points.count);
  equal_mass_ = masses_.of(points.mass, points.count);
  arena.room(counts_, forest.root_blocks());
  counts_.zero();
  const int shift = 3 * (key_levels - forest.level), root_block_shift = forest.root_block_shift();
  cuda::launch("particles by root", points.count, device_.stream(),
               [=, place_of = cut.place_of, counts = counts_.data()] __device__(std::int64_t i) {
                 const auto place = static_cast<std::uint32_t>(upper_key(points, frame, {}, i) >> shift);
                 place_of[i] = place;
                 count_at(place >> root_block_shift, counts);
               });
  std::vector<std::uint32_t> here(static_cast<std::size_t>(forest.root_blocks()));
  device_.memory().to_host(here.data(), counts_.data(), here.size() * sizeof here[0]);
  std::vector<std::int64_t> of_root_block(here.begin(), here.end());
  std::int64_t unknown = work.by_root_block.size() != of_root_block.size() ? 1 : 0;
  ranks_->all_reduce(&unknown, 1, Reduction::maximum);
  for (std::size_t p = 0; !unknown && p < of_root_block.size(); ++p)
    of_root_block[p] = of_root_block[p] * work.times * work_of_particle + work.by_root_block[p];
  set(owner_, owners(std::move(of_root_block)));
  const auto list = way_.listing(points.count, cut.work);
  cuda::launch("owners of particles", points.count, device_.stream(),
               [=, place_of = cut.place_of, owner = owner_.data()] __device__(std::int64_t i) {
                 list.rank[i] = owner[place_of[i] >> root_block_shift],
                 list.particle[i] = static_cast<std::uint32_t>(i);
               });
  way_.plan(points.count, cut.work);
}

/// The ranks that particles at each of this rank's places visit: found once for all of them.
template <class Real>
void ForestDomains<Real>::find_visits(const Forest& forest) {
  set(along_, roots_along(forest));
  const std::int64_t places = forest.places();
  const GhostRanks ranks{forest.level, forest.root_block_shift(), along_.data(), owner_.data()};
  Arena arena(device_);
  arena.room(visit_begin_, places + 1);
  std::uint32_t* const begin = visit_begin_.data();
  cuda::launch("visits", places + 1, device_.stream(),
               [=, own = static_cast<std::uint32_t>(ranks_->rank())] __device__(std::int64_t p) {
                 const auto place = static_cast<std::uint32_t>(p);
                 std::uint32_t count = 0;
                 if (p < places && ranks.of(place) == own) ranks.each(place, [&](std::uint32_t) { ++count; });
                 begin[p] = count;
               });
  arena.room(visits_, sum_before(begin, places + 1));
  cuda::launch("visits", places, device_.stream(), [=, to = visits_.data()] __device__(std::int64_t p) {
    std::uint32_t at = begin[p];
    if (at < begin[p + 1]) ranks.each(static_cast<std::uint32_t>(p), [&](std::uint32_t rank) { to[at++] = rank; });
  });
}

/// Each of the numbers becomes the sum of those before it; returns the last.
template <class Real>
std::uint32_t ForestDomains<Real>::sum_before(std::uint32_t* numbers, std::int64_t count) {
  std::size_t bytes = 0;
  const auto add_up = [&](void* scratch) {
    cuda::check(cub::DeviceScan::ExclusiveSum(scratch, bytes, numbers, numbers, count, cuda::handle(device_.stream())),
                "guests");
  };
  add_up(nullptr);
  Arena(device_).room(scan_work_, static_cast<std::int64_t>(bytes));
  add_up(scan_work_.data());
  std::uint32_t last = 0;
  device_.memory().to_host(&last, numbers + count - 1, sizeof last);
  return last;
}

template <class Real>
void ForestDomains<Real>::find_ghosts(const Points<Real>& points, const Frame& frame, const Forest& forest) {
  device_.make_current();
  own_ = points.count;
  Arena(device_).room(memory_, Own(nullptr, own_).bytes);
  const Own at(memory_.data(), own_);
  find_visits(forest);
  cuda::launch("guests", own_ + 1, device_.stream(),
               [=, own = own_, shift = 3 * (key_levels - forest.level),
                visits = visit_begin_.data()] __device__(std::int64_t i) {
                 at.ghost_begin[i] = 0;
                 if (i == own) return;
                 const auto place = static_cast<std::uint32_t>(upper_key(points, frame, {}, i) >> shift);
                 at.place[i] = place;
                 at.ghost_begin[i] = visits[place + 1] - visits[place];
               });
  const std::uint32_t ghosts = sum_before(at.ghost_begin, own_ + 1);
  std::byte* const work = scratch_(ghosts_.work_bytes(ghosts));
  const auto list = ghosts_.listing(ghosts, work);
  cuda::launch("guests", own_, device_.stream(),
               [=, visits = visit_begin_.data(), rank = visits_.data()] __device__(std::int64_t i) {
                 std::uint32_t visit = visits[at.place[i]];
                 for (std::uint32_t k = at.ghost_begin[i]; k < at.ghost_begin[i + 1]; ++k, ++visit)
                   list.rank[k] = rank[visit], list.particle[k] = static_cast<std::uint32_t>(i);
               });
  ghosts_.plan(ghosts, work);
}

template <class Real>
Points<Real> ForestDomains<Real>::with_ghosts(const Points<Real>& own, bool with_species, std::uint64_t* ids) {
  device_.make_current();
  const std::int64_t all = count(), bytes = Arrived(nullptr, all, with_species).bytes;
  Arena(device_).room(memory_, bytes, bytes / 32);  // numbers change a little from build to build
  const Arrived to(memory_.data(), all, with_species);
  const auto [x, y, z, mass] = to.real;
  copy_own(own.x, x), copy_own(own.y, y), copy_own(own.z, z);
  ghosts_.template there<Real, 3>({x, y, z}, {x + own_, y + own_, z + own_});
  if (equal_mass_)
    fill_cuda(device_, *equal_mass_, all, mass);
  else
    add_ghosts(own.mass, mass);
  if (with_species) add_ghosts(own.species, to.species);
  if (ids) add_ghosts(own.id, ids);
  return {all, x, y, z, mass, with_species ? to.species : nullptr, ids, own.box};
}

template class ForestDomains<float>;
template class ForestDomains<double>;

}  // namespace pergola::tree

#include <atomic>
#include <cmath>
#include <future>

#include "analysis/group_centers.hpp"
#include "analysis/groups_cuda.cuh"
#include "analysis/neighbourhood.hpp"
#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/sort.hpp"

namespace pergola {

namespace {

/// CUB counts them in an int.
constexpr std::int64_t most_on_gpu = std::int64_t{1} << 31;
constexpr std::int64_t chunk = 64;  // of groups that one thread of the host looks at

bool ids_rise(const std::vector<std::uint64_t>& id, int threads) {
  constexpr std::int64_t ids = std::int64_t{1} << 18;
  std::atomic<bool> rise = true;
  parallel_chunks(threads, static_cast<std::int64_t>(id.size()), ids, [&](std::int64_t begin, std::int64_t end) {
    bool here = true;
    for (auto i = static_cast<std::size_t>(begin > 0 ? begin : 1); i < static_cast<std::size_t>(end); ++i)
      here &= id[i - 1] < id[i];
    if (!here) rise = false;
  });
  return rise;
}

struct OwnNumbers {
  std::uint32_t* numbers;
  __device__ void operator()(std::int64_t i) const { numbers[i] = static_cast<std::uint32_t>(i); }
};

Buffer<std::uint32_t> order_by_id(const Device& device, const std::vector<std::uint64_t>& id) {
  Buffer<std::uint64_t> keys(device, id);
  Buffer<std::uint32_t> order(device, keys.size());
  cuda::launch("own numbers", keys.size(), device.stream(), OwnNumbers{order.data()});
  cuda::sort_order(device, keys, order, 64);
  return order;
}

/// Where they are on the host.
std::vector<std::size_t> members_of(const Device& device, const GroupRange& groups, std::size_t group) {
  std::vector<std::uint32_t> members(static_cast<std::size_t>(groups.size(group)));
  device.memory().to_host(members.data(), groups.members + groups.begin[group], members.size() * sizeof members[0]);
  return {members.begin(), members.end()};
}

}  // namespace

GpuParticles::GpuParticles(const Device& on, const Particles& p) : device(on), count(p.size()) {
  auto places = uploaded_cuda<double, 3>(device, {&p.x, &p.y, &p.z});
  x.swap(places[0]), y.swap(places[1]), z.swap(places[2]);
  if (ids_rise(p.id, device.threads())) return;
  device.make_current();
  by_id = order_by_id(device, p.id);
  rank = Buffer<std::uint32_t>(device, count);
  invert(device, count, by_id.data(), rank.data());
}

void GpuParticles::bring_motion(const Particles& p) {
  auto motion = uploaded_cuda<double, 4>(device, {&p.mass, &p.vx, &p.vy, &p.vz});
  mass.swap(motion[0]), vx.swap(motion[1]), vy.swap(motion[2]), vz.swap(motion[3]);
}

FriendGroups lists_of(const Device& device, const GpuGroups& groups) {
  FriendGroups lists;
  lists.groups.resize(groups.begin.size() - 1);
  const auto members = groups.members.to_host();
  parallel_for(device.threads(), static_cast<std::int64_t>(lists.groups.size()), [&](std::int64_t k) {
    const auto group = static_cast<std::size_t>(k);
    lists.groups[group].assign(members.begin() + groups.begin[group], members.begin() + groups.begin[group + 1]);
  });
  return lists;
}

bool GroupsOnGpu::can_measure(const Device& device, const AnalysisSnapshot& snapshot) {
  return device.is_cuda() && snapshot.particles.size() < most_on_gpu;
}

bool GroupsOnGpu::can_find(const Device& device, std::int64_t particles, const FriendFrame& frame) {
  return device.is_cuda() && particles < most_on_gpu && has_narrow_keys(frame);
}

GroupsOnGpu::GroupsOnGpu(const Device& device, const AnalysisSnapshot& chosen, const FriendFrame& frame,
                         std::int64_t least)
    : chosen_(chosen), particles_(device, chosen.particles) {
  // The one while the other.
  auto motion = std::async(std::launch::async, [&] { particles_.bring_motion(chosen.particles); });
  groups_ = find_groups_cuda(particles_, frame, least);
  motion.get();
}

GroupsOnGpu::GroupsOnGpu(const Device& device, const AnalysisSnapshot& chosen,
                         std::span<const std::vector<std::size_t>> groups)
    : chosen_(chosen), particles_(device, chosen.particles) {
  particles_.bring_motion(chosen.particles);
  for (const auto& group : groups)
    groups_.begin.push_back(groups_.begin.back() + static_cast<std::int64_t>(group.size()));
  std::vector<std::uint32_t> members(static_cast<std::size_t>(groups_.begin.back()));
  parallel_for(device.threads(), count(), [&](std::int64_t k) {
    auto to = members.begin() + groups_.begin[static_cast<std::size_t>(k)];
    for (const std::size_t i : groups[static_cast<std::size_t>(k)]) *to++ = static_cast<std::uint32_t>(i);
  });
  groups_.members = Buffer<std::uint32_t>(device, members);
}

GroupRange GroupsOnGpu::range(std::int64_t first, std::int64_t count) const {
  const auto from = groups_.begin.begin() + first;
  return {groups_.members.data(), {from, from + count + 1}};
}

std::vector<double> GroupsOnGpu::masses() const {
  std::vector<double> masses;
  for (const MemberSums& sums : member_sums_cuda(particles_, range(0, count()))) masses.push_back(sums.mass);
  return masses;
}

std::vector<GroupProperties> GroupsOnGpu::member_properties(std::int64_t first, std::int64_t count) const {
  const Device& device = particles_.device;
  const GroupRange groups = range(first, count);
  const auto sums = member_sums_cuda(particles_, groups);
  const auto deepest = deepest_members_cuda(particles_, chosen_.box, groups);
  std::vector<GroupProperties> found(sums.size());
  std::vector<Vec3<double>> centers(sums.size());
  const auto measure = [&](std::size_t k, const Device& by) {
    std::size_t member = deepest[k].deepest;
    if (!deepest[k].is_sure) {
      const auto members = members_of(device, groups, k);
      member = members[deepest_member(chosen_, members, by)];
    }
    found[k] = properties_of(sums[k], groups.size(k));
    found[k].center = centers[k] = place_of_member(chosen_, deepest[k].first, member);
  };
  // Those that are not sure and large one after the other, each by the tree on the GPU.
  const Device one_thread = Device::open("cpu", 1);
  const auto is_alone = [&](std::size_t k) { return !deepest[k].is_sure && groups.size(k) > most_for_pairs_in_group; };
  for (std::size_t k = 0; k < found.size(); ++k)
    if (is_alone(k)) measure(k, device);
  parallel_chunks(device.threads(), count, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
      if (!is_alone(k)) measure(k, one_thread);
  });
  const auto reaches = reaches_cuda(particles_, chosen_.box, groups, centers);
  for (std::size_t k = 0; k < found.size(); ++k) found[k].reach = reaches[k];
  return found;
}

std::vector<GroupProperties> GroupsOnGpu::properties(const AnalysisSnapshot& all, std::int64_t first,
                                                     std::int64_t count) const {
  auto found = member_properties(first, count);
  const Device& device = particles_.device;
  const HaloDensities limits = halo_densities(all, device.threads());
  if (std::isnan(limits.mean) || found.empty()) return found;
  if (!can_measure(device, all)) {
    measure_spheres(all, limits, device.threads(), found);
  } else if (&all == &chosen_) {
    measure_spheres_in(particles_, all, limits, found);
  } else {
    GpuParticles particles(device, all.particles);
    particles.bring_motion(all.particles);
    measure_spheres_in(particles, all, limits, found);
  }
  return found;
}

void GroupsOnGpu::measure_spheres_in(const GpuParticles& particles, const AnalysisSnapshot& all,
                                     const HaloDensities& limits, std::vector<GroupProperties>& groups) {
  struct Open {
    std::size_t group;
    DensitySearch search;
    bool is_done = false;
  };
  const SpheresOnGpu around(particles, all, limits);
  std::vector<Open> open;
  for (std::size_t k = 0; k < groups.size(); ++k)
    open.push_back({k, DensitySearch(groups[k].mass, limits.lowest(), farthest_in(all.box))});
  while (!open.empty()) {
    std::vector<GpuSphere> spheres;
    for (const Open& one : open) spheres.push_back({groups[one.group].center, one.search.radius()});
    const auto sums = around.sums(spheres);
    parallel_chunks(particles.device.threads(), static_cast<std::int64_t>(open.size()), chunk,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
                        open[k].is_done = open[k].search.is_enough(sums[k].within);
                        if (open[k].is_done) set_overdensities(all, limits, sums[k], groups[open[k].group]);
                      }
                    });
    std::erase_if(open, [](const Open& one) { return one.is_done; });
  }
}

}  // namespace pergola

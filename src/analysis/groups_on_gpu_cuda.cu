#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>

#include "analysis/groups.hpp"
#include "analysis/groups_cuda.cuh"
#include "analysis/neighbourhood.hpp"
#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/sort.hpp"
#include "particles/box.hpp"
#include "physics/pair.hpp"

// A centre is found on the GPU only if it is sure: rounding differs between CPU and GPU, and two members may be almost
// equally deep. Candidates are summed in double precision; if two of them are within the error, the CPU decides.
namespace pergola {

namespace {

/// CUB counts particles in an int.
constexpr std::int64_t most_on_gpu = std::int64_t{1} << 31;
constexpr std::int64_t chunk = 64;  // groups per task of a host thread

/// Most files have rising ids: then neither order nor ranks of ids are needed.
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

/// Fills 0, 1, 2 … before a sort.
struct OwnNumbers {
  std::uint32_t* numbers;
  __device__ void operator()(std::int64_t i) const { numbers[i] = static_cast<std::uint32_t>(i); }
};

/// Places of the particles in the order of their ids.
Buffer<std::uint32_t> order_by_id(const Device& device, const std::vector<std::uint64_t>& id) {
  Buffer<std::uint64_t> keys(device, id);
  Buffer<std::uint32_t> order(device, keys.size());
  cuda::launch("own numbers", keys.size(), device.stream(), OwnNumbers{order.data()});
  cuda::sort_order(device, keys, order, 64);
  return order;
}

/// Members of a group on the host.
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

// Masses and velocities; finding groups needs only places.
void GpuParticles::bring_motion(const Particles& p) {
  auto motion = uploaded_cuda<double, 4>(device, {&p.mass, &p.vx, &p.vy, &p.vz});
  mass.swap(motion[0]), vx.swap(motion[1]), vy.swap(motion[2]), vz.swap(motion[3]);
}

// The members of all groups on the host.
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
  // Motion is copied while groups are found.
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

// Members stay on the device; `begin` counts from the first member of all groups.
GroupRange GroupsOnGpu::range(std::int64_t first, std::int64_t count) const {
  const auto from = groups_.begin.begin() + first;
  return {groups_.members.data(), {from, from + count + 1}};
}

std::vector<double> GroupsOnGpu::masses() const {
  std::vector<double> masses;
  for (const MemberSums& sums : member_sums_cuda(particles_, range(0, count()))) masses.push_back(sums.mass);
  return masses;
}

// Steps: (1) sums over members, (2) deepest members on the GPU, (3) unsure centres on the host, large groups first,
// (4) the reach about each centre.
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
  // Large groups without a sure centre: one after the other, each by the tree on the GPU.
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

// In rounds: all spheres that are not large enough yet are measured with a larger radius.
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

// Deepest members: depths −φ/G of all members by pairs in single precision, then of the candidates in double precision.
namespace {

using namespace cuda;
using Law = physics::PlummerLaw;

/// Larger groups are not summed over pairs.
constexpr std::int64_t most_for_pairs = std::int64_t{1} << 19;
/// Rough depths err by less than the first part of the largest, depths in double precision by less than the second.
constexpr double rough_doubt = 5e-5, fine_doubt = 1e-12;

/// A member relative to the first of its group.
struct PlacedMember {
  float x, y, z, mass;
};

/// The members that one block serves, from `first` on, and the range of their group.
struct BlockTask {
  std::int64_t begin, end, first;
  std::int64_t group;
};

/// A member that may be the deepest of its group.
struct Candidate {
  std::uint32_t group, member;  // the latter a place in the particle arrays
};

__device__ double softening2(double size2) {
  const double softening = softening_in_sizes * std::sqrt(size2);
  return softening * softening;
}

/// A block per group: members relative to the first, and the largest distance.
__global__ void __launch_bounds__(group_threads)
    place_members(GroupView groups, ParticleView p, Box box, PlacedMember* placed, double* sizes2) {
  const std::int64_t begin = groups.begin[blockIdx.x], end = groups.begin[blockIdx.x + 1];
  const Vec3<double> first = p.place(groups.members[begin]);
  double most2 = 0;
  for (std::int64_t k = begin + threadIdx.x; k < end; k += blockDim.x) {
    const std::uint32_t i = groups.members[k];
    const Vec3<double> d = separation(first, p.place(i), box);
    const double square = dot(d, d);
    most2 = square > most2 ? square : most2;
    placed[k - groups.begin[0]] = {static_cast<float>(d.x), static_cast<float>(d.y), static_cast<float>(d.z),
                                   static_cast<float>(p.mass[i])};
  }
  most2 = largest_of_block(most2);
  if (threadIdx.x == 0) sizes2[blockIdx.x] = most2;
}

/// A thread per member. Sums over one block of sources are in single precision, and are added in double precision.
__global__ void __launch_bounds__(group_threads)
    sum_depths(const BlockTask* tasks, const PlacedMember* members, const double* sizes2, float* depths) {
  __shared__ PlacedMember sources[group_threads];
  const BlockTask task = tasks[blockIdx.x];
  const auto epsilon2 = static_cast<float>(softening2(sizes2[task.group]));
  const std::int64_t own = task.first + threadIdx.x;
  const PlacedMember target = members[own < task.end ? own : task.begin];
  double sum = 0;
  for (std::int64_t from = task.begin; from < task.end; from += group_threads) {
    if (from + threadIdx.x < task.end) sources[threadIdx.x] = members[from + threadIdx.x];
    __syncthreads();
    const int count = task.end - from < group_threads ? static_cast<int>(task.end - from) : group_threads;
    const auto itself = own - from;  // the target's place in this block, if it is inside
    float part = 0;
#pragma unroll 8
    for (int k = 0; k < count; ++k) {
      const Vec3<float> d{sources[k].x - target.x, sources[k].y - target.y, sources[k].z - target.z};
      const float inverse_r = Law::start(d, epsilon2);
      part += Law::depth(k == itself ? 0.0f : sources[k].mass, inverse_r, epsilon2, 0.0f);
    }
    sum += static_cast<double>(part);
    __syncthreads();
  }
  if (own < task.end) depths[own] = static_cast<float>(sum);
}

/// A block per group: lists, in any order, the members that may have the largest depth. None if all are in one place or
/// massless.
__global__ void __launch_bounds__(group_threads)
    find_candidates(GroupView groups, const float* depths, const double* sizes2, Candidate* candidates,
                    unsigned* found) {
  const std::int64_t begin = groups.begin[blockIdx.x], end = groups.begin[blockIdx.x + 1];
  if (!(sizes2[blockIdx.x] > 0)) return;
  const float* const own = depths + (begin - groups.begin[0]);
  double most = 0;
  for (std::int64_t k = threadIdx.x; k < end - begin; k += blockDim.x)
    most = own[k] > most ? static_cast<double>(own[k]) : most;
  most = largest_of_block(most);
  if (!(most > 0)) return;
  for (std::int64_t k = threadIdx.x; k < end - begin; k += blockDim.x)
    if (static_cast<double>(own[k]) >= (1 - rough_doubt) * most)
      candidates[atomicAdd(found, 1u)] = {blockIdx.x, groups.members[begin + k]};
}

/// A block per candidate: its depth in double precision.
__global__ void __launch_bounds__(group_threads)
    sum_fine_depths(const Candidate* candidates, GroupView groups, ParticleView p, Box box, const double* sizes2,
                    double* depths) {
  const Candidate own = candidates[blockIdx.x];
  const std::int64_t begin = groups.begin[own.group], end = groups.begin[own.group + 1];
  const Vec3<double> first = p.place(groups.members[begin]);
  const Vec3<double> at = separation(first, p.place(own.member), box);
  const double epsilon2 = softening2(sizes2[own.group]);
  double sum = 0;
  for (std::int64_t k = begin + threadIdx.x; k < end; k += blockDim.x) {
    const std::uint32_t i = groups.members[k];
    if (i == own.member) continue;
    const Vec3<double> d = separation(first, p.place(i), box) - at;
    sum += Law::depth(p.mass[i], Law::start(d, epsilon2), epsilon2, 0.0);
  }
  using Reduce = cub::BlockReduce<double, group_threads>;
  __shared__ typename Reduce::TempStorage work;
  sum = Reduce(work).Sum(sum);
  if (threadIdx.x == 0) depths[blockIdx.x] = sum;
}

/// Before the search: the first member, not sure.
struct TakeFirst {
  GroupView groups;
  DeepestMember* found;
  __device__ void operator()(std::int64_t group) const {
    const std::uint32_t first = groups.members[groups.begin[group]];
    found[group] = {first, first, false};
  }
};

/// The work of all groups, each in pieces of one block.
std::vector<BlockTask> block_tasks(const std::vector<std::int64_t>& begin) {
  std::vector<BlockTask> tasks;
  for (std::size_t g = 0; g + 1 < begin.size(); ++g)
    for (std::int64_t first = begin[g]; first < begin[g + 1]; first += group_threads)
      tasks.push_back({begin[g] - begin[0], begin[g + 1] - begin[0], first - begin[0], static_cast<std::int64_t>(g)});
  return tasks;
}

/// Candidates of all groups, and their depths.
struct Depths {
  std::vector<Candidate> candidates;
  std::vector<double> depths;
};

/// Rough depths of all members, then the candidates of each group, then their depths in double precision.
Depths candidate_depths(const GpuParticles& particles, const Box& box, const GroupRange& groups) {
  const Device& device = particles.device;
  const cudaStream_t stream = handle(device.stream());
  const auto blocks = static_cast<unsigned>(groups.count());
  const std::int64_t members = groups.begin.back() - groups.begin.front();
  const Buffer<std::int64_t> begin(device, groups.begin);
  const GroupView view{groups.members, begin.data()};
  const ParticleView p(particles);
  Buffer<double> sizes2(device, groups.count());
  Buffer<float> rough(device, members);
  {
    Buffer<PlacedMember> placed(device, members);
    place_members<<<blocks, group_threads, 0, stream>>>(view, p, box, placed.data(), sizes2.data());
    check(cudaGetLastError(), "places of members");
    const Buffer<BlockTask> tasks(device, block_tasks(groups.begin));
    sum_depths<<<static_cast<unsigned>(tasks.size()), group_threads, 0, stream>>>(tasks.data(), placed.data(),
                                                                                  sizes2.data(), rough.data());
    check(cudaGetLastError(), "depths of members");
    device.synchronize();  // their memory ends here
  }
  Buffer<Candidate> candidates(device, members);
  Buffer<unsigned> found(device, 1);
  found.zero();
  find_candidates<<<blocks, group_threads, 0, stream>>>(view, rough.data(), sizes2.data(), candidates.data(),
                                                        found.data());
  check(cudaGetLastError(), "candidates for centres");
  unsigned count = 0;
  found.to_host(&count);
  if (count == 0) return {};
  Buffer<double> fine(device, count);
  sum_fine_depths<<<count, group_threads, 0, stream>>>(candidates.data(), view, p, box, sizes2.data(), fine.data());
  check(cudaGetLastError(), "depths of candidates");
  Depths result{std::vector<Candidate>(count), fine.to_host()};
  device.memory().to_host(result.candidates.data(), candidates.data(), count * sizeof(Candidate));
  return result;
}

}  // namespace

// A group is sure if no second candidate is within the rounding of the deepest. Too large groups stay unsure.
std::vector<DeepestMember> deepest_members_cuda(const GpuParticles& particles, const Box& box,
                                                const GroupRange& groups) {
  const Device& device = particles.device;
  if (groups.count() == 0) return {};
  device.make_current();
  std::vector<DeepestMember> deepest;
  {
    const Buffer<std::int64_t> begin(device, groups.begin);
    Buffer<DeepestMember> found(device, groups.count());
    launch("first members", groups.count(), device.stream(), TakeFirst{{groups.members, begin.data()}, found.data()});
    deepest = found.to_host();
  }
  std::size_t first = 0;  // the largest are first
  while (first < deepest.size() && groups.size(first) > most_for_pairs) ++first;
  if (first == deepest.size()) return deepest;
  const GroupRange small{groups.members,
                         {groups.begin.begin() + static_cast<std::ptrdiff_t>(first), groups.begin.end()}};
  const auto [candidates, depths] = candidate_depths(particles, box, small);
  std::vector<double> most(deepest.size(), 0);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const std::size_t group = first + candidates[k].group;
    if (depths[k] > most[group]) most[group] = depths[k], deepest[group].deepest = candidates[k].member;
  }
  for (std::size_t g = first; g < deepest.size(); ++g) deepest[g].is_sure = true;
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    DeepestMember& of_group = deepest[first + candidates[k].group];
    const double least = (1 - fine_doubt) * most[first + candidates[k].group];
    if (candidates[k].member != of_group.deepest && depths[k] >= least) of_group.is_sure = false;
  }
  return deepest;
}

}  // namespace pergola

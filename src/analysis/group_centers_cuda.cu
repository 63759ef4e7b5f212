#include <algorithm>

#include "analysis/group_centers.hpp"
#include "analysis/groups_cuda.cuh"
#include "particles/separation.hpp"
#include "physics/pair.hpp"

// The deepest members of groups: depths −φ/G of all members by pairs in single precision, and of those that may be the
// deepest by pairs in double precision.
namespace pergola {

namespace {

using namespace cuda;
using Law = physics::PlummerLaw;

/// Larger groups are not summed over pairs.
constexpr std::int64_t most_for_pairs = std::int64_t{1} << 19;
/// Rough depths err by less than this part of the largest, those in double precision by less than the second.
constexpr double rough_doubt = 5e-5, fine_doubt = 1e-12;

/// A member about the first of its group.
struct PlacedMember {
  float x, y, z, mass;
};

/// The members of a group that one block serves, from `first` on.
struct BlockTask {
  std::int64_t begin, end, first;
  std::int64_t group;
};

/// One that may be the deepest of its group.
struct Candidate {
  std::uint32_t group, member;  // the latter a place in the particle arrays
};

__device__ double softening2(double size2) {
  const double softening = softening_in_sizes * std::sqrt(size2);
  return softening * softening;
}

/// A block per group: its members as they are seen from the first of them, and how far the farthest is.
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

/// A thread per member that asks. Sums over as many sources as a block has threads are added in double precision.
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
    const auto itself = own - from;  // its place among these, if it is one of them
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

/// A block per group lists, in any order, its members whose depths are the largest but for doubt. None are where all
/// are in one place, or without mass.
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

/// A block per candidate.
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

struct TakeFirst {
  GroupView groups;
  DeepestMember* found;
  __device__ void operator()(std::int64_t group) const {
    const std::uint32_t first = groups.members[groups.begin[group]];
    found[group] = {first, first, false};
  }
};

/// One after the other, each in pieces as long as a block.
std::vector<BlockTask> block_tasks(const std::vector<std::int64_t>& begin) {
  std::vector<BlockTask> tasks;
  for (std::size_t g = 0; g + 1 < begin.size(); ++g)
    for (std::int64_t first = begin[g]; first < begin[g + 1]; first += group_threads)
      tasks.push_back({begin[g] - begin[0], begin[g + 1] - begin[0], first - begin[0], static_cast<std::int64_t>(g)});
  return tasks;
}

/// Candidates of the groups, and their depths.
struct Depths {
  std::vector<Candidate> candidates;
  std::vector<double> depths;
};

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

#include "analysis/groups_cuda.cuh"
#include "particles/box.hpp"

namespace pergola {

namespace {

using namespace cuda;

struct Motion {
  double mass = 0;
  Vec3<double> velocity{0, 0, 0};
};

/// A warp per group: the lanes fetch members, which are added by rising id.
__global__ void __launch_bounds__(group_threads)
    sum_members(std::int64_t count, GroupView groups, ParticleView p, MemberSums* sums) {
  __shared__ LaneTerms<5> shared[warps_per_block];
  const std::int64_t group = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.x / warp;
  if (group >= count) return;
  const int lane = static_cast<int>(threadIdx.x % warp);
  const std::int64_t begin = groups.begin[group], end = groups.begin[group + 1];
  const auto member = [&](std::int64_t k) { return k < end ? groups.members[k] : groups.members[begin]; };
  const auto motion = [&](std::uint32_t i) { return Motion{p.mass[i], p.velocity(i)}; };
  // Two ahead, so that nothing is waited for.
  Motion next = motion(member(begin + lane));
  std::uint32_t after = member(begin + warp + lane);
  double sum = 0;
  for (std::int64_t from = begin; from < end; from += warp) {
    const Motion own = next;
    next = motion(after);
    after = member(from + 2 * warp + lane);
    const Vec3<double> momentum = own.mass * own.velocity;
    const Terms<5> terms{{own.mass, momentum.x, momentum.y, momentum.z, own.mass * dot(own.velocity, own.velocity)}};
    add_lanes(terms, end - from < warp ? static_cast<int>(end - from) : warp, lane, shared[threadIdx.x / warp], sum);
  }
  const auto of_term = [&](int t) { return __shfl_sync(all_lanes, sum, t); };
  const MemberSums all{of_term(0), {of_term(1), of_term(2), of_term(3)}, of_term(4)};
  if (lane == 0) sums[group] = all;
}

/// A block per group.
__global__ void __launch_bounds__(group_threads)
    find_reaches(GroupView groups, ParticleView p, Box box, const Vec3<double>* centers, double* reaches) {
  const Vec3<double> center = centers[blockIdx.x];
  double most2 = 0;
  for (std::int64_t k = groups.begin[blockIdx.x] + threadIdx.x; k < groups.begin[blockIdx.x + 1]; k += blockDim.x) {
    const Vec3<double> d = separation(center, p.place(groups.members[k]), box);
    const double square = dot(d, d);
    most2 = square > most2 ? square : most2;
  }
  most2 = largest_of_block(most2);
  if (threadIdx.x == 0) reaches[blockIdx.x] = std::sqrt(most2);
}

}  // namespace

std::vector<MemberSums> member_sums_cuda(const GpuParticles& particles, const GroupRange& groups) {
  const Device& device = particles.device;
  if (groups.count() == 0) return {};
  device.make_current();
  const Buffer<std::int64_t> begin(device, groups.begin);
  Buffer<MemberSums> sums(device, groups.count());
  sum_members<<<blocks_of_warps(groups.count()), group_threads, 0, handle(device.stream())>>>(
      groups.count(), {groups.members, begin.data()}, ParticleView(particles), sums.data());
  check(cudaGetLastError(), "sums over members");
  return sums.to_host();
}

std::vector<double> reaches_cuda(const GpuParticles& particles, const Box& box, const GroupRange& groups,
                                 const std::vector<Vec3<double>>& centers) {
  const Device& device = particles.device;
  if (groups.count() == 0) return {};
  device.make_current();
  const Buffer<std::int64_t> begin(device, groups.begin);
  const Buffer<Vec3<double>> from(device, centers);
  Buffer<double> reaches(device, groups.count());
  find_reaches<<<static_cast<unsigned>(groups.count()), group_threads, 0, handle(device.stream())>>>(
      {groups.members, begin.data()}, ParticleView(particles), box, from.data(), reaches.data());
  check(cudaGetLastError(), "reaches of groups");
  return reaches.to_host();
}

}  // namespace pergola

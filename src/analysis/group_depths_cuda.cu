#include "analysis/group_depths.hpp"
#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "physics/pair_laws.hpp"

namespace pergola {

namespace {

constexpr int threads = 256;

/// The members of a group that one block serves, from `first` on.
struct BlockTask {
  std::int64_t begin, end, first;  // of the group, and the first that asks
  float softening2;
};

/// A thread per member that asks. Sums over as many sources as a block has threads are added in double precision.
__global__ void __launch_bounds__(threads)
    sum_depths(const BlockTask* tasks, const PlacedMember* members, float* depths) {
  __shared__ PlacedMember sources[threads];
  using Law = physics::PlummerLaw;
  const BlockTask task = tasks[blockIdx.x];
  const std::int64_t own = task.first + threadIdx.x;
  const PlacedMember target = members[own < task.end ? own : task.begin];
  double sum = 0;
  for (std::int64_t from = task.begin; from < task.end; from += threads) {
    if (from + threadIdx.x < task.end) sources[threadIdx.x] = members[from + threadIdx.x];
    __syncthreads();
    const int count = task.end - from < threads ? static_cast<int>(task.end - from) : threads;
    const auto itself = own - from;  // its place among these, if it is one of them
    float part = 0;
#pragma unroll 8
    for (int k = 0; k < count; ++k) {
      const Vec3<float> d{sources[k].x - target.x, sources[k].y - target.y, sources[k].z - target.z};
      const float inverse_r = Law::start(d, task.softening2);
      part += Law::depth(k == itself ? 0.0f : sources[k].mass, inverse_r, task.softening2, 0.0f);
    }
    sum += static_cast<double>(part);
    __syncthreads();
  }
  if (own < task.end) depths[own] = static_cast<float>(sum);
}

}  // namespace

std::vector<float> group_depths_cuda(const Device& device, const PlacedGroups& groups) {
  std::vector<BlockTask> tasks;
  for (std::size_t g = 0; g + 1 < groups.begin.size(); ++g)
    for (std::int64_t first = groups.begin[g]; first < groups.begin[g + 1]; first += threads)
      tasks.push_back({groups.begin[g], groups.begin[g + 1], first, groups.softening2[g]});
  if (tasks.empty()) return {};
  device.make_current();
  const Buffer<PlacedMember> members(device, groups.members);
  const Buffer<BlockTask> device_tasks(device, tasks);
  Buffer<float> depths(device, members.size());
  sum_depths<<<static_cast<unsigned>(tasks.size()), threads, 0, cuda::handle(device.stream())>>>(
      device_tasks.data(), members.data(), depths.data());
  cuda::check(cudaGetLastError(), "depths of groups");
  return depths.to_host();
}

}  // namespace pergola

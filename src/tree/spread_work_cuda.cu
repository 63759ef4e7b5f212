// Work of the domains of spread particles on GPUs, as it is counted, and as the next build shares it out.
#include "device/launch.cuh"
#include "tree/spread_octree_cuda.cuh"
#include "tree/tree_domains_cuda.cuh"

namespace pergola::tree {

template <class T>
void DistributedOctreeCuda<T>::begin_to_count() {
  Arena(device_).room(work_, own_end(), own_end() / 16);
  work_.zero();
}

template <class T>
std::int64_t DistributedOctreeCuda<T>::counted_work(std::int64_t times) {
  device_.make_current();
  Arena(device_).room(work_sum_, 1);
  work_sum_.zero();
  cuda::launch("tree work", count_ > 0 ? own_end() : 0, device_.stream(),
               [work = work_.data(), sum = work_sum_.data()] __device__(std::int64_t c) {
                 const unsigned lanes = __activemask();
                 // In halves: the work of 32 cells may be more than 32 bits hold.
                 const unsigned low = __reduce_add_sync(lanes, work[c] & 0xffffu);
                 const unsigned long long high = __reduce_add_sync(lanes, work[c] >> 16);
                 if (static_cast<int>(threadIdx.x) % 32 == __ffs(static_cast<int>(lanes)) - 1)
                   atomicAdd(sum, (high << 16) + low);
               });
  return static_cast<std::int64_t>(work_sum_.to_host()[0]) + times * work_of_particle * count_;
}

template <class T>
void DistributedOctreeCuda<T>::find_weights(std::int64_t times, std::uint32_t* by_number) {
  device_.make_current();
  cuda::launch("tree work", count_ > 0 ? own_end() : 0, device_.stream(),
               [=, link = link_.data(), order = place_.data(), work = work_.data(), top = top_cells(),
                not_own = not_own_.data()] __device__(std::int64_t c) {
                 const CellLink l = link[c];
                 if (l.children > 0 || (c < top && not_own[c])) return;
                 const std::int64_t all = times * work_of_particle + work[c] / l.count;
                 const auto weight = static_cast<std::uint32_t>(all < heaviest_particle ? all : heaviest_particle);
                 for (std::uint32_t k = l.first; k < l.first + l.count; ++k) by_number[order[k]] = weight;
               });
}

template void DistributedOctreeCuda<float>::begin_to_count();
template void DistributedOctreeCuda<double>::begin_to_count();
template std::int64_t DistributedOctreeCuda<float>::counted_work(std::int64_t);
template std::int64_t DistributedOctreeCuda<double>::counted_work(std::int64_t);
template void DistributedOctreeCuda<float>::find_weights(std::int64_t, std::uint32_t*);
template void DistributedOctreeCuda<double>::find_weights(std::int64_t, std::uint32_t*);

}  // namespace pergola::tree

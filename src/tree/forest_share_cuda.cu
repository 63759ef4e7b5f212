// Particles of a forest that change ranks, and the work that is counted for its roots.
#include <cstdint>

#include "device/launch.cuh"
#include "tree/octree_cuda.cuh"

namespace pergola::tree {

template <class T>
std::uint64_t* OctreeCuda<T>::room_for_ids(std::int64_t count) {
  static_assert(sizeof(PlacedMass<T>) >= sizeof(std::uint64_t) + sizeof(std::uint32_t));
  Arena(device_).room(particle_, count, count / 32);  // numbers change a little from build to build
  return reinterpret_cast<std::uint64_t*>(particle_.data());
}

template <class T>
void OctreeCuda<T>::add_work(const std::uint32_t* work, unsigned long long* by_root_block) {
  device_.make_current();
  cuda::launch("tree work", count_ > 0 ? cells() : 0, device_.stream(),
               [work, by_root_block, shift = forest_.root_block_shift(), own = share_.own, link = link_.data(),
                parent = parent_.data(), order = place_.data(),
                root_place = forest_.level > 0 ? root_place_.data() : nullptr] __device__(std::int64_t c) {
                 if (work[c] == 0 || order[link[c].first] >= own) return;
                 auto root = static_cast<std::uint32_t>(c);
                 while (parent[root] != root) root = parent[root];
                 atomicAdd(&by_root_block[root_place ? root_place[root] >> shift : 0],
                           static_cast<unsigned long long>(work[c]));
               });
}

template void OctreeCuda<float>::add_work(const std::uint32_t*, unsigned long long*);
template void OctreeCuda<double>::add_work(const std::uint32_t*, unsigned long long*);
template std::uint64_t* OctreeCuda<float>::room_for_ids(std::int64_t);
template std::uint64_t* OctreeCuda<double>::room_for_ids(std::int64_t);

}  // namespace pergola::tree

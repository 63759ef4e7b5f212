// Particles listed by slab, a few layers of the mesh, for threads that must not add to the same cells. Groups of
// neighbours whose clouds begin close to each other are listed as a whole; the particles of other groups one by one.
// Two passes: threads count per list and chunk, a prefix sum turns counts into places, threads write the numbers. The
// order within a list is that of memory, for any number of threads.
#include "mesh/coupling/slab_lists.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "device/parallel.hpp"

namespace pergola::exchange {

namespace {

constexpr std::int64_t groups_in_chunk = 128;

}  // namespace

void SlabList::start(int slabs, std::int64_t chunks) {
  first.assign(static_cast<std::size_t>(slabs) + 1, 0);
  places.assign(static_cast<std::size_t>(chunks) * static_cast<std::size_t>(slabs), 0);
}

// For each list, chunk after chunk.
void SlabList::counts_to_places() {
  const std::size_t slabs = first.size() - 1;
  std::uint32_t next = 0;
  for (std::size_t slab = 0; slab < slabs; ++slab) {
    first[slab] = next;
    for (std::size_t at = slab; at < places.size(); at += slabs) next += std::exchange(places[at], next);
  }
  first[slabs] = next;
  if (numbers.size() < next) numbers.resize(next);
}

template <class Real>
std::int64_t SlabLists<Real>::bytes(std::int64_t particles) {
  const std::int64_t number = sizeof(std::uint32_t);
  return particles * number + particles / group_size * (number + std::int64_t{sizeof(int)});
}

/// Lists may be bundles of rows within some layers, so that a list's cells stay in the cache.
template <class Real>
int SlabLists<Real>::list_at(int layer, const Walk<Real>& walk, const Real* y) const {
  const int list = layer / list_layers_;
  if (bundles_ == 1) return list;
  const int row = std::min(static_cast<int>(walk.frame.place(1, *y)), walk.rows - 1);
  return list * bundles_ + row / bundle_rows;
}

/// The list of a group; off_mesh: none of it is on the mesh; one_by_one: its particles are listed singly.
template <class Real>
int SlabLists<Real>::list_of(LayerRange range, bool complete, const Walk<Real>& walk, const Real* y) const {
  if (range.most == off_mesh) return off_mesh;
  const int slab = range.least / slab_layers_, end = (slab + 1) * slab_layers_ + spare_layers;
  return complete && range.least != off_mesh && range.most < end ? list_at(range.least, walk, y) : one_by_one;
}

template <class Real>
void SlabLists<Real>::fill(int threads, const Walk<Real>& walk, const Loops<Real>& loops,
                           const MeshParticles<Real>& particles) {
  const std::int64_t groups = (particles.count + group_size - 1) / group_size;
  const std::int64_t chunks = (groups + groups_in_chunk - 1) / groups_in_chunk;
  const auto end_of = [&](std::int64_t group) { return std::min((group + 1) * group_size, particles.count); };
  groups_.start(first_list(slabs_), chunks);
  singles_.start(first_list(slabs_), chunks);
  group_list_.resize(static_cast<std::size_t>(groups));
  std::vector<std::int64_t> outside(static_cast<std::size_t>(chunks), 0);
  parallel_chunks(threads, groups, groups_in_chunk, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t* const group_count = groups_.of_chunk(begin / groups_in_chunk);
    std::uint32_t* const single_count = singles_.of_chunk(begin / groups_in_chunk);
    std::int64_t off = 0;
    int layers[group_size];
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t i = group * group_size, count = end_of(group) - i;
      const LayerRange range = loops.find_layers(walk, particles, i, i + count, layers);
      const int list = list_of(range, count == group_size, walk, particles.y + i);
      group_list_[static_cast<std::size_t>(group)] = list;
      if (list == off_mesh) off += count;
      if (list >= 0) ++group_count[list];
      if (list != one_by_one) continue;
      for (std::int64_t k = 0; k < count; ++k)
        if (layers[k] == off_mesh)
          ++off;
        else
          ++single_count[list_at(layers[k], walk, particles.y + i + k)];
    }
    outside[static_cast<std::size_t>(begin / groups_in_chunk)] = off;
  });
  outside_ = std::accumulate(outside.begin(), outside.end(), std::int64_t{0});
  groups_.counts_to_places();
  singles_.counts_to_places();
  parallel_chunks(threads, groups, groups_in_chunk, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t* const group_place = groups_.of_chunk(begin / groups_in_chunk);
    std::uint32_t* const single_place = singles_.of_chunk(begin / groups_in_chunk);
    int layers[group_size];
    for (std::int64_t group = begin; group < end; ++group) {
      const int list = group_list_[static_cast<std::size_t>(group)];
      if (list >= 0) groups_.numbers[group_place[list]++] = static_cast<std::uint32_t>(group);
      if (list != one_by_one) continue;
      const std::int64_t i = group * group_size, count = end_of(group) - i;
      loops.find_layers(walk, particles, i, i + count, layers);
      for (std::int64_t k = 0; k < count; ++k)
        if (layers[k] != off_mesh)
          singles_.numbers[single_place[list_at(layers[k], walk, particles.y + i + k)]++] =
              static_cast<std::uint32_t>(i + k);
    }
  });
}

/// Pieces of work, at least one per slab that has particles. Crowded slabs are cut into pieces of about 1/n of all.
template <class Real>
std::vector<SlabPart> SlabLists<Real>::parts(std::int64_t n) const {
  const std::int64_t all = std::int64_t{groups_.first.back()} * group_size + singles_.first.back();
  const std::int64_t most = std::max<std::int64_t>(1, (all + n - 1) / n);
  std::vector<SlabPart> parts;
  for (int slab = 0; slab < slabs_; ++slab) {
    const int first = first_list(slab), end = first_list(slab + 1);
    const std::int64_t first_group = groups_.begin(first), groups = groups_.begin(end) - first_group;
    const std::int64_t first_single = singles_.begin(first), singles = singles_.begin(end) - first_single;
    const std::int64_t pieces = (groups * group_size + singles + most - 1) / most;
    for (std::int64_t p = 0; p < pieces; ++p) {
      const std::int64_t group = groups * p / pieces, single = singles * p / pieces;
      parts.push_back({slab, groups_.numbers.data() + first_group + group,
                       singles_.numbers.data() + first_single + single, groups * (p + 1) / pieces - group,
                       singles * (p + 1) / pieces - single});
    }
  }
  return parts;
}

template class SlabLists<float>;
template class SlabLists<double>;

}  // namespace pergola::exchange

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

template <class Real>
int SlabLists<Real>::slab_of(LayerRange range, bool complete) const {
  if (range.most == off_mesh) return off_mesh;
  const int slab = range.least / slab_layers_, end = (slab + 1) * slab_layers_ + spare_layers;
  return complete && range.least != off_mesh && range.most < end ? slab : one_by_one;
}

template <class Real>
void SlabLists<Real>::fill(int threads, const Walk<Real>& walk, const Loops<Real>& loops,
                           const MeshParticles<Real>& particles) {
  const std::int64_t groups = (particles.count + group_size - 1) / group_size;
  const std::int64_t chunks = (groups + groups_in_chunk - 1) / groups_in_chunk;
  const auto end_of = [&](std::int64_t group) { return std::min((group + 1) * group_size, particles.count); };
  groups_.start(slabs_, chunks);
  singles_.start(slabs_, chunks);
  group_slab_.resize(static_cast<std::size_t>(groups));
  std::vector<std::int64_t> outside(static_cast<std::size_t>(chunks), 0);
  parallel_chunks(threads, groups, groups_in_chunk, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t* const group_count = groups_.of_chunk(begin / groups_in_chunk);
    std::uint32_t* const single_count = singles_.of_chunk(begin / groups_in_chunk);
    std::int64_t off = 0;
    int layers[group_size];
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t i = group * group_size, count = end_of(group) - i;
      const LayerRange range = loops.find_layers(walk, particles, i, i + count, layers);
      const int slab = slab_of(range, count == group_size);
      group_slab_[static_cast<std::size_t>(group)] = slab;
      if (slab == off_mesh) off += count;
      if (slab >= 0) ++group_count[slab];
      if (slab != one_by_one) continue;
      for (std::int64_t k = 0; k < count; ++k)
        if (layers[k] == off_mesh)
          ++off;
        else
          ++single_count[layers[k] / slab_layers_];
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
      const int slab = group_slab_[static_cast<std::size_t>(group)];
      if (slab >= 0) groups_.numbers[group_place[slab]++] = static_cast<std::uint32_t>(group);
      if (slab != one_by_one) continue;
      const std::int64_t i = group * group_size, count = end_of(group) - i;
      loops.find_layers(walk, particles, i, i + count, layers);
      for (std::int64_t k = 0; k < count; ++k)
        if (layers[k] != off_mesh)
          singles_.numbers[single_place[layers[k] / slab_layers_]++] = static_cast<std::uint32_t>(i + k);
    }
  });
}

template <class Real>
std::vector<SlabPart> SlabLists<Real>::parts(std::int64_t n) const {
  const std::int64_t all = std::int64_t{groups_.first.back()} * group_size + singles_.first.back();
  const std::int64_t most = std::max<std::int64_t>(1, (all + n - 1) / n);
  std::vector<SlabPart> parts;
  for (int slab = 0; slab < slabs_; ++slab) {
    const std::int64_t groups = groups_.size(slab), singles = singles_.size(slab);
    const std::int64_t pieces = (groups * group_size + singles + most - 1) / most;
    for (std::int64_t p = 0; p < pieces; ++p) {
      const std::int64_t group = groups * p / pieces, single = singles * p / pieces;
      parts.push_back({slab, groups_.numbers.data() + groups_.begin(slab) + group,
                       singles_.numbers.data() + singles_.begin(slab) + single, groups * (p + 1) / pieces - group,
                       singles * (p + 1) / pieces - single});
    }
  }
  return parts;
}

template class SlabLists<float>;
template class SlabLists<double>;

}  // namespace pergola::exchange

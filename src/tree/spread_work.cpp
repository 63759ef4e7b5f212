// Work of the domains of spread particles, as it is counted, and as the next build shares it out.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "device/device.hpp"
#include "tree/spread_octree.hpp"

namespace pergola::tree {

namespace {

/// In sixteenths of a pair: fitted to the times of the tasks of walks, some 100,000 particles, accuracy 1e-3,
/// expansions of order 2 to 5 (docs/results/ranks.md). What they are changes who does the work, and no result.
struct Costs {
  WalkCosts walk;
  std::uint64_t particle;  // taken into the tree, or moved with it
};
struct CostsOfProcessor {
  Costs in_open_space[highest_order - lowest_order + 1], in_box;
};
/// Four floats at once. In a box twice what was fitted: pairs with a cut-off have taken half the time since.
constexpr CostsOfProcessor with_short_vectors = {
    {{{.pair = 16, .far = 60, .point = 85, .test = 310}, 3400},
     {{.pair = 16, .far = 60, .point = 110, .test = 370}, 3400},
     {{.pair = 16, .far = 150, .point = 140, .test = 420}, 3400},
     {{.pair = 16, .far = 290, .point = 195, .test = 550}, 3400}},
    {{.pair = 16, .look = 2, .far = 900, .point = 140, .test = 200}, 3000}};
/// Sixteen floats: pairs gain most. In a box a pack of them is summed where one is within the cut-off radius.
constexpr CostsOfProcessor with_long_vectors = {{{{.pair = 16, .far = 50, .point = 88, .test = 985}, 15000},
                                                 {{.pair = 16, .far = 370, .point = 171, .test = 985}, 15000},
                                                 {{.pair = 16, .far = 1160, .point = 333, .test = 985}, 15000},
                                                 {{.pair = 16, .far = 2230, .point = 597, .test = 985}, 15000}},
                                                {{.pair = 2, .look = 14, .far = 646, .point = 226, .test = 400}, 6000}};

const Costs& costs_of(int order, bool periodic) {
  static const bool are_long = cpu_instruction_set().starts_with("AVX3");  // the library's word for AVX-512
  const CostsOfProcessor& costs = are_long ? with_long_vectors : with_short_vectors;
  return periodic ? costs.in_box : costs.in_open_space[order - lowest_order];
}

}  // namespace

template <class T>
Sink DistributedOctree<T>::counting(Sink sink) {
  sink.work = work_.data();
  sink.costs = costs_of(expansion_order_, this->periodic_).walk;
  return sink;
}

template <class T>
std::int64_t DistributedOctree<T>::work() const {
  if (total_ == 0) return 0;
  const std::uint64_t walked = std::accumulate(work_.begin(), work_.end(), std::uint64_t{0});
  const auto of_particle = static_cast<std::int64_t>(costs_of(expansion_order_, this->periodic_).particle);
  return static_cast<std::int64_t>(walked) + times_ * count_ * of_particle;
}

/// What was counted, by particle: the work of a cell, shared out to its particles. Sums are of whole numbers.
template <class T>
void DistributedOctree<T>::keep_weights() {
  if (std::exchange(walks_, 0) == 0) return;
  std::vector<std::uint64_t> of_cell(own_end_);
  const std::uint64_t of_all =
      costs_of(expansion_order_, this->periodic_).particle * static_cast<std::uint64_t>(times_);
  std::int64_t sum = 0;
  for (std::uint32_t cell = 0; cell < own_end_; ++cell) {
    if (!own_cell_[cell]) continue;
    const CellLink& link = cells_.link[cell];
    of_cell[cell] = (cell > 0 ? of_cell[cells_.parent[cell]] : of_all) + work_[cell] / link.count;
    if (link.children == 0) sum += static_cast<std::int64_t>(of_cell[cell] * link.count);
  }
  ranks_->all_reduce(&sum, 1, Reduction::sum);
  int shift = 0;
  while (sum >> shift > greatest_weight / 2) ++shift;
  weight_.resize(static_cast<std::size_t>(count_));
  for (std::uint32_t cell = 0; cell < own_end_; ++cell) {
    const CellLink& link = cells_.link[cell];
    if (!own_cell_[cell] || link.children > 0) continue;
    const std::uint64_t weight = std::clamp<std::uint64_t>(of_cell[cell] >> shift, 1, 0xffffffff);
    for (std::uint32_t k = link.first; k < link.first + link.count; ++k)
      weight_[sort_.values.data()[k]] = static_cast<std::uint32_t>(weight);
  }
}

/// Of this rank's particles, as they are sorted.
template <class T>
std::vector<std::int64_t> DistributedOctree<T>::weights_before(const SortBuffers& sort, std::int64_t n) const {
  std::vector<std::int64_t> before(static_cast<std::size_t>(n) + 1);
  for (std::size_t k = 0; k + 1 < before.size(); ++k)
    before[k + 1] = before[k] + (weight_.empty() ? 1 : std::int64_t{weight_[sort.values.data()[k]]});
  return before;
}

template Sink DistributedOctree<float>::counting(Sink);
template Sink DistributedOctree<double>::counting(Sink);
template std::int64_t DistributedOctree<float>::work() const;
template std::int64_t DistributedOctree<double>::work() const;
template void DistributedOctree<float>::keep_weights();
template void DistributedOctree<double>::keep_weights();
template std::vector<std::int64_t> DistributedOctree<float>::weights_before(const SortBuffers&, std::int64_t) const;
template std::vector<std::int64_t> DistributedOctree<double>::weights_before(const SortBuffers&, std::int64_t) const;

}  // namespace pergola::tree

#include "tree/spread_octree_cuda.cuh"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "comm/agreement.hpp"
#include "device/launch.cuh"
#include "device/sort.cuh"
#include "tree/moments_cuda.cuh"

namespace pergola::tree {

namespace {

enum TopKind : std::uint8_t { parent_in_top, own_leaf, other_leaf };

/// What ranks tell each other of a leaf of the top: its record, its box and its row, in words of four bytes.
constexpr std::int64_t record_words = sizeof(CellRecord) / 4, box_words = sizeof(BoxAbout) / 4,
                       row_begin = record_words + box_words + 1, child_word = 10;
static_assert(offsetof(CellRecord, child) == 4 * child_word && row_begin % 4 == 0);

constexpr unsigned level_threads = 256;

/// How many cells of each level are served; and the cells with their levels, to be sorted: others come last.
__global__ void __launch_bounds__(level_threads)
    count_levels_kernel(const std::uint32_t* level_of, const std::uint8_t* not_own, std::uint32_t top,
                        std::uint32_t cells, std::uint32_t* counts, std::uint32_t* keys, std::uint32_t* values) {
  __shared__ std::uint32_t found[most_levels];
  static_assert(level_threads >= most_levels);
  if (threadIdx.x < most_levels) found[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t c = blockIdx.x * level_threads + threadIdx.x;
  if (c < cells) {
    const bool served = c >= top || !not_own[c];
    if (served) atomicAdd(&found[level_of[c]], 1u);
    keys[c] = served ? level_of[c] : most_levels - 1;
    values[c] = c;
  }
  __syncthreads();
  if (threadIdx.x < most_levels && found[threadIdx.x] > 0) atomicAdd(&counts[threadIdx.x], found[threadIdx.x]);
}

}  // namespace

template <class T>
DistributedOctreeCuda<T>::DistributedOctreeCuda(const Device& device, std::shared_ptr<Communicator> ranks)
    : OctreeCuda<T>(device),
      ranks_(ranks),
      messages_(device, ranks, DeviceMessages::Rooms::two),
      prefetched_(device, ranks) {}

/// Level 0 is the top; only this rank's leaves of it are split.
template <class T>
void DistributedOctreeCuda<T>::start_level() {
  cuda::launch("tree top", top_cells(), device_.stream(),
               [seeds = seeds_.data(), above = top_parent_.data(), count = top_cells(), link = link_.data(),
                parent = parent_.data(), report = device_report_.data()] __device__(std::int64_t c) {
                 link[c] = seeds[c], parent[c] = above[c];
                 if (c == 0) report->cells[0] = count;
               });
}

template <class T>
void DistributedOctreeCuda<T>::take_top(TopTree top) {
  top_ = std::move(top);
  const Cells& cells = top_.cells;
  const auto rank = ranks_->rank();
  own_top_.assign(cells.size(), 0), foreign_top_.assign(cells.size(), 0);
  std::vector<std::uint8_t> kind(cells.size(), parent_in_top), not_own;
  std::vector<CellLink> seeds(cells.size(), CellLink{0, 0, 0, 0});
  std::vector<std::uint32_t> leaf_cell, leaf_begin(static_cast<std::size_t>(ranks_->size()) + 1);
  std::vector<Origin> origin(cells.size(), Origin{0, 0});
  first_own_leaf_ = own_leaves_ = 0;
  std::uint32_t first = 0;
  for (std::size_t k = 0; k < top_.leaves.size(); ++k) {
    const TopTree::Leaf& leaf = top_.leaves[k];
    const bool own = leaf.rank == rank;
    auto& marks = own ? own_top_ : foreign_top_;
    for (std::uint32_t cell = leaf.cell; !marks[cell]; cell = cells.parent[cell]) marks[cell] = 1;
    kind[leaf.cell] = own ? own_leaf : other_leaf;
    leaf_cell.push_back(leaf.cell);
    ++leaf_begin[static_cast<std::size_t>(leaf.rank) + 1];
    origin[leaf.cell] = {static_cast<std::uint32_t>(leaf.rank), leaf.cell};
    if (!own) continue;
    if (own_leaves_++ == 0) first_own_leaf_ = k;
    seeds[leaf.cell] = {std::exchange(first, first + cells.link[leaf.cell].count), cells.link[leaf.cell].count, 0, 0};
  }
  std::partial_sum(leaf_begin.begin(), leaf_begin.end(), leaf_begin.begin());
  for (const std::uint8_t own : own_top_) not_own.push_back(own ? 0 : 1);
  top_level_begin_.assign(1, 0), top_level_.assign(1, 0);
  for (std::uint32_t c = 1; c < cells.size(); ++c) {
    top_level_.push_back(top_level_[cells.parent[c]] + 1);
    if (top_level_[c] != top_level_[c - 1]) top_level_begin_.push_back(c);
  }
  top_level_begin_.push_back(cells.size());
  put(seeds, seeds_), put(cells.link, top_link_), put(cells.parent, top_parent_), put(leaf_cell, leaf_cell_);
  put(leaf_begin, leaf_begin_);
  put(kind, top_kind_), put(not_own, not_own_), put(foreign_top_, foreign_), put(origin, origin_);
}

template <class T>
template <class Real>
void DistributedOctreeCuda<T>::build(const Points<Real>& here, const TreeSoftening& softening, int order,
                                     const Frame& frame, TopTree top) {
  device_.make_current();
  order_ = order;
  has_accelerations_ = knows_spread_ = false;
  make_cells_below(here, softening_digits(softening), frame,
                   softening.uniform ? SofteningDigit::no_digit : softening_level(frame.side, softening.apart),
                   std::move(top));
  make_moments(here, softening, false);
}

template <class T>
template <class Real>
bool DistributedOctreeCuda<T>::make_again(const Points<Real>& here, const KeptTree& kept,
                                          const TreeSoftening& softening, int order, TopTree top) {
  device_.make_current();
  order_ = order;
  spread_ = kept.spread, knows_spread_ = true;
  make_cells_below(with_keys(here, kept), {}, kept.frame, kept.digit_level, std::move(top));
  make_moments(here, softening, true);
  has_accelerations_ = kept.has_accelerations();
  if (has_accelerations_) {
    Arena(device_).room(acceleration_, own_end(), own_end() / 16);
    take_estimates_cuda(link_.data(), parent_.data(), own_end(), place_.data(), kept.acceleration.data(),
                        acceleration_.data(), device_.stream(), {not_own_.data(), top_cells(), {}});
    share_least_of_top();
  }
  return still_serves();
}

/// Of the leaves of the top that are this rank's.
template <class T>
template <class Real>
void DistributedOctreeCuda<T>::make_cells_below(const Points<Real>& here, const SofteningDigit& digit,
                                                const Frame& frame, int digit_level, TopTree top) {
  count_ = here.count;
  has_place_of_ = false;
  fetched_cells_ = 0;
  digit_level_ = digit_level;
  take_top(std::move(top));
  this->begin_report(frame, digit_level);
  Arena given(device_);
  const std::int64_t cells = std::max(first_guess_of_cells(count_) + top_cells(), link_.size());
  given.room(link_, cells), given.room(parent_, cells);
  level_begin_[0] = 0, level_begin_[1] = top_cells(), level_count_ = 1;
  if (count_ == 0) start_level();
  // A cell of the top that a digit beyond the sorted ones splits is crowded too.
  this->make_cells(here, digit, ranks_.get(), top_.finest_shift < coarse_unsorted_bits);
}

template <class T>
template <class Real>
void DistributedOctreeCuda<T>::make_moments(const Points<Real>& here, const TreeSoftening& softening, bool moved) {
  on_all(*ranks_, [&] { this->upward(here, softening, order_, moved); });
  share_top(order_);
  list_own();
  begin_fetching();
  begin_to_count();
}

template <class T>
void DistributedOctreeCuda<T>::set_links_of_top(TopLinks which) {
  cuda::launch("tree top", top_cells(), device_.stream(),
               [=, top = top_link_.data(), kind = top_kind_.data(), link = link_.data(),
                record = record_.data()] __device__(std::int64_t c) {
                 if (kind[c] == own_leaf) return;
                 if (which == TopLinks::none)
                   link[c] = {0, 0, 0, 0};
                 else if (kind[c] == parent_in_top)
                   link[c] = {elsewhere, top[c].count, top[c].child, top[c].children};
                 else
                   link[c] = {elsewhere, top[c].count, elsewhere, which == TopLinks::all ? record[c].children() : 0};
               });
}

/// What every rank has made of its own leaves of the top goes to all, which make the cells above of the same numbers.
template <class T>
void DistributedOctreeCuda<T>::share_top(int order) {
  const std::int64_t row_words = Row<T>::stride(order) * static_cast<std::int64_t>(sizeof(T) / 4);
  const std::int64_t words = row_begin + row_words, leaves = std::ssize(top_.leaves);
  top_words_ = words;
  Arena(device_).room(top_rows_, words * leaves, words * leaves / 4);
  auto* const box = reinterpret_cast<BoxAbout*>(arena_.data());
  const auto first = static_cast<std::int64_t>(first_own_leaf_), end = first + static_cast<std::int64_t>(own_leaves_);
  const auto carry = [&](bool out) {
    cuda::launch(
        "tree top", words * leaves, device_.stream(),
        [=, message = top_rows_.data(), cells = leaf_cell_.data(),
         record = reinterpret_cast<std::uint32_t*>(record_.data()), boxes = reinterpret_cast<std::uint32_t*>(box),
         row = reinterpret_cast<std::uint32_t*>(row_.data())] __device__(std::int64_t k) {
          const std::int64_t leaf = k / words, word = k % words, cell = cells[leaf];
          if ((leaf >= first && leaf < end) != out) return;
          std::uint32_t* at = nullptr;
          if (word < record_words)
            at = record + cell * record_words + word;
          else if (word < record_words + box_words)
            at = boxes + cell * box_words + word - record_words;
          else if (word >= row_begin)
            at = row + cell * row_words + word - row_begin;
          if (out)
            message[k] = at ? *at : 0;
          else if (at)
            *at = word == child_word ? elsewhere : message[k];
        });
  };
  carry(true);
  std::vector<std::uint32_t> host = on_host(device_, top_rows_.data(), words * leaves);
  std::vector<std::size_t> bytes(static_cast<std::size_t>(ranks_->size()));
  for (const TopTree::Leaf& leaf : top_.leaves)
    bytes[static_cast<std::size_t>(leaf.rank)] += static_cast<std::size_t>(words) * 4;
  ranks_->all_gather_in_place(host.data(), bytes);
  device_.memory().from_host(top_rows_.data(), host.data(), host.size() * sizeof host[0]);
  carry(false);
  set_links_of_top(TopLinks::to_make_parents);
  UpwardPassCuda<T> pass;
  pass.link = link_.data(), pass.record = record_.data(), pass.box = box, pass.row = row_.data();
  for (std::size_t level = top_level_begin_.size() - 1; level-- > 0;)
    parents_cuda(pass, order, top_level_begin_[level], top_level_begin_[level + 1], device_.stream());
  set_links_of_top(TopLinks::all);
}

template <class T>
TopLeaves DistributedOctreeCuda<T>::top_leaves() const {
  return {top_rows_.data(),
          top_words_,
          leaf_cell_.data(),
          leaf_begin_.data(),
          static_cast<std::uint32_t>(first_own_leaf_),
          static_cast<std::uint32_t>(own_leaves_)};
}

/// The cells that this rank serves, by their levels in the whole tree.
template <class T>
void DistributedOctreeCuda<T>::list_own() {
  const std::int64_t cells = own_end();
  own_counts_.clear();
  if (count_ == 0) return;
  Arena arena(device_);
  arena.room(own_list_, cells, cells / 16), arena.room(level_of_, cells, cells / 16);
  arena.room(level_counts_, most_levels);
  level_counts_.zero();
  std::uint32_t* const level_of = level_of_.data();
  device_.memory().from_host(level_of, top_level_.data(), top_level_.size() * sizeof top_level_[0]);
  for (int level = 1; level < level_count_; ++level)
    cuda::launch("tree levels", level_begin_[level + 1] - level_begin_[level], device_.stream(),
                 [=, begin = level_begin_[level], parent = parent_.data()] __device__(std::int64_t k) {
                   level_of[begin + k] = level_of[parent[begin + k]] + 1;
                 });
  constexpr int level_bits = 6;
  static_assert(most_levels == 1 << level_bits);
  const cuda::KeySort sort(cells, level_bits);
  std::byte* const work = this->arena(sort.bytes());
  count_levels_kernel<<<static_cast<unsigned>((cells + level_threads - 1) / level_threads), level_threads, 0,
                        cuda::handle(device_.stream())>>>(level_of, not_own_.data(), top_cells(), own_end(),
                                                          level_counts_.data(), sort.keys(work),
                                                          sort.values(work, own_list_.data()));
  cuda::check(cudaGetLastError(), "tree levels");
  sort.sort(own_list_.data(), work, device_.stream());
  own_counts_ = on_host(device_, level_counts_.data(), most_levels);
  while (!own_counts_.empty() && own_counts_.back() == 0) own_counts_.pop_back();
}

template <class T>
void DistributedOctreeCuda<T>::estimate_accelerations() {
  if (has_accelerations_) return;
  device_.make_current();
  has_accelerations_ = true;
  Arena(device_).room(acceleration_, own_end(), own_end() / 16);
  fetch_for_estimate();
  do {
    estimate_cuda(record_.data(), link_.data(), parent_.data(), own_end(), acceleration_.data(), device_.stream(),
                  {not_own_.data(), top_cells(), missing()});
  } while (fetch_missing());
  share_least_of_top();
}

/// A group of the top has the same estimate on all ranks with particles in it; a cell above has the least below it.
template <class T>
void DistributedOctreeCuda<T>::share_least_of_top() {
  const auto of_top = on_host(device_, acceleration_.data(), top_cells());
  std::vector<double> least(of_top.begin(), of_top.end());
  ranks_->all_reduce(least.data(), least.size(), Reduction::minimum);
  const std::vector<float> all(least.begin(), least.end());
  device_.memory().from_host(acceleration_.data(), all.data(), all.size() * sizeof all[0]);
}

template <class T>
ServedCells DistributedOctreeCuda<T>::asking(const std::uint32_t* numbers, std::int64_t count) {
  device_.make_current();
  Arena arena(device_);
  const std::int64_t cells = own_end();
  arena.room(slot_, count_), arena.room(served_, cells), arena.room(served_cells_, cells);
  arena.room(served_list_, cells), arena.room(served_counts_, most_levels), arena.room(place_of_, count_);
  if (!has_place_of_)
    cuda::launch("tree places", count_, device_.stream(),
                 [order = place_.data(), to = place_of_.data()] __device__(std::int64_t k) {
                   to[order[k]] = static_cast<std::uint32_t>(k);
                 });
  has_place_of_ = true;
  served_.zero(), served_counts_.zero();
  cuda::check(cudaMemsetAsync(slot_.data(), 0xff, slot_.bytes(), cuda::handle(device_.stream())), "tree slots");
  std::array<std::uint32_t, most_levels> begin{};
  std::exclusive_scan(own_counts_.begin(), own_counts_.end(), begin.begin(), 0u);
  cuda::launch("tree active", count, device_.stream(),
               [=, leaves = leaf_cell_.data() + first_own_leaf_, leaf_count = static_cast<std::uint32_t>(own_leaves_),
                place_of = place_of_.data(), slot = slot_.data(), link = link_.data(), parent = parent_.data(),
                level = level_of_.data(), served = served_.data(), counts = served_counts_.data(),
                list = served_cells_.data()] __device__(std::int64_t t) {
                 const std::uint32_t place = place_of[numbers[t]];
                 slot[place] = static_cast<std::uint32_t>(t);
                 std::uint32_t low = 0;  // the last leaf of the top that begins at the place or before it
                 for (std::uint32_t high = leaf_count; high - low > 1;) {
                   const std::uint32_t middle = low + (high - low) / 2;
                   (link[leaves[middle]].first <= place ? low : high) = middle;
                 }
                 std::uint32_t cell = leaves[low];
                 while (link[cell].children > 0) {
                   cell = link[cell].child;
                   while (link[cell].first + link[cell].count <= place) ++cell;
                 }
                 while (served[cell] == 0 && atomicExch(&served[cell], 1u) == 0) {
                   list[begin.data()[level[cell]] + atomicAdd(&counts[level[cell]], 1u)] = cell;
                   cell = parent[cell];
                 }
               });
  ServedCells found{served_list_.data(), on_host(device_, served_counts_.data(), std::ssize(own_counts_)),
                    slot_.data()};
  std::uint32_t* to = served_list_.data();  // without gaps
  for (std::size_t level = 0; level < found.counts.size(); ++level) {
    if (found.counts[level] == 0) continue;
    device_.memory().copy(to, served_cells_.data() + begin[level], found.counts[level] * sizeof(*to));
    to += found.counts[level];
  }
  return found;
}

template class DistributedOctreeCuda<float>;
template class DistributedOctreeCuda<double>;
#define PERGOLA_DISTRIBUTED_OCTREE_OF(T, Real)                                                                        \
  template void DistributedOctreeCuda<T>::build(const Points<Real>&, const TreeSoftening&, int, const Frame&,         \
                                                TopTree);                                                             \
  template bool DistributedOctreeCuda<T>::make_again(const Points<Real>&, const KeptTree&, const TreeSoftening&, int, \
                                                     TopTree);
PERGOLA_DISTRIBUTED_OCTREE_OF(float, float)
PERGOLA_DISTRIBUTED_OCTREE_OF(float, double)
PERGOLA_DISTRIBUTED_OCTREE_OF(double, double)
#undef PERGOLA_DISTRIBUTED_OCTREE_OF

}  // namespace pergola::tree

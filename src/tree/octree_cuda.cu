// The octree on a GPU: bounds, keys, sort, and cells level by level, split by all threads at once.
//
// Steps of build(): (1) bounds and total mass, reduced on the device, (2) keys and a stable sort, (3) cells level by
// level, (4) the upward pass from the leaves (tree/moments_cuda.cuh). Keys are sorted as deep as needed: first by the
// coarse digits, then by all digits of the upper keys, then by both keys, until no cell of too many particles is left.
// The host waits once per round of levels, to read how many cells there are. Numbers of cells within a level depend on
// the order of atomics; the particles of a cell do not.
#include "tree/octree_cuda.cuh"

#include <algorithm>
#include <cub/device/device_merge_sort.cuh>

#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "device/launch.cuh"
#include "device/sort.cuh"
#include "tree/frame_cuda.cuh"
#include "tree/keys.hpp"
#include "tree/moments_cuda.cuh"

namespace pergola::tree {

namespace {

/// Up to this many keys are sorted by merging: radix sort has a launch for each of the keys' digits.
constexpr std::int64_t merged_most = 32768;

/// For the merge sort: compares without the digits that the depth leaves out.
struct LessInSortedBits {
  int unsorted_bits;
  __device__ bool operator()(std::uint64_t a, std::uint64_t b) const { return a >> unsorted_bits < b >> unsorted_bits; }
};

/// How far the sorted order goes: cells whose keys differ in no sorted digit cannot be split.
struct SortedKeys {
  const std::uint64_t *upper = nullptr, *lower = nullptr;
  int unsorted_bits = 0;     // lowest ones of the upper keys
  bool last_resort = false;  // what no digit tells apart is split by number
};

/// The end of part `digit` of a cell, found by one lane for each digit; as split_cell(). False: it cannot be split.
__device__ bool end_of_part(const SortedKeys& sorted, const CellLink& l, std::uint32_t digit, std::uint32_t& last) {
  const std::uint32_t end = l.first + l.count;
  const std::uint64_t* keys = sorted.upper;
  std::uint64_t first_key = keys[l.first], last_key = keys[end - 1];
  if ((first_key ^ last_key) >> sorted.unsorted_bits == 0 && sorted.lower) {
    keys = sorted.lower;
    first_key = keys[l.first], last_key = keys[end - 1];
  }
  if ((first_key ^ last_key) >> sorted.unsorted_bits != 0) {
    last = end_of_digit(keys, l.first, end, digit_shift(first_key, last_key), digit);
    return true;
  }
  const std::uint32_t part = equal_part(l.count);
  last = (digit + 1) * part < l.count ? l.first + (digit + 1) * part : end;
  return sorted.last_resort;
}

/// One cell that holds all particles.
__global__ void start_cells(BuildReport* report, std::uint32_t count, CellLink* link, std::uint32_t* parent) {
  report->cells[threadIdx.x] = threadIdx.x == 0;
  if (threadIdx.x > 0) return;
  report->crowded = 0;
  link[0] = {0, count, 0, 0};
  parent[0] = 0;
}

/// Splits the cells of a level, eight lanes for each. Children that find no room are counted all the same.
__global__ void split_kernel(int level, SortedKeys sorted, BuildReport* report, std::uint32_t capacity, CellLink* link,
                             std::uint32_t* parent) {
  std::uint32_t begin = 0;
  for (int l = 0; l < level; ++l) begin += report->cells[l];
  const std::uint32_t end = begin + report->cells[level];
  if (end > capacity) return;
  const int lane = static_cast<int>(threadIdx.x) % 32, digit = lane % 8;
  const unsigned mates = 0xffu << (lane - digit);
  for (std::uint32_t at = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 4; begin + at < end;
       at += gridDim.x * blockDim.x / 8) {
    const std::uint32_t cell = begin + at + static_cast<std::uint32_t>(lane / 8);
    CellLink l = link[cell < end ? cell : begin];
    std::uint32_t last = l.first;
    if (cell < end && l.count > leaf_capacity && !end_of_part(sorted, l, static_cast<std::uint32_t>(digit), last)) {
      report->crowded = 1;
      last = l.first;
    }
    std::uint32_t first = __shfl_up_sync(all_lanes, last, 1);
    if (digit == 0) first = l.first;
    const bool filled = last > first;
    const unsigned parts = __ballot_sync(all_lanes, filled);
    std::uint32_t next = 0;
    if (lane == 0 && parts != 0) next = atomicAdd(&report->cells[level + 1], static_cast<std::uint32_t>(__popc(parts)));
    next = end + __shfl_sync(all_lanes, next, 0);
    const std::uint32_t child = next + static_cast<std::uint32_t>(__popc(parts & ((1u << lane) - 1)));
    if (digit == 0 && cell < end) {
      l.children = static_cast<std::uint32_t>(__popc(parts & mates));
      l.child = l.children > 0 ? child : 0;
      link[cell] = l;
    }
    if (filled && child < capacity) {
      link[child] = {first, last - first, 0, 0};
      parent[child] = cell;
    }
  }
}

/// From the bounds of all blocks.
void set_frame(const Buffer<double>& bounds, Buffer<unsigned long long>& limbs, const Box& box, double apart,
               double mass, Buffer<BuildReport>& report, Stream stream) {
  frame_kernel<<<1, bound_threads, 0, cuda::handle(stream)>>>(bounds.data(), limbs.data(), box, apart, mass,
                                                              report.data());
  cuda::check(cudaGetLastError(), "tree frame");
}

/// Where one rank fails all do.
template <class Action>
void together(Communicator* ranks, const Action& action) {
  ranks ? on_all(*ranks, action) : action();
}

}  // namespace

/// Memory that sorting and the upward pass use one after the other: keys and places, then boxes of cells.
template <class T>
std::byte* OctreeCuda<T>::arena(std::int64_t bytes) {
  Arena(device_).room(arena_, bytes);
  return arena_.data();
}

template <class T>
template <class Self>
void OctreeCuda<T>::room_for_links(Self& tree, Arena& arena, std::int64_t cells) {
  arena.room(tree.link_, cells), arena.room(tree.parent_, cells);
}

template <class T>
template <class Self>
void OctreeCuda<T>::room_to_sort(Self& tree, Arena& arena, std::int64_t n) {
  arena.room(tree.place_, n), arena.room(tree.upper_, n);
}

template <class T>
template <class Self>
void OctreeCuda<T>::room_for_moments(Self& tree, Arena& arena, std::int64_t n, std::int64_t cells, int order,
                                     bool by_particle) {
  const std::int64_t spare = cells / 32;
  arena.room(tree.record_, cells, spare),
      arena.room(tree.row_, cells * Row<T>::stride(order), spare * Row<T>::stride(order));
  arena.room(tree.particle_, n);
  if (by_particle) arena.room(tree.softening_, n);
}

template <class T>
template <class Self>
void OctreeCuda<T>::room_for_accelerations(Self& tree, Arena& arena, std::int64_t cells) {
  arena.room(tree.acceleration_, cells);
}

template <class T>
std::int64_t OctreeCuda<T>::device_bytes(std::int64_t n, int order, const TreeSoftening& softening,
                                         const Forest& forest) {
  const OctreeCuda none{Device()};
  const std::int64_t cells = first_guess_of_cells(n);
  Arena count;
  room_for_roots(none, count, forest);
  room_for_links(none, count, cells);
  room_to_sort(none, count, n);
  room_for_moments(none, count, n, cells, order, softening.by_particle());
  room_for_accelerations(none, count, cells);
  return count.bytes();
}

/// Rows of bounds, one per block, and the exact sum of masses in limbs; both stay on the device.
template <class T>
template <class Real>
void OctreeCuda<T>::find_bounds(const Points<Real>& points) {
  Arena arena(device_);
  arena.room(partial_, bound_blocks * bound_values), arena.room(device_report_, 1);
  const auto stream = cuda::handle(device_.stream());
  if (mass_limbs_.size() == 0) {
    mass_limbs_ = Buffer<unsigned long long>(device_, ExactSum::limbs);
    mass_limbs_.zero();
  }
  bounds_kernel<<<bound_blocks, bound_threads, 0, stream>>>(points, partial_.data(), mass_limbs_.data());
  cuda::check(cudaGetLastError(), "tree bounds");
}

/// mass: that of all particles, where these are a part; 0: theirs.
template <class T>
template <class Real>
void OctreeCuda<T>::find_frame(const Points<Real>& points, double apart, double mass) {
  find_bounds(points);
  set_frame(partial_, mass_limbs_, points.box, apart, mass, device_report_, device_.stream());
}

/// The masses of one rank as limbs, which ranks add exactly. False if a number is not finite.
template <class T>
template <class Real>
bool OctreeCuda<T>::sum_masses(const Points<Real>& points, std::int64_t (&limbs)[ExactSum::limbs]) {
  device_.make_current();
  std::fill(std::begin(limbs), std::end(limbs), 0);
  if (points.count == 0) return true;
  find_bounds(points);
  device_.memory().to_host(limbs, mass_limbs_.data(), sizeof limbs);
  set_frame(partial_, mass_limbs_, points.box, 0, 0, device_report_, device_.stream());
  return device_report_.to_host()[0].finite != 0;
}

template <class T>
template <class Real>
Frame OctreeCuda<T>::frame_of(const Points<Real>& points) {
  find_frame(points, 0, 0);
  const BuildReport found = device_report_.to_host()[0];
  if (!found.finite) throw Error(ErrorKind::numerics, "tree: a position is not a finite number");
  return found.frame;
}

/// Keys and places are sorted together, by the bits from `unsorted_bits` on; equal ones stay in their order.
template <class T>
void OctreeCuda<T>::sort_keys(int unsorted_bits, int key_bits) {
  auto* const keys = reinterpret_cast<std::uint64_t*>(arena_.data());
  auto* const other_places = reinterpret_cast<std::uint32_t*>(keys + 2 * count_);
  if (count_ <= merged_most) {
    std::size_t bytes = 0;
    const auto sort = [&](void* scratch) {
      cuda::check(
          cub::DeviceMergeSort::StableSortPairs(scratch, bytes, keys_, place_.data(), count_,
                                                LessInSortedBits{unsorted_bits}, cuda::handle(device_.stream())),
          "tree sort");
    };
    sort(nullptr);
    Arena(device_).room(sort_scratch_, static_cast<std::int64_t>(bytes));
    return sort(sort_scratch_.data());
  }
  const cuda::RadixSort<std::uint64_t, std::int64_t> sort{count_, unsorted_bits, key_bits};
  const std::size_t bytes = sort.scratch_bytes();
  Arena(device_).room(sort_scratch_, static_cast<std::int64_t>(bytes));
  std::uint32_t* places = place_.data();
  sort.sort(sort_scratch_.data(), bytes, keys_, keys_ == keys ? keys + count_ : keys, places, other_places,
            device_.stream());
  if (places != place_.data())
    device_.memory().copy(place_.data(), places, static_cast<std::size_t>(count_) * sizeof(std::uint32_t));
}

/// Keys of the wanted depth, and places in their order. `both`: sort by id, then by lower keys, then by upper keys; as
/// each sort is stable, the result is ordered by upper key, lower key and id.
template <class T>
template <class Real>
void OctreeCuda<T>::sort_points(const Points<Real>& points, const SofteningDigit& digit, KeyDepth depth) {
  Arena given(device_);
  room_to_sort(*this, given, count_);
  keys_ = reinterpret_cast<std::uint64_t*>(arena(arena_bytes(count_)));
  const BuildReport* const report = device_report_.data();
  std::uint32_t* const places = place_.data();
  const auto set_keys = [&](bool first, bool lower, std::uint64_t* keys) {
    cuda::launch("tree keys", count_, device_.stream(), [=] __device__(std::int64_t k) {
      if (first) places[k] = static_cast<std::uint32_t>(k);
      const std::int64_t i = first ? k : places[k];
      SofteningDigit softening = digit;
      if (digit.level != SofteningDigit::no_digit) softening.level = report->softening_level;
      keys[k] = lower ? lower_key(points, report->frame, softening, i) : upper_key(points, report->frame, softening, i);
    });
  };
  constexpr int key_bits = 3 * key_levels;
  if (depth != KeyDepth::both) {
    const int unsorted_bits = depth == KeyDepth::coarse ? coarse_unsorted_bits : 0;
    set_keys(true, false, keys_);
    sort_keys(unsorted_bits, key_bits);
    return order_by_id(points.id, unsorted_bits);
  }
  if (points.id) {
    cuda::launch("tree ids", count_, device_.stream(), [=, id = points.id, keys = keys_] __device__(std::int64_t k) {
      places[k] = static_cast<std::uint32_t>(k);
      keys[k] = id[k];
    });
    sort_keys(0, 64);
  }
  set_keys(!points.id, true, keys_);
  sort_keys(0, key_bits);
  set_keys(false, false, keys_);
  sort_keys(0, key_bits);
  given.room(lower_, count_);
  set_keys(false, true, lower_.data());
}

/// Sorts particles with the same sorted digits by their ids, so that their order in memory does not matter. If there
/// are more of them than a leaf holds, further digits sort them anyway.
template <class T>
void OctreeCuda<T>::order_by_id(const std::uint64_t* id, int unsorted_bits) {
  if (!id) return;
  auto* const ordered = reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::uint64_t*>(arena_.data()) + 2 * count_);
  cuda::launch("tree ids", count_, device_.stream(),
               [=, keys = keys_, places = place_.data(), count = count_] __device__(std::int64_t k) {
                 constexpr std::int64_t most = leaf_capacity;
                 const std::uint64_t key = keys[k] >> unsorted_bits;
                 const std::uint32_t place = places[k];
                 std::int64_t first = k, last = k + 1;
                 while (first > 0 && k - first <= most && keys[first - 1] >> unsorted_bits == key) --first;
                 while (last < count && last - k <= most && keys[last] >> unsorted_bits == key) ++last;
                 std::int64_t rank = k - first;
                 if (last - first > 1 && last - first <= most) {
                   rank = 0;
                   for (std::int64_t j = first; j < last; ++j)
                     rank += id[places[j]] < id[place] || (id[places[j]] == id[place] && j < k);
                 }
                 ordered[first + rank] = place;
               });
  device_.memory().copy(place_.data(), ordered, static_cast<std::size_t>(count_) * sizeof(std::uint32_t));
}

/// Makes the cells of all levels, and reads what was found. False when there were more cells than room.
template <class T>
bool OctreeCuda<T>::split_cells(KeyDepth depth) {
  const auto stream = cuda::handle(device_.stream());
  const auto capacity = static_cast<std::uint32_t>(link_.size());
  BuildReport* const report = device_report_.data();
  const SortedKeys sorted{keys_, depth == KeyDepth::both ? lower_.data() : nullptr,
                          depth == KeyDepth::coarse ? coarse_unsorted_bits : 0, depth == KeyDepth::both};
  start_cells<<<1, most_levels + 1, 0, stream>>>(report, static_cast<std::uint32_t>(count_), link_.data(),
                                                 parent_.data());
  start_level();
  // As many levels as there were the last time, and one that may have come since.
  const int at_a_time = expected_levels_ + 1;
  // Eight lanes for a cell; one of more than leaf_capacity particles is split, and a level has others too.
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(count_ / 256, 16, 1024));
  for (int level = 0; level < most_levels;) {
    for (const int stop = std::min(level + at_a_time, most_levels); level < stop; ++level)
      split_kernel<<<blocks, 128, 0, stream>>>(level, sorted, report, capacity, link_.data(), parent_.data());
    cuda::check(cudaGetLastError(), "tree cells");
    device_report_.to_host(&report_);
    level_begin_[0] = 0;
    for (level_count_ = 0; level_count_ < level && report_.cells[level_count_] > 0; ++level_count_)
      level_begin_[level_count_ + 1] = level_begin_[level_count_] + report_.cells[level_count_];
    if (level_begin_[level_count_] > capacity) return false;
    if (report_.cells[level] > 0) continue;
    expected_levels_ = level_count_;
    return true;
  }
  throw Error(ErrorKind::numerics, "tree: more levels than keys have digits");
}

/// With a Forest, the particles have many roots (root blocks) instead of one; `share` is the part of a rank.
template <class T>
template <class Real>
void OctreeCuda<T>::build(const Points<Real>& points, const TreeSoftening& softening, int order, const Forest& forest,
                          const ForestShare& share) {
  device_.make_current();
  begin(points, share);
  has_accelerations_ = knows_spread_ = false;
  const SofteningDigit digit = softening_digits(softening);
  together(share.ranks, [&] {
    plant(forest);
    if (count_ == 0) {
      if (share.ranks) report_.frame = frame_within({0, 0, 0}, {0, 0, 0}, share.mass, points.box);
      return;
    }
    find_frame(points, softening.apart, share.mass);
    Arena given(device_);
    room_for_links(*this, given, std::max(first_guess_of_cells(count_), link_.size()));
  });
  make_cells(points, digit, share.ranks);
  digit_level_ = softening.uniform ? SofteningDigit::no_digit : softening_level(report_.frame.side, softening.apart);
  together(share.ranks, [&] {
    if (count_ > 0) upward(points, softening, order, false);
  });
}

/// The next tree has these points.
template <class T>
template <class Real>
void OctreeCuda<T>::begin(const Points<Real>& points, const ForestShare& share) {
  again_ = nullptr;
  count_ = points.count;
  share_ = share;
  periodic_ = points.box.periodic();
  level_count_ = 0;
}

/// For cells whose frame is known.
template <class T>
void OctreeCuda<T>::begin_report(const Frame& frame, int digit_level) {
  report_ = {};
  report_.frame = frame, report_.finite = 1, report_.softening_level = digit_level;
  Arena(device_).room(device_report_, 1);
  device_report_.from_host(&report_);
}

template <class T>
template <class Real>
void OctreeCuda<T>::make_cells(const Points<Real>& points, const SofteningDigit& digit, Communicator* ranks,
                               bool crowded) {
  Arena given(device_);
  for (const KeyDepth depth : {KeyDepth::coarse, KeyDepth::fine, KeyDepth::both}) {
    std::int64_t deeper = depth == KeyDepth::coarse && crowded ? 1 : 0;
    together(ranks, [&] {
      if (deeper || count_ == 0) return;
      sort_points(points, digit, depth);
      while (!split_cells(depth)) room_for_links(*this, given, 2 * link_.size());
      if (!report_.finite) throw Error(ErrorKind::numerics, "tree: a position is not a finite number");
      deeper = report_.crowded;
    });
    if (ranks) ranks->all_reduce(&deeper, 1, Reduction::maximum);
    has_lower_ = depth == KeyDepth::both;
    if (!deeper) break;
  }
  if (count_ > 0) device_.memory().copy(upper_.data(), keys_, static_cast<std::size_t>(count_) * sizeof(std::uint64_t));
}

template <class T>
template <class Real>
void OctreeCuda<T>::make_again(const Points<Real>& points, const double* acceleration, const KeptTree& kept,
                               const Forest& forest, const ForestShare& share) {
  device_.make_current();
  begin(points, share);
  spread_ = kept.spread, knows_spread_ = true;
  digit_level_ = kept.digit_level;
  has_accelerations_ = kept.has_accelerations();
  together(share.ranks, [&] {
    plant(forest);
    begin_report(kept.frame, kept.digit_level);
    Arena given(device_);
    if (count_ > 0) room_for_links(*this, given, std::max(first_guess_of_cells(count_), link_.size()));
  });
  make_cells(points, {}, share.ranks);
  if (!has_accelerations_) return;
  together(share.ranks, [&] {
    if (count_ == 0) return;
    Arena given(device_);
    room_for_accelerations(*this, given, cells());
    take_estimates_cuda(link_.data(), parent_.data(), cells(), place_.data(), acceleration, acceleration_.data(),
                        device_.stream());
  });
}

template <class T>
void OctreeCuda<T>::estimate_accelerations() {
  if (has_accelerations_) return;
  has_accelerations_ = true;
  Arena given(device_);
  room_for_accelerations(*this, given, record_.size());
  estimate_cuda(record_.data(), link_.data(), parent_.data(), cells(), acceleration_.data(), device_.stream());
}

/// Mean accelerations of the groups of cells by the long range, one axis, for estimate_accelerations().
template <class T>
template <class Real>
void OctreeCuda<T>::find_rest(const Real* acceleration, double unit, float* rest) {
  mean_rest_cuda(link_.data(), parent_.data(), cells(), place_.data(), acceleration, unit, rest, device_.stream());
}

template <class T>
void OctreeCuda<T>::estimate_accelerations(const ShortRangeBox<float>& box, const float* const (&rest)[3]) {
  has_accelerations_ = true;
  if (count_ == 0) return;
  Arena given(device_);
  room_for_accelerations(*this, given, record_.size());
  estimate_cuda(record_.data(), link_.data(), parent_.data(), roots(), cells(), box,
                RestOfAcceleration{{rest[0], rest[1], rest[2]}}, acceleration_.data(), device_.stream());
}

/// The upward pass. `moved`: after a refresh in a periodic box, particles follow the image near their leaf.
template <class T>
template <class Real>
void OctreeCuda<T>::upward(const Points<Real>& points, const TreeSoftening& softening, int order, bool moved) {
  kernel_ = softening.kernel;
  by_particle_ = softening.by_particle();
  Arena given(device_);
  room_for_moments(*this, given, count_, cells(), order, by_particle_);
  const auto square = [&](int species) {
    const double length = softening.epsilon[softening.uniform ? 0 : species] / report_.frame.side;
    return length * length;
  };
  same_epsilon2_ = square(0);
  UpwardPassCuda<T> pass;
  pass.frame = report_.frame;
  if (moved && periodic_) pass.period = unit_period(points.box, report_.frame);
  pass.upper = upper_.data(), pass.digit_level = digit_level_;
  pass.place = place_.data();
  for (int s = 0; s < 6; ++s) pass.species_epsilon2[s] = square(s);
  pass.kernel = softening.kernel;
  pass.same_epsilon2 = same_epsilon2_;
  pass.link = link_.data();
  pass.record = record_.data();
  pass.box = reinterpret_cast<BoxAbout*>(arena(std::int64_t{cells()} * static_cast<std::int64_t>(sizeof(BoxAbout))));
  pass.row = row_.data();
  pass.particle = particle_.data();
  pass.softening = by_particle_ ? softening_.data() : nullptr;
  leaves_cuda(pass, points, order, cells(), device_.stream());
  for (int level = level_count_ - 1; level-- > 0;)
    parents_cuda(pass, order, level_begin_[level], level_begin_[level + 1], device_.stream());
}

/// Addresses for the walk; valid until the next build or refresh.
template <class T>
CudaTree<T> OctreeCuda<T>::view() const {
  CudaTree<T> v;
  v.count = count_;
  v.record = record_.data();
  v.link = link_.data();
  v.parent = parent_.data();
  v.row = row_.data();
  v.acceleration = acceleration_.data();
  v.particle = particle_.data();
  v.kernel = kernel_, v.by_particle = by_particle_;
  v.support = physics::support(kernel_);
  v.same_epsilon2 = same_epsilon2_;
  v.softening = softening_.data();
  v.expansion_epsilon2 = v.support > 0 ? 0 : same_epsilon2_;
  return v;
}

template class OctreeCuda<float>;
template class OctreeCuda<double>;
template Frame OctreeCuda<float>::frame_of(const Points<float>&);
template Frame OctreeCuda<float>::frame_of(const Points<double>&);
template Frame OctreeCuda<double>::frame_of(const Points<double>&);
template void OctreeCuda<float>::build(const Points<float>&, const TreeSoftening&, int, const Forest&,
                                       const ForestShare&);
template void OctreeCuda<float>::build(const Points<double>&, const TreeSoftening&, int, const Forest&,
                                       const ForestShare&);
template void OctreeCuda<double>::build(const Points<double>&, const TreeSoftening&, int, const Forest&,
                                        const ForestShare&);
#define PERGOLA_CELLS_OF(T, Real)                                                                             \
  template void OctreeCuda<T>::make_cells(const Points<Real>&, const SofteningDigit&, Communicator*, bool);   \
  template void OctreeCuda<T>::make_again(const Points<Real>&, const double*, const KeptTree&, const Forest&, \
                                          const ForestShare&);
PERGOLA_CELLS_OF(float, float)
PERGOLA_CELLS_OF(float, double)
PERGOLA_CELLS_OF(double, double)
#undef PERGOLA_CELLS_OF
template bool OctreeCuda<float>::sum_masses(const Points<float>&, std::int64_t (&)[ExactSum::limbs]);
template bool OctreeCuda<float>::sum_masses(const Points<double>&, std::int64_t (&)[ExactSum::limbs]);
template bool OctreeCuda<double>::sum_masses(const Points<double>&, std::int64_t (&)[ExactSum::limbs]);
template void OctreeCuda<float>::find_rest(const float*, double, float*);
template void OctreeCuda<float>::find_rest(const double*, double, float*);
template void OctreeCuda<double>::find_rest(const double*, double, float*);
template void OctreeCuda<float>::sort_points(const Points<float>&, const SofteningDigit&, KeyDepth);
template void OctreeCuda<float>::sort_points(const Points<double>&, const SofteningDigit&, KeyDepth);
template void OctreeCuda<double>::sort_points(const Points<double>&, const SofteningDigit&, KeyDepth);
template void OctreeCuda<float>::upward(const Points<float>&, const TreeSoftening&, int, bool);
template void OctreeCuda<float>::upward(const Points<double>&, const TreeSoftening&, int, bool);
template void OctreeCuda<double>::upward(const Points<double>&, const TreeSoftening&, int, bool);

}  // namespace pergola::tree

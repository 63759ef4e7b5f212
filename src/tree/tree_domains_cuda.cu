#include "tree/tree_domains_cuda.cuh"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>
#include <unordered_map>

#include "base/error.hpp"
#include "comm/shares.hpp"
#include "device/launch.cuh"
#include "tree/frame_cuda.cuh"
#include "tree/keys.hpp"

namespace pergola::tree {

namespace {

/// Room in memory that host and device share; what it held is lost.
template <class V>
V* shared_room(const Device& device, SharedBuffer<V>& buffer, std::size_t size) {
  constexpr std::int64_t least = 512;
  const auto wanted = static_cast<std::int64_t>(size);
  if (buffer.size() < wanted) {
    buffer = SharedBuffer<V>();
    buffer = SharedBuffer<V>(device, std::max(least, 2 * wanted));
  }
  return buffer.data();
}

/// Keys on the device; nobody looks at their lowest `unsorted_bits`. weight_before: the sum of the weights before each
/// one, and of all; null: all are 1.
class KeysOnDevice final : public KeyRanges {
 public:
  KeysOnDevice(const Device& device, KeyQuestions& questions, const std::uint64_t* keys, int unsorted_bits,
               std::int64_t count, const std::int64_t* weight_before)
      : device_(device),
        questions_(questions),
        keys_(keys),
        unsorted_bits_(unsorted_bits),
        count_(count),
        weight_before_(weight_before) {
    if (!weight_before_) return;
    known_[0] = 0;
    device_.memory().to_host(&known_[static_cast<std::uint32_t>(count_)], weight_before_ + count_, sizeof known_[0]);
  }
  std::int64_t count() const override { return count_; }
  /// Of ranges that begin and end where others do that are known.
  std::int64_t weight(const Range& range) const override {
    return weight_before_ ? known_.at(range.end) - known_.at(range.begin) : KeyRanges::weight(range);
  }
  std::vector<Ends> ends(const std::vector<Range>& ranges) const override;
  std::vector<Bounds> parts(const std::vector<Range>& ranges, const std::vector<int>& shift) const override;

 private:
  const Device& device_;
  KeyQuestions& questions_;
  const std::uint64_t* keys_;
  int unsorted_bits_;
  std::int64_t count_;
  const std::int64_t* weight_before_;
  mutable std::unordered_map<std::uint32_t, std::int64_t> known_;  // weights before keys
};

struct FindEnds {
  const std::uint64_t* keys;
  int unsorted_bits;
  const KeyRanges::Range* range;
  KeyRanges::Ends* to;
  __device__ void operator()(std::int64_t k) const {
    const KeyRanges::Range of = range[k];
    const auto upper = [&](std::uint32_t i) { return keys[i] >> unsorted_bits << unsorted_bits; };
    to[k] = of.begin == of.end ? KeyRanges::Ends{} : KeyRanges::Ends{upper(of.begin), upper(of.end - 1)};
  }
};

/// A thread for each digit.
struct FindParts {
  const std::uint64_t* keys;
  const KeyRanges::Range* range;
  const int* shift;
  std::uint32_t* to;
  __device__ void operator()(std::int64_t k) const {
    constexpr std::int64_t digits = KeyRanges::digits;
    const KeyRanges::Range of = range[k / digits];
    const auto digit = static_cast<std::uint64_t>(k % digits);
    std::uint32_t* const bounds = to + k / digits * (digits + 1);
    if (digit == 0) bounds[0] = of.begin;
    const int at = shift[k / digits];
    bounds[digit + 1] = at < 0 ? of.end : end_of_digit(keys, of.begin, of.end, at, digit);
  }
};

struct LookUp {
  const std::int64_t* values;
  const std::uint32_t* at;
  std::int64_t* to;
  __device__ void operator()(std::int64_t k) const { to[k] = values[at[k]]; }
};

std::vector<KeyRanges::Ends> KeysOnDevice::ends(const std::vector<Range>& ranges) const {
  Range* const range = shared_room(device_, questions_.range, ranges.size());
  Ends* const found = shared_room(device_, questions_.ends, ranges.size());
  std::copy(ranges.begin(), ranges.end(), range);
  cuda::launch("ends of keys", std::ssize(ranges), device_.stream(), FindEnds{keys_, unsorted_bits_, range, found});
  device_.synchronize();
  return {found, found + ranges.size()};
}

std::vector<KeyRanges::Bounds> KeysOnDevice::parts(const std::vector<Range>& ranges,
                                                   const std::vector<int>& shift) const {
  Range* const range = shared_room(device_, questions_.range, ranges.size());
  int* const at = shared_room(device_, questions_.shift, ranges.size());
  Bounds* const found = shared_room(device_, questions_.bounds, ranges.size());
  std::copy(ranges.begin(), ranges.end(), range), std::copy(shift.begin(), shift.end(), at);
  cuda::launch("parts of keys", std::ssize(ranges) * static_cast<std::int64_t>(digits), device_.stream(),
               FindParts{keys_, range, at, reinterpret_cast<std::uint32_t*>(found)});
  if (!weight_before_) {
    device_.synchronize();
    return {found, found + ranges.size()};
  }
  const std::size_t bounds = ranges.size() * (digits + 1);
  std::int64_t* const weights = shared_room(device_, questions_.weights, bounds);
  const auto* const bound = reinterpret_cast<const std::uint32_t*>(found);
  cuda::launch("weights of keys", static_cast<std::int64_t>(bounds), device_.stream(),
               LookUp{weight_before_, bound, weights});
  device_.synchronize();
  for (std::size_t k = 0; k < bounds; ++k) known_[bound[k]] = weights[k];
  return {found, found + ranges.size()};
}

/// As reduce_block() of tree/frame_cuda.cuh.
double sum_by_halves(std::vector<double> value) {
  for (std::size_t half = value.size() / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) value[k] = value[k] + value[k + half];
  return value[0];
}

}  // namespace

/// As bounds_kernel and frame_kernel of tree/frame_cuda.cuh.
double sum_of_equal_cuda(double mass, std::int64_t n) {
  constexpr std::int64_t threads = std::int64_t{bound_blocks} * bound_threads;
  double few = 0;  // of a thread that has n / threads of them; others have one more
  for (std::int64_t k = 0; k < n / threads; ++k) few += mass;
  const double more = few + mass;
  std::vector<double> of_block;
  for (std::int64_t b = 0; b < bound_blocks; ++b) {
    std::vector<double> value;
    for (std::int64_t t = 0; t < bound_threads; ++t) value.push_back(b * bound_threads + t < n % threads ? more : few);
    of_block.push_back(sum_by_halves(std::move(value)));
  }
  std::vector<double> value(bound_threads);
  for (std::size_t b = 0; b < of_block.size(); ++b) value[b % bound_threads] += of_block[b];
  return sum_by_halves(std::move(value));
}

template <class Real>
TreeDomains<Real>::TreeDomains(const std::shared_ptr<DeviceMessages>& messages, std::shared_ptr<Communicator> ranks)
    : device_(messages->device()), ranks_(std::move(ranks)), own_(messages), bounds_(device_, ranks_) {}

template <class Real>
TopTree TreeDomains<Real>::cut(const Points<Real>& kept, const TreeSoftening& softening, std::int64_t total,
                               const LentMemory& work, const KeptTree* again) {
  device_.make_current();
  const auto least = bounds_.find(kept);
  double mass = 0;
  if (least[3] == -least[7]) {
    mass = sum_of_equal_cuda(least[3], total);
  } else {
    std::int64_t limbs[ExactSum::limbs];
    bounds_.own_mass(limbs);
    ranks_->all_reduce(limbs, ExactSum::limbs, Reduction::sum);
    mass = ExactSum::value(limbs);
  }
  frame_ = DistributedBounds<Real>::frame(least, mass);
  SofteningDigit digit = softening_digits(softening);
  if (!softening.uniform) digit.level = softening_level(frame_.side, softening.apart);
  if (again) frame_ = again->frame, digit.level = again->digit_level;
  TopTree top;
  const Points<Real> by_keys = again ? with_keys(kept, *again) : kept;
  const std::vector<std::uint64_t> cuts = find_cuts(by_keys, digit, total, work, top);
  plan(by_keys, digit, cuts, work);
  return top;
}

/// Domains are ranges of keys. Of these the digits are sorted that the last top was split by, and one more; all, where
/// they do not suffice. Returns the first key of each rank's domain; above all keys where this rank has none for it.
template <class Real>
std::vector<std::uint64_t> TreeDomains<Real>::find_cuts(const Points<Real>& kept, const SofteningDigit& digit,
                                                        std::int64_t total, const LentMemory& work, TopTree& top) {
  const std::int64_t n = kept.count;
  std::int64_t unknown = std::exchange(weighed_, -1) == n ? 0 : 1;
  ranks_->all_reduce(&unknown, 1, Reduction::maximum);
  const bool weighs = !unknown;
  int unsorted_bits = 0;
  std::size_t sort_bytes = 0, sum_bytes = 0;
  cub::DoubleBuffer<std::uint64_t> keys;
  cub::DoubleBuffer<std::uint32_t> weights(weights_.data(), weighs ? weights_.data() + n + 1 : nullptr);
  std::int64_t* weight_before = nullptr;
  const auto sort = [&](void* scratch) {
    const auto stream = cuda::handle(device_.stream());
    cuda::check(
        weighs ? cub::DeviceRadixSort::SortPairs(scratch, sort_bytes, keys, weights, n, unsorted_bits, 3 * key_levels,
                                                 stream)
               : cub::DeviceRadixSort::SortKeys(scratch, sort_bytes, keys, n, unsorted_bits, 3 * key_levels, stream),
        "tree keys");
  };
  const auto add_up = [&](void* scratch) {
    cuda::check(
        cub::DeviceScan::ExclusiveScan(scratch, sum_bytes, weights.Current(), weight_before, ::cuda::std::plus<>{},
                                       std::int64_t{0}, n + 1, cuda::handle(device_.stream())),
        "tree keys");
  };
  sort(nullptr);
  if (weighs) add_up(nullptr);
  std::byte* scratch = nullptr;
  const auto lay_out = [&](std::byte* memory) {
    MemoryParts parts(memory);
    auto *const some = parts.take<std::uint64_t>(n + 1), *const other = parts.take<std::uint64_t>(n + 1);
    keys = cub::DoubleBuffer<std::uint64_t>(some, other);
    scratch = parts.take<std::byte>(static_cast<std::int64_t>(std::max(sort_bytes, sum_bytes)));
    return parts.used();
  };
  lay_out(work(lay_out(nullptr)));
  cuda::launch("tree keys", n, device_.stream(),
               [kept, digit, frame = frame_, to = keys.Current()] __device__(std::int64_t i) {
                 to[i] = upper_key(kept, frame, digit, i);
               });
  unsorted_bits = std::max(0, finest_shift_ - 3);
  std::optional<KeysOnDevice> ranges;
  do {
    if (top.crowded) unsorted_bits = 0;
    if (n > 0) sort(scratch);
    if (weighs) {
      weight_before = reinterpret_cast<std::int64_t*>(keys.Alternate());
      device_.memory().zero(weights.Current() + n, sizeof(std::uint32_t));
      add_up(scratch);
    }
    ranges.emplace(device_, questions_, keys.Current(), unsorted_bits, n, weight_before);
    top = find_top_tree(*ranks_, *ranges, total);
  } while (top.crowded && unsorted_bits > 0);
  finest_shift_ = top.finest_shift;

  // The first of this rank's keys that goes to each rank, or to one after it.
  std::vector<KeyRanges::Range> first(static_cast<std::size_t>(ranks_->size()));
  const auto end = static_cast<std::uint32_t>(n);
  std::size_t rank = 0;
  for (const TopTree::Leaf& leaf : top.leaves)
    for (const auto at = static_cast<std::uint32_t>(leaf.begin); rank <= static_cast<std::size_t>(leaf.rank); ++rank)
      first[rank] = {at, std::min(at + 1, end)};
  for (; rank < first.size(); ++rank) first[rank] = {end, end};
  std::vector<std::uint64_t> cuts;
  const auto of_first = ranges->ends(first);
  for (std::size_t r = 0; r < first.size(); ++r)
    cuts.push_back(first[r].begin < end ? of_first[r].first : ~std::uint64_t{0});
  return cuts;
}

/// By the keys of kept particles.
template <class Real>
void TreeDomains<Real>::plan(const Points<Real>& kept, const SofteningDigit& digit,
                             const std::vector<std::uint64_t>& cuts, const LentMemory& work) {
  Arena(device_).room(cuts_, std::ssize(cuts));
  cuts_.from_host(cuts.data());
  std::byte* const memory = work(own_.work_bytes(kept.count));
  const auto list = own_.listing(kept.count, memory);
  cuda::launch("owners of particles", kept.count, device_.stream(),
               [kept, digit, list, frame = frame_, cut = cuts_.data(),
                size = static_cast<std::uint32_t>(cuts.size())] __device__(std::int64_t i) {
                 const std::uint64_t key = upper_key(kept, frame, digit, i);
                 std::uint32_t low = 0, high = size;  // the last rank whose first key is not above this one
                 while (high - low > 1) {
                   const std::uint32_t middle = low + (high - low) / 2;
                   (cut[middle] <= key ? low : high) = middle;
                 }
                 list.rank[i] = low, list.particle[i] = static_cast<std::uint32_t>(i);
               });
  own_.plan(kept.count, memory);
}

template <class Real>
std::uint32_t* TreeDomains<Real>::weights(std::int64_t count) {
  Arena(device_).room(weights_, 2 * (count + 1), count / 8);
  weighed_ = count;
  return weights_.data();
}

template class TreeDomains<float>;
template class TreeDomains<double>;

}  // namespace pergola::tree

#include <algorithm>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/atomic>
#include <numeric>

#include "analysis/friends.hpp"
#include "analysis/groups_cuda.cuh"
#include "device/buffer.hpp"

// Friends of friends on a GPU, with the loop bodies of friends.hpp. Only the list of large sets goes to the host, which
// orders the groups; the members are then sorted by group on the device.
namespace pergola {

namespace {

using Key = std::uint64_t;

/// Links that the threads of a GPU share.
struct DeviceLinks {
  using Link = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;
  std::uint32_t* above;
  PERGOLA_HD std::uint32_t load(std::uint32_t i) const { return Link(above[i]).load(::cuda::memory_order_relaxed); }
  PERGOLA_HD void store(std::uint32_t i, std::uint32_t value) const {
    Link(above[i]).store(value, ::cuda::memory_order_relaxed);
  }
  PERGOLA_HD bool swap_if(std::uint32_t i, std::uint32_t expected, std::uint32_t value) const {
    return Link(above[i]).compare_exchange_strong(expected, value, ::cuda::memory_order_relaxed);
  }
};

/// Key of the cell of each particle, and its place, to be sorted.
struct PlaceParticles {
  FriendFrame frame;
  const double *x, *y, *z;
  Key* keys;
  std::uint32_t* values;
  __device__ void operator()(std::int64_t i) const {
    keys[i] = frame.key<Key>(x[i], y[i], z[i]);
    values[i] = static_cast<std::uint32_t>(i);
  }
};

/// At the start each cell is a set of its own.
struct OwnLinks {
  std::uint32_t* above;
  __device__ void operator()(std::int64_t i) const { above[i] = static_cast<std::uint32_t>(i); }
};

/// After all links: the lowest cell of each set.
struct FindRoots {
  FriendSets<DeviceLinks> sets;
  std::uint32_t* root;
  __device__ void operator()(std::int64_t i) const { root[i] = sets.root(static_cast<std::uint32_t>(i)); }
};

/// Adds the particles of each cell to the root of its set.
struct CountSets {
  const std::uint32_t *root, *begin;
  std::uint32_t* sizes;
  __device__ void operator()(std::int64_t i) const { atomicAdd(&sizes[root[i]], begin[i + 1] - begin[i]); }
};

/// Writes 1 for a set with enough particles.
struct LargeSets {
  std::uint32_t least;
  const std::uint32_t* sizes;
  std::uint32_t* large;
  __device__ void operator()(std::int64_t i) const { large[i] = sizes[i] > 0 && sizes[i] >= least ? 1 : 0; }
};

/// A large set: its size, and the rank of its lowest id.
struct LargeSet {
  std::uint32_t size, lowest;
};
struct ListLargeSets {
  const std::uint32_t *large, *number, *sizes;
  LargeSet* sets;
  __device__ void operator()(std::int64_t i) const {
    if (large[i]) sets[number[i]] = {sizes[i], 0xffffffff};
  }
};

/// Calls body(rank of the id, number of the set) for each particle of a cell whose set is large.
struct MembersOfCell {
  const std::uint32_t *root, *begin, *order, *large, *number;
  const std::uint32_t* rank;  // null: ids rise
  template <class Body>
  __device__ void each(std::int64_t cell, const Body& body) const {
    if (!large[root[cell]]) return;
    for (std::uint32_t k = begin[cell]; k < begin[cell + 1]; ++k)
      body(rank ? rank[order[k]] : order[k], number[root[cell]]);
  }
};

/// The lowest id of each large set, which orders sets of equal size.
struct FindLowest {
  MembersOfCell members;
  LargeSet* sets;
  __device__ void operator()(std::int64_t cell) const {
    std::uint32_t lowest = 0xffffffff, set = 0;
    members.each(cell, [&](std::uint32_t by_id, std::uint32_t number) {
      lowest = by_id < lowest ? by_id : lowest, set = number;
    });
    if (lowest != 0xffffffff) atomicMin(&sets[set].lowest, lowest);
  }
};

/// The group of each particle, in the order of ids.
struct NumberMembers {
  MembersOfCell members;
  const std::uint32_t* group_of_set;
  std::uint32_t* groups;
  __device__ void operator()(std::int64_t cell) const {
    members.each(cell, [&](std::uint32_t by_id, std::uint32_t number) { groups[by_id] = group_of_set[number]; });
  }
};
/// Before members are numbered: all particles, in the order of ids, belong to the number after the last group.
struct InNoGroup {
  std::uint32_t none;
  const std::uint32_t* by_id;  // null: ids rise
  std::uint32_t *groups, *particles;
  __device__ void operator()(std::int64_t i) const {
    groups[i] = none;
    particles[i] = by_id ? by_id[i] : static_cast<std::uint32_t>(i);
  }
};

/// Calls a function of CUB twice: for its scratch size, then with the scratch memory.
template <class Call>
void with_scratch(const Device& device, const char* name, const Call& call) {
  std::size_t bytes = 0;
  cuda::check(call(nullptr, bytes), name);
  Buffer<std::byte> scratch(device, static_cast<std::int64_t>(bytes));
  cuda::check(call(scratch.data(), bytes), name);
  device.synchronize();
}

/// Particles sorted by cell, and the keys of the cells.
class CellsOnGpu {
 public:
  CellsOnGpu(const GpuParticles& p, const FriendFrame& frame)
      : device_(p.device),
        particles_(p),
        frame_(frame),
        count_(p.count),
        keys_(device_, count_),
        order_(device_, count_) {
    cuda::launch("place particles", count_, device_.stream(),
                 PlaceParticles{frame_, p.x.data(), p.y.data(), p.z.data(), keys_.data(), order_.data()});
    cuda::sort_order(device_, keys_, order_, cuda::bits_of(frame_.cells()));
    for (auto* place : {&x_, &y_, &z_}) *place = Buffer<double>(device_, count_);
    cuda::launch("sort places", count_, device_.stream(),
                 SortPlaces{p.x.data(), p.y.data(), p.z.data(), order_.data(), x_.data(), y_.data(), z_.data()});
    find_cells();
    list_rows();
  }

  GpuGroups groups(std::int64_t least) {
    Buffer<std::uint32_t> above(device_, cells_), root(device_, cells_);
    const FriendSets<DeviceLinks> sets{{above.data()}};
    const FriendCells<Key> cells{cells_,    cell_keys_.data(), begin_.data(), rows_.size() > 0 ? rows_.data() : nullptr,
                                 x_.data(), y_.data(),         z_.data()};
    cuda::launch("own links", cells_, device_.stream(), OwnLinks{above.data()});
    cuda::launch("link cells", cells_, device_.stream(), LinkCells<Key, DeviceLinks>{frame_, cells, sets});
    cuda::launch("find roots", cells_, device_.stream(), FindRoots{sets, root.data()});
    return groups_of(root.data(), least);
  }

 private:
  /// Counts the particles of each set at its root and numbers the large sets.
  GpuGroups groups_of(const std::uint32_t* root, std::int64_t least) {
    const auto count = static_cast<int>(cells_) + 1;
    Buffer<std::uint32_t> sizes(device_, count), number(device_, count), large(device_, count);
    sizes.zero();
    cuda::launch("count sets", cells_, device_.stream(), CountSets{root, begin_.data(), sizes.data()});
    cuda::launch(
        "large sets", count, device_.stream(),
        LargeSets{static_cast<std::uint32_t>(std::min<std::int64_t>(least, 0xffffffff)), sizes.data(), large.data()});
    with_scratch(device_, "number sets", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveSum(scratch, bytes, large.data(), number.data(), count,
                                           cuda::handle(device_.stream()));
    });
    std::uint32_t found = 0;
    device_.memory().to_host(&found, number.data() + cells_, sizeof found);
    if (found == 0) return {};
    const MembersOfCell members{root,         begin_.data(), order_.data(),
                                large.data(), number.data(), particles_.rank.data()};
    Buffer<LargeSet> sets(device_, found);
    cuda::launch("list sets", cells_, device_.stream(),
                 ListLargeSets{large.data(), number.data(), sizes.data(), sets.data()});
    cuda::launch("lowest ids", cells_, device_.stream(), FindLowest{members, sets.data()});
    return in_order(members, sets.to_host());
  }

  /// The largest group first; of equal ones, the one with the lowest id. The sort by group is stable, so members stay
  /// in the order of ids.
  GpuGroups in_order(const MembersOfCell& members, const std::vector<LargeSet>& sets) {
    std::vector<std::uint32_t> order(sets.size()), group_of_set(sets.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return sets[a].size != sets[b].size ? sets[a].size > sets[b].size : sets[a].lowest < sets[b].lowest;
    });
    GpuGroups result;
    for (std::size_t g = 0; g < order.size(); ++g) {
      group_of_set[order[g]] = static_cast<std::uint32_t>(g);
      result.begin.push_back(result.begin.back() + sets[order[g]].size);
    }
    const Buffer<std::uint32_t> numbers(device_, group_of_set);
    Buffer<std::uint32_t> groups(device_, count_), particles(device_, count_);
    const auto none = static_cast<std::uint32_t>(sets.size());
    cuda::launch("no groups", count_, device_.stream(),
                 InNoGroup{none, particles_.by_id.data(), groups.data(), particles.data()});
    cuda::launch("number members", cells_, device_.stream(), NumberMembers{members, numbers.data(), groups.data()});
    cuda::sort_order(device_, groups, particles, cuda::bits_of(static_cast<double>(none) + 1));
    result.members = Buffer<std::uint32_t>(device_, result.begin.back());
    device_.memory().copy(result.members.data(), particles.data(), result.members.bytes());
    device_.synchronize();
    return result;
  }

  /// Runs of equal keys are the cells; only cells with particles exist.
  void find_cells() {
    const auto n = static_cast<int>(count_);
    const cudaStream_t stream = cuda::handle(device_.stream());
    cell_keys_ = Buffer<Key>(device_, count_);
    Buffer<std::uint32_t> sizes(device_, count_ + 1);
    Buffer<int> found(device_, 1);
    sizes.zero();
    with_scratch(device_, "find cells", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceRunLengthEncode::Encode(scratch, bytes, keys_.data(), cell_keys_.data(), sizes.data(),
                                                found.data(), n, stream);
    });
    int cells = 0;
    found.to_host(&cells);
    cells_ = cells;
    begin_ = Buffer<std::uint32_t>(device_, cells_ + 1);
    with_scratch(device_, "count cells", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveSum(scratch, bytes, sizes.data(), begin_.data(), cells + 1, stream);
    });
  }

  /// The first cell of each row along x, if there are few enough rows.
  void list_rows() {
    const std::int64_t rows = rows_to_list(frame_, cells_);
    if (rows == 0) return;
    rows_ = Buffer<std::uint32_t>(device_, rows + 1);
    cuda::launch("list rows", cells_ + 1, device_.stream(),
                 FillRows<Key>{cell_keys_.data(), cells_, frame_.count[0], rows, rows_.data()});
  }

  Device device_;
  const GpuParticles& particles_;
  FriendFrame frame_;
  std::int64_t count_, cells_ = 0;
  Buffer<Key> keys_, cell_keys_;
  Buffer<std::uint32_t> order_, begin_, rows_;
  Buffer<double> x_, y_, z_;
};

}  // namespace

GpuGroups find_groups_cuda(const GpuParticles& particles, const FriendFrame& frame, std::int64_t least) {
  particles.device.make_current();
  if (particles.count == 0) return {};
  return CellsOnGpu(particles, frame).groups(least);
}

}  // namespace pergola

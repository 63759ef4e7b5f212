#include <algorithm>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/atomic>

#include "analysis/friend_cells.hpp"
#include "device/buffer.hpp"
#include "device/sort.cuh"

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

struct OwnLinks {
  std::uint32_t* above;
  __device__ void operator()(std::int64_t i) const { above[i] = static_cast<std::uint32_t>(i); }
};

struct FindRoots {
  FriendSets<DeviceLinks> sets;
  std::uint32_t* root;
  __device__ void operator()(std::int64_t i) const { root[i] = sets.root(static_cast<std::uint32_t>(i)); }
};

/// Particles of a cell are counted at the root of its set.
struct CountSets {
  const std::uint32_t *root, *begin;
  std::uint32_t* sizes;
  __device__ void operator()(std::int64_t i) const { atomicAdd(&sizes[root[i]], begin[i + 1] - begin[i]); }
};

/// 1 where a set has enough of them; what others have is forgotten.
struct LargeSets {
  std::uint32_t least;
  std::uint32_t *sizes, *large;
  __device__ void operator()(std::int64_t i) const {
    large[i] = sizes[i] > 0 && sizes[i] >= least ? 1 : 0;
    if (!large[i]) sizes[i] = 0;
  }
};

struct BeginSets {
  std::int64_t cells;
  const std::uint32_t *large, *number, *place;
  std::uint32_t* begin;
  __device__ void operator()(std::int64_t i) const {
    if (i == cells || large[i]) begin[number[i]] = place[i];
  }
};

/// The particles of a cell take the next places of its set.
struct ListSets {
  const std::uint32_t *root, *begin, *order, *large;
  std::uint32_t *place, *listed;
  __device__ void operator()(std::int64_t i) const {
    if (!large[root[i]]) return;
    std::uint32_t at = atomicAdd(&place[root[i]], begin[i + 1] - begin[i]);
    for (std::uint32_t k = begin[i]; k < begin[i + 1]; ++k) listed[at++] = order[k];
  }
};

/// Calls one of CUB's functions twice: for the bytes that it wants, and with them.
template <class Call>
void with_scratch(const Device& device, const char* name, const Call& call) {
  std::size_t bytes = 0;
  cuda::check(call(nullptr, bytes), name);
  Buffer<std::byte> scratch(device, static_cast<std::int64_t>(bytes));
  cuda::check(call(scratch.data(), bytes), name);
  device.synchronize();
}

int bits_of(double numbers) {
  int bits = 1;
  while (std::ldexp(1.0, bits) < numbers) ++bits;
  return bits;
}

/// Places on the device, and then those sorted by cell with the cells' keys.
class CellsOnGpu {
 public:
  CellsOnGpu(const Device& device, const Particles& p, const FriendFrame& frame)
      : device_(device), frame_(frame), count_(p.size()), keys_(device, count_), order_(device, count_) {
    Buffer<double> x(device, p.x), y(device, p.y), z(device, p.z);
    sort(x.data(), y.data(), z.data());
    for (auto* place : {&x_, &y_, &z_}) *place = Buffer<double>(device, count_);
    cuda::launch("sort places", count_, device.stream(),
                 SortPlaces{x.data(), y.data(), z.data(), order_.data(), x_.data(), y_.data(), z_.data()});
    find_cells();
    list_rows();
    device.synchronize();  // x, y and z end here
  }

  SetMembers sets(std::int64_t least) {
    Buffer<std::uint32_t> above(device_, cells_), root(device_, cells_);
    const FriendSets<DeviceLinks> sets{{above.data()}};
    const FriendCells<Key> cells{cells_,    cell_keys_.data(), begin_.data(), rows_.size() > 0 ? rows_.data() : nullptr,
                                 x_.data(), y_.data(),         z_.data()};
    cuda::launch("own links", cells_, device_.stream(), OwnLinks{above.data()});
    cuda::launch("link cells", cells_, device_.stream(), LinkCells<Key, DeviceLinks>{frame_, cells, sets});
    cuda::launch("find roots", cells_, device_.stream(), FindRoots{sets, root.data()});
    return members_of(root.data(), least);
  }

 private:
  /// Of cells whose sets begin at `root`: particles of each set are counted at it, places and numbers of the large ones
  /// are sums over those before, and each cell takes its part of the set's places.
  SetMembers members_of(const std::uint32_t* root, std::int64_t least) {
    const cudaStream_t stream = cuda::handle(device_.stream());
    const auto count = static_cast<int>(cells_) + 1;
    Buffer<std::uint32_t> sizes(device_, count), place(device_, count), number(device_, count), large(device_, count);
    sizes.zero();
    cuda::launch("count sets", cells_, device_.stream(), CountSets{root, begin_.data(), sizes.data()});
    cuda::launch(
        "large sets", count, device_.stream(),
        LargeSets{static_cast<std::uint32_t>(std::min<std::int64_t>(least, 0xffffffff)), sizes.data(), large.data()});
    const auto add_up = [&](const std::uint32_t* from, std::uint32_t* to) {
      with_scratch(device_, "number sets", [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(scratch, bytes, from, to, count, stream);
      });
    };
    add_up(sizes.data(), place.data()), add_up(large.data(), number.data());
    std::uint32_t sets = 0, members = 0;
    device_.memory().to_host(&sets, number.data() + cells_, sizeof sets);
    device_.memory().to_host(&members, place.data() + cells_, sizeof members);
    SetMembers found;
    found.begin.assign(1, 0);
    if (sets == 0) return found;
    Buffer<std::uint32_t> begin(device_, std::int64_t{sets} + 1), listed(device_, members);
    cuda::launch("begin sets", count, device_.stream(),
                 BeginSets{cells_, large.data(), number.data(), place.data(), begin.data()});
    cuda::launch("list sets", cells_, device_.stream(),
                 ListSets{root, begin_.data(), order_.data(), large.data(), place.data(), listed.data()});
    found.begin = begin.to_host(), found.members = listed.to_host();
    return found;
  }
  void sort(const double* x, const double* y, const double* z) {
    Buffer<Key> other_keys(device_, count_);
    Buffer<std::uint32_t> other_order(device_, count_);
    cuda::launch("place particles", count_, device_.stream(),
                 PlaceParticles{frame_, x, y, z, keys_.data(), order_.data()});
    const cuda::RadixSort<Key, std::uint32_t> sort{static_cast<std::uint32_t>(count_), 0, bits_of(frame_.cells())};
    Buffer<std::byte> scratch(device_, static_cast<std::int64_t>(sort.scratch_bytes()));
    Key* keys = keys_.data();
    std::uint32_t* order = order_.data();
    sort.sort(scratch.data(), sort.scratch_bytes(), keys, other_keys.data(), order, other_order.data(),
              device_.stream());
    device_.synchronize();
    if (keys != keys_.data()) keys_.swap(other_keys);
    if (order != order_.data()) order_.swap(other_order);
  }

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

  void list_rows() {
    const std::int64_t rows = rows_to_list(frame_, cells_);
    if (rows == 0) return;
    rows_ = Buffer<std::uint32_t>(device_, rows + 1);
    cuda::launch("list rows", cells_ + 1, device_.stream(),
                 FillRows<Key>{cell_keys_.data(), cells_, frame_.count[0], rows, rows_.data()});
  }

  Device device_;
  FriendFrame frame_;
  std::int64_t count_, cells_ = 0;
  Buffer<Key> keys_, cell_keys_;
  Buffer<std::uint32_t> order_, begin_, rows_;
  Buffer<double> x_, y_, z_;
};

}  // namespace

SetMembers find_sets_cuda(const Device& device, const Particles& particles, const FriendFrame& frame,
                          std::int64_t least) {
  device.make_current();
  return CellsOnGpu(device, particles, frame).sets(least);
}

}  // namespace pergola

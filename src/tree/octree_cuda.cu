#include "tree/octree_cuda.cuh"

#include <cub/device/device_radix_sort.cuh>

#include "base/error.hpp"
#include "device/launch.cuh"
#include "tree/estimate.hpp"
#include "tree/keys.hpp"
#include "tree/moments_cuda.cuh"
#include "tree/split.hpp"

namespace pergola::tree {

namespace {

constexpr int bound_blocks = 512, bound_threads = 256, bound_values = 7;

template <class T>
void reserve(const Device& device, std::int64_t size, Buffer<T>& buffer) {
  if (buffer.size() < size) buffer = Buffer<T>(device, size + size / 16);
}

/// ε² by species.
struct SofteningSquares {
  double square[8];
};

/// Sums and extremes of a block's threads, in a fixed order: low, high, mass.
__device__ void reduce_block(double (&value)[bound_values], double* out) {
  __shared__ double shared[bound_threads];
  for (int v = 0; v < bound_values; ++v) {
    __syncthreads();
    shared[threadIdx.x] = value[v];
    __syncthreads();
    for (int half = bound_threads / 2; half > 0; half /= 2) {
      if (static_cast<int>(threadIdx.x) < half) {
        const double a = shared[threadIdx.x], b = shared[threadIdx.x + static_cast<unsigned>(half)];
        shared[threadIdx.x] = v < 3 ? (b < a ? b : a) : v < 6 ? (b > a ? b : a) : a + b;
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) out[v] = shared[0];
  }
}

__device__ void start_bounds(double (&value)[bound_values]) {
  for (int a = 0; a < 3; ++a) value[a] = INFINITY, value[3 + a] = -INFINITY;
  value[6] = 0;
}
/// A position that is no number ends up in both bounds.
__device__ void widen(double (&value)[bound_values], int axis, double low, double high) {
  value[axis] = low < value[axis] || isnan(low) ? low : value[axis];
  value[3 + axis] = high > value[3 + axis] || isnan(high) ? high : value[3 + axis];
}

template <class Real>
__global__ void bounds_kernel(Points<Real> points, double* partial) {
  double value[bound_values];
  start_bounds(value);
  bool finite = true;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < points.count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const double at[3] = {static_cast<double>(points.x[i]), static_cast<double>(points.y[i]),
                          static_cast<double>(points.z[i])};
    for (int a = 0; a < 3; ++a) {
      widen(value, a, at[a], at[a]);
      finite = finite && isfinite(at[a]);
    }
    value[6] += static_cast<double>(points.mass[i]);
  }
  // Bounds of what is not finite are infinite.
  if (!finite) value[3] = INFINITY;
  reduce_block(value, partial + blockIdx.x * bound_values);
}

__global__ void frame_kernel(const double* partial, DeviceFrame* to) {
  double value[bound_values];
  start_bounds(value);
  for (int b = static_cast<int>(threadIdx.x); b < bound_blocks; b += bound_threads) {
    for (int a = 0; a < 3; ++a) widen(value, a, partial[b * bound_values + a], partial[b * bound_values + 3 + a]);
    value[6] += partial[b * bound_values + 6];
  }
  __shared__ double all[bound_values];
  reduce_block(value, all);
  __syncthreads();
  if (threadIdx.x > 0) return;
  double side = 0;
  for (int a = 0; a < 3; ++a) side = all[3 + a] - all[a] > side ? all[3 + a] - all[a] : side;
  to->frame.corner = {all[0], all[1], all[2]};
  to->frame.side = side > 0 ? side : 1;
  to->frame.mass = all[6] > 0 ? all[6] : 1;
  to->finite = isfinite(side) && isfinite(all[6]);
}

template <class Real>
PERGOLA_HD Vec3<double> unit_position(const Points<Real>& points, const Frame& frame, std::int64_t i) {
  return {(static_cast<double>(points.x[i]) - frame.corner.x) / frame.side,
          (static_cast<double>(points.y[i]) - frame.corner.y) / frame.side,
          (static_cast<double>(points.z[i]) - frame.corner.z) / frame.side};
}

/// Splits the cells of a level. Children that find no room are counted all the same.
__global__ void split_kernel(int level, LevelTable* levels, std::uint32_t capacity, const std::uint64_t* upper,
                             const std::uint64_t* lower, CellLink* link, std::uint32_t* parent) {
  const std::uint32_t begin = levels->begin[level], end = levels->begin[level + 1];
  for (std::uint32_t cell = begin + blockIdx.x * blockDim.x + threadIdx.x; cell < end; cell += gridDim.x * blockDim.x) {
    if (cell >= capacity) return;
    CellLink l = link[cell];
    const Pieces pieces = split_cell(l.first, l.count, upper, lower);
    l.children = static_cast<std::uint32_t>(pieces.count);
    l.child = pieces.count > 0 ? atomicAdd(&levels->next, l.children) : 0;
    link[cell] = l;
    if (l.child + l.children > capacity) continue;
    std::uint32_t from = l.first;
    for (int c = 0; c < pieces.count; ++c) {
      link[l.child + c] = {from, pieces.end[c] - from, 0, 0};
      parent[l.child + c] = cell;
      from = pieces.end[c];
    }
  }
}

__global__ void start_levels(LevelTable* levels, std::uint32_t count, CellLink* link, std::uint32_t* parent) {
  levels->begin[0] = 0, levels->begin[1] = 1, levels->next = 1;
  link[0] = {0, count, 0, 0};
  parent[0] = 0;
}
__global__ void close_level(int level, LevelTable* levels) { levels->begin[level + 2] = levels->next; }

}  // namespace

template <class T>
template <class Real>
void OctreeCuda<T>::find_frame(const Points<Real>& points) {
  reserve(device_, bound_blocks * bound_values, partial_);
  reserve(device_, 1, device_frame_);
  const auto stream = cuda::handle(device_.stream());
  bounds_kernel<<<bound_blocks, bound_threads, 0, stream>>>(points, partial_.data());
  frame_kernel<<<1, bound_threads, 0, stream>>>(partial_.data(), device_frame_.data());
  cuda::check(cudaGetLastError(), "tree bounds");
}

template <class T>
void OctreeCuda<T>::sort_keys() {
  constexpr int key_bits = 3 * key_levels;
  cub::DoubleBuffer<std::uint64_t> keys(sort_.keys.data(), sort_.other_keys.data());
  cub::DoubleBuffer<std::uint32_t> values(sort_.values.data(), sort_.other_values.data());
  const auto stream = cuda::handle(device_.stream());
  std::size_t bytes = 0;
  cuda::check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, count_, 0, key_bits, stream), "tree sort");
  reserve(device_, static_cast<std::int64_t>(bytes), sort_scratch_);
  cuda::check(cub::DeviceRadixSort::SortPairs(sort_scratch_.data(), bytes, keys, values, count_, 0, key_bits, stream),
              "tree sort");
  if (keys.selector == 1) sort_.keys.swap(sort_.other_keys);
  if (values.selector == 1) sort_.values.swap(sort_.other_values);
}

template <class T>
template <class Real>
void OctreeCuda<T>::sort_points(const Points<Real>& points) {
  reserve(device_, count_, sort_.keys), reserve(device_, count_, sort_.other_keys);
  reserve(device_, count_, sort_.values), reserve(device_, count_, sort_.other_values);
  reserve(device_, 1, device_levels_);
  device_levels_.zero();
  const DeviceFrame* const frame = device_frame_.data();
  const Stream stream = device_.stream();
  cuda::launch("tree keys", count_, stream,
               [points, frame, keys = sort_.keys.data(), values = sort_.values.data()] __device__(std::int64_t i) {
                 keys[i] = upper_key(unit_position(points, frame->frame, i));
                 values[i] = static_cast<std::uint32_t>(i);
               });
  sort_keys();
  cuda::launch("tree crowded", count_ - leaf_capacity, stream,
               [keys = sort_.keys.data(), levels = device_levels_.data()] __device__(std::int64_t i) {
                 if (keys[i] == keys[i + leaf_capacity]) levels->crowded = 1;
               });
  device_levels_.to_host(&levels_);
  has_lower_ = levels_.crowded != 0;
  if (!has_lower_) return;
  const auto set_keys = [&](bool lower, std::uint64_t* keys) {
    cuda::launch("tree keys", count_, stream,
                 [points, frame, lower, keys, values = sort_.values.data()] __device__(std::int64_t k) {
                   const Vec3<double> at = unit_position(points, frame->frame, values[k]);
                   keys[k] = lower ? lower_key(at) : upper_key(at);
                 });
  };
  set_keys(true, sort_.keys.data());
  sort_keys();
  set_keys(false, sort_.keys.data());
  sort_keys();
  reserve(device_, count_, lower_);
  set_keys(true, lower_.data());
}

/// False when there were more cells than room.
template <class T>
bool OctreeCuda<T>::try_build_cells() {
  const auto stream = cuda::handle(device_.stream());
  const auto capacity = static_cast<std::uint32_t>(link_.size());
  LevelTable* const levels = device_levels_.data();
  start_levels<<<1, 1, 0, stream>>>(levels, static_cast<std::uint32_t>(count_), link_.data(), parent_.data());
  constexpr int at_a_time = 16;
  for (int level = 0; level < most_levels;) {
    for (const int stop = level + at_a_time; level < stop; ++level) {
      split_kernel<<<1024, 128, 0, stream>>>(level, levels, capacity, sort_.keys.data(),
                                             has_lower_ ? lower_.data() : nullptr, link_.data(), parent_.data());
      close_level<<<1, 1, 0, stream>>>(level, levels);
    }
    cuda::check(cudaGetLastError(), "tree cells");
    device_levels_.to_host(&levels_);
    if (levels_.next > capacity) return false;
    for (level_count_ = 1; level_count_ <= level; ++level_count_)
      if (levels_.begin[level_count_] == levels_.begin[level_count_ + 1]) return true;
  }
  throw Error(ErrorKind::numerics, "tree: more levels than keys have digits");
}

template <class T>
void OctreeCuda<T>::build_cells() {
  std::int64_t room = count_ / 5 + 1024;
  while (true) {
    reserve(device_, room, link_), reserve(device_, room, parent_);
    if (parent_.size() < link_.size()) parent_ = Buffer<std::uint32_t>(device_, link_.size());
    if (try_build_cells()) return;
    room = 2 * link_.size();
  }
}

template <class T>
template <class Real>
void OctreeCuda<T>::build(const Points<Real>& points, const double* epsilon, bool uniform, int order,
                          bool accelerations) {
  device_.make_current();
  count_ = points.count;
  uniform_ = uniform;
  has_accelerations_ = accelerations;
  level_count_ = 0;
  levels_ = {};
  if (count_ == 0) return;
  find_frame(points);
  sort_points(points);
  build_cells();
  DeviceFrame found;
  device_frame_.to_host(&found);
  if (!found.finite) throw Error(ErrorKind::numerics, "tree: a position is not a finite number");
  frame_ = found.frame;
  same_epsilon2_ = epsilon[0] / frame_.side * (epsilon[0] / frame_.side);

  for (auto* buffer : {&x_, &y_, &z_, &mass_}) reserve(device_, count_, *buffer);
  for (auto* buffer : {&rx_, &ry_, &rz_, &rmass_}) reserve(device_, count_, *buffer);
  if (!uniform) reserve(device_, count_, epsilon2_), reserve(device_, count_, repsilon2_);
  SofteningSquares lengths{};
  if (!uniform)
    for (int s = 0; s < 6; ++s) lengths.square[s] = epsilon[s] / frame_.side * (epsilon[s] / frame_.side);
  cuda::launch(
      "tree gather", count_, device_.stream(),
      [points, frame = frame_, lengths, order_of = sort_.values.data(), x = x_.data(), y = y_.data(), z = z_.data(),
       mass = mass_.data(), squares = uniform ? nullptr : epsilon2_.data()] __device__(std::int64_t k) {
        const std::int64_t i = order_of[k];
        const Vec3<double> at = unit_position(points, frame, i);
        x[k] = at.x, y[k] = at.y, z[k] = at.z;
        mass[k] = static_cast<double>(points.mass[i]) / frame.mass;
        if (squares) squares[k] = lengths.square[points.species ? points.species[i] : 0];
      });
  upward(order);
  if (accelerations) estimate_accelerations();
}

template <class T>
void OctreeCuda<T>::upward(int order) {
  const std::int64_t room = link_.size();
  reserve(device_, room, shape_), reserve(device_, room, extent_), reserve(device_, room, scale_);
  reserve(device_, cells() * std::int64_t{multipole_stride(order)}, multipole_);
  UpwardPassCuda<T> pass;
  pass.link = link_.data();
  pass.x = x_.data(), pass.y = y_.data(), pass.z = z_.data(), pass.mass = mass_.data();
  pass.epsilon2 = uniform_ ? nullptr : epsilon2_.data();
  pass.same_epsilon2 = same_epsilon2_;
  pass.shape = shape_.data(), pass.extent = extent_.data(), pass.scale = scale_.data();
  pass.multipole = multipole_.data();
  pass.rx = rx_.data(), pass.ry = ry_.data(), pass.rz = rz_.data(), pass.rmass = rmass_.data();
  pass.repsilon2 = uniform_ ? nullptr : repsilon2_.data();
  for (int level = level_count_; level-- > 0;)
    upward_cuda(pass, order, levels_.begin[level], levels_.begin[level + 1], device_.stream());
}

template <class T>
void OctreeCuda<T>::estimate_accelerations() {
  reserve(device_, link_.size(), acceleration_);
  double* const a = acceleration_.data();
  const CellLink* const link = link_.data();
  const std::uint32_t* const parent = parent_.data();
  const CellShape* const shape = shape_.data();
  cuda::launch("tree estimate", cells(), device_.stream(), [=] __device__(std::int64_t c) {
    const auto cell = static_cast<std::uint32_t>(c);
    if (link[cell].count <= estimate_capacity && (cell == 0 || link[parent[cell]].count > estimate_capacity))
      a[cell] = estimate_acceleration(shape, link, cell);
  });
  for (int level = 1; level < level_count_; ++level)
    cuda::launch("tree estimate down", levels_.begin[level + 1] - levels_.begin[level], device_.stream(),
                 [=, begin = levels_.begin[level]] __device__(std::int64_t c) {
                   const auto cell = static_cast<std::uint32_t>(begin + c);
                   if (link[parent[cell]].count <= estimate_capacity) a[cell] = a[parent[cell]];
                 });
  for (int level = level_count_; level-- > 0;)
    cuda::launch("tree estimate up", levels_.begin[level + 1] - levels_.begin[level], device_.stream(),
                 [=, begin = levels_.begin[level]] __device__(std::int64_t k) {
                   const auto cell = static_cast<std::uint32_t>(begin + k);
                   if (link[cell].count <= estimate_capacity) return;
                   double least = INFINITY;
                   for (std::uint32_t c = 0; c < link[cell].children; ++c)
                     least = a[link[cell].child + c] < least ? a[link[cell].child + c] : least;
                   a[cell] = least;
                 });
}

template <class T>
TreeView<T> OctreeCuda<T>::view() const {
  TreeView<T> v;
  v.count = count_;
  v.shape = shape_.data();
  v.link = link_.data();
  v.scale = scale_.data();
  v.multipole = multipole_.data();
  v.acceleration = has_accelerations_ ? acceleration_.data() : nullptr;
  v.x = rx_.data(), v.y = ry_.data(), v.z = rz_.data();
  v.mass = rmass_.data();
  v.epsilon2 = uniform_ ? nullptr : repsilon2_.data();
  v.same_epsilon2 = same_epsilon2_;
  return v;
}

template class OctreeCuda<float>;
template class OctreeCuda<double>;
template void OctreeCuda<float>::build(const Points<float>&, const double*, bool, int, bool);
template void OctreeCuda<float>::build(const Points<double>&, const double*, bool, int, bool);
template void OctreeCuda<double>::build(const Points<double>&, const double*, bool, int, bool);

}  // namespace pergola::tree

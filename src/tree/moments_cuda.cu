// The upward pass on a GPU: a warp per leaf, then lanes per parent, level by level; and the estimate of accelerations.
#include "tree/moments_cuda.cuh"

//
// Sums of a leaf go over lanes in a fixed order, so that a tree has the same bits from run to run. Centres are in
// double precision; moments are in the walk's number type T, about the centre and in units of the cell's scale. A row
// is centre, scale and moments, as the walk reads them; a record is what the opening test reads.
#include <cfloat>
#include <type_traits>

#include "device/launch.cuh"
#include "particles/box.hpp"
#include "physics/expansion.hpp"
#include "physics/split.hpp"
#include "tree/estimate.hpp"
#include "tree/kept_tree.hpp"
#include "tree/shape.hpp"
#include "tree/walk_cuda.cuh"

namespace pergola::tree {

/// Whether particles are copied into the order of the tree before the leaves are made. A thread per particle waits for
/// memory once, with many others; the warp of a leaf would wait twice. The copies lie where the places about the
/// leaf's centre will.
template <class T, class Real>
inline constexpr bool is_fetched = std::is_same_v<T, float>&& std::is_same_v<Real, float>;

__global__ void __launch_bounds__(256)
    fetch_kernel(const std::uint32_t* place, const __grid_constant__ Points<float> points, PlacedMass<float>* to) {
  const std::int64_t k = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k >= points.count) return;
  const std::uint32_t i = place[k];
  to[k] = {points.x[i], points.y[i], points.z[i], points.mass[i]};
}

/// Particle k in the order of the tree, in its units.
template <class T, class Real>
__device__ Vec3<double> find_point(const UpwardPassCuda<T>& pass, const Points<Real>& points, std::uint32_t k,
                                   double& mass) {
  Points<Real> from = points;
  PlacedMass<T> fetched;
  std::uint32_t i = 0;
  if constexpr (is_fetched<T, Real>) {
    fetched = pass.particle[k];
    from.x = &fetched.x, from.y = &fetched.y, from.z = &fetched.z, from.mass = &fetched.mass;
  } else {
    i = pass.place[k];
  }
  mass = static_cast<double>(from.mass[i]) / pass.frame.mass;
  return unit_position(from, pass.frame, i);
}

/// Does nothing where leaf_kernel reads the particles itself.
template <class T, class Real>
void fetch_points(const UpwardPassCuda<T>& pass, const Points<Real>& points, Stream stream) {
  if constexpr (is_fetched<T, Real>) {
    constexpr std::int64_t threads = 256;
    const auto blocks = static_cast<unsigned>((points.count + threads - 1) / threads);
    if (blocks > 0) fetch_kernel<<<blocks, threads, 0, cuda::handle(stream)>>>(pass.place, points, pass.particle);
  }
}

namespace {

constexpr unsigned warps_per_block = 4;

/// What is summed to find a centre: lanes hold particles of a leaf, or children of a parent.
template <int width>
__device__ Vec3<double> centre_of(const Mean& by_mass, const Mean& by_count, double& mass) {
  mass = lanes_sum<width>(by_mass.weight);
  Mean used = by_mass;
  if (!(mass > 0)) used = by_count;
  const double inverse = 1 / lanes_sum<width>(used.weight);
  return {lanes_sum<width>(used.x) * inverse, lanes_sum<width>(used.y) * inverse, lanes_sum<width>(used.z) * inverse};
}

/// The average radius: Σ m d^order ≤ r^(order − 2) Σ m d².
template <int order>
__device__ float average_radius(float r, float second) {
  return r > 0 ? r * powf(fminf(second / (r * r), 1.0f), 1.0f / order) : 0.0f;
}

/// Writes the head of a row: centre and scale.
template <class T>
__device__ T start_row(T* row, const Vec3<double>& centre, double r, bool writes) {
  const T scale = static_cast<T>(r > smallest_scale ? r : smallest_scale);
  if (writes) {
    auto* const head = reinterpret_cast<double*>(row);
    head[0] = centre.x, head[1] = centre.y, head[2] = centre.z;
    row[Row<T>::head] = scale;
  }
  return scale;
}

/// A warp makes a leaf: particles are placed about the centre, and summed.
template <int order, class T, class Real>
__global__ void __launch_bounds__(warps_per_block * 32)
    leaf_kernel(const __grid_constant__ UpwardPassCuda<T> pass, const __grid_constant__ Points<Real> points,
                std::uint32_t cells) {
  constexpr int terms = physics::expansion_terms(order), padded = terms <= 32 ? 32 : 64;
  constexpr int per_lane = leaf_capacity / 32;
  const std::uint32_t cell = blockIdx.x * warps_per_block + threadIdx.x / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (cell >= cells) return;
  const CellLink link = pass.link[cell];
  if (link.children > 0) return;

  Vec3<double> at[per_lane];
  double mass[per_lane], epsilon2 = 0, least_epsilon2 = INFINITY;
  Mean by_mass, by_count;
  const bool follows = pass.period.x > 0;
  Vec3<double> built{0, 0, 0};
  if (follows) built = place_of_key(pass.upper[link.first], pass.digit_level);
#pragma unroll
  for (int h = 0; h < per_lane; ++h) {
    const std::uint32_t k = static_cast<std::uint32_t>(lane + 32 * h);
    at[h] = {0, 0, 0}, mass[h] = 0;
    if (k >= link.count) continue;
    at[h] = find_point(pass, points, link.first + k, mass[h]);
    if (follows) at[h] = image_near(at[h], built, pass.period);
    by_mass.add(at[h].x, at[h].y, at[h].z, mass[h]);
    by_count.add(at[h].x, at[h].y, at[h].z, 1);
    if (!pass.softening) continue;
    const double square = pass.species_epsilon2[points.species ? points.species[pass.place[link.first + k]] : 0];
    pass.softening[link.first + k] = static_cast<T>(physics::softening_number(pass.kernel, square));
    epsilon2 = square > epsilon2 ? square : epsilon2;
    least_epsilon2 = square < least_epsilon2 ? square : least_epsilon2;
  }
  double total;
  const Vec3<double> centre = centre_of<32>(by_mass, by_count, total);

  BoxAbout box{{FLT_MAX, FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX, -FLT_MAX}, 0};
  double largest = 0, second = 0;
#pragma unroll
  for (int h = 0; h < per_lane; ++h) {
    at[h] = at[h] - centre;
    if (static_cast<std::uint32_t>(lane + 32 * h) >= link.count) continue;
    const double square = dot(at[h], at[h]);
    largest = square > largest ? square : largest;
    second += mass[h] * square;
    const float d[3] = {static_cast<float>(at[h].x), static_cast<float>(at[h].y), static_cast<float>(at[h].z)};
    for (int a = 0; a < 3; ++a) box.low[a] = fminf(box.low[a], d[a]), box.high[a] = fmaxf(box.high[a], d[a]);
  }
  const double r = sqrt(lanes_most<32>(largest));
  second = lanes_sum<32>(second);
  box.second = static_cast<float>(total > 0 ? second / total : r * r);
  for (int a = 0; a < 3; ++a) box.low[a] = lanes_least<32>(box.low[a]), box.high[a] = lanes_most<32>(box.high[a]);
  std::uint32_t bits = link.count >= point_capacity ? CellRecord::crowd : 0;
  if (pass.softening) {
    epsilon2 = lanes_most<32>(epsilon2);
    if (lanes_least<32>(least_epsilon2) != epsilon2) bits |= CellRecord::mixed;
  } else {
    epsilon2 = pass.same_epsilon2;
  }
  if (lane == 0) {
    pass.box[cell] = box;
    const auto radius = static_cast<float>(r);
    pass.record[cell] = {centre.x,
                         centre.y,
                         centre.z,
                         radius,
                         average_radius<order>(radius, box.second),
                         static_cast<float>(total),
                         static_cast<float>(epsilon2),
                         0,
                         bits};
  }

  T* const row = pass.row + std::int64_t{cell} * Row<T>::stride(order);
  const T inverse = T(-1) / start_row(row, centre, r, lane == 0);
  T sum[padded];
#pragma unroll
  for (int t = 0; t < padded; ++t) sum[t] = 0;
#pragma unroll
  for (int h = 0; h < per_lane; ++h) {
    const std::uint32_t k = static_cast<std::uint32_t>(lane + 32 * h);
    if (32 * h >= static_cast<int>(link.count)) break;
    const Vec3<T> d{static_cast<T>(at[h].x), static_cast<T>(at[h].y), static_cast<T>(at[h].z)};
    const auto m = static_cast<T>(mass[h]);
    if (k < link.count) pass.particle[link.first + k] = {d.x, d.y, d.z, m};
    const physics::Monomials<order, T> moment(inverse * d, m);
#pragma unroll
    for (int t = 0; t < terms; ++t) sum[t] += moment.value[t];
  }
  sum_over_lanes<padded / 2>(sum, lane);
#pragma unroll
  for (int k = 0; k < padded / 32; ++k) {
    const int t = lane * (padded / 32) + k;
    if (t == 0 || (t > 3 && t < terms)) row[Row<T>::place(t)] = sum[k];
  }
}

/// Eight lanes make a parent, a child each.
template <int order, class T>
__global__ void __launch_bounds__(warps_per_block * 32)
    parent_kernel(const __grid_constant__ UpwardPassCuda<T> pass, std::uint32_t begin, std::uint32_t end) {
  constexpr int terms = physics::expansion_terms(order);
  const int lane = static_cast<int>(threadIdx.x) % 32, mate = lane % 8;
  const std::uint32_t cell = begin + (blockIdx.x * blockDim.x + threadIdx.x) / 8;
  const CellLink link = pass.link[cell < end ? cell : begin];
  const bool parent = cell < end && link.children > 0;
  if (!__any_sync(all_lanes, parent)) return;
  const bool child = parent && mate < static_cast<int>(link.children);
  const std::uint32_t source = child ? link.child + static_cast<std::uint32_t>(mate) : 0;
  const CellRecord c = child ? pass.record[source] : CellRecord{};
  const BoxAbout b = child ? pass.box[source] : BoxAbout{};

  Mean by_mass, by_count;
  if (child) {
    by_mass.add(c.x, c.y, c.z,
                static_cast<double>(pass.row[std::int64_t{source} * Row<T>::stride(order) + Row<T>::place(0)]));
    by_count.add(c.x, c.y, c.z, pass.link[source].count);
  } else if (!parent) {
    by_count.weight = 1;
  }
  double total;
  const Vec3<double> centre = centre_of<8>(by_mass, by_count, total);
  const Vec3<double> from = child ? Vec3<double>{c.x, c.y, c.z} - centre : Vec3<double>{0, 0, 0};
  const Vec3<float> d{static_cast<float>(from.x), static_cast<float>(from.y), static_cast<float>(from.z)};
  const float square = dot(d, d);
  const float reach = lanes_most<8>(child ? sqrtf(square) + c.r : 0.0f);
  const float second = lanes_sum<8>(child ? c.mass * (square + b.second) : 0.0f);
  BoxAbout box;
  float corner = 0;
  const float offset[3] = {d.x, d.y, d.z};
  for (int a = 0; a < 3; ++a) {
    box.low[a] = lanes_least<8>(child ? offset[a] + b.low[a] : FLT_MAX);
    box.high[a] = lanes_most<8>(child ? offset[a] + b.high[a] : -FLT_MAX);
    const float side = fmaxf(-box.low[a], box.high[a]);
    corner += side * side;
  }
  const float r = fminf(reach, sqrtf(corner));
  box.second = total > 0 ? second / static_cast<float>(total) : r * r;
  const float epsilon2 = lanes_most<8>(child ? c.epsilon2 : 0.0f);
  const bool differs = child && ((c.bits & CellRecord::mixed) || c.epsilon2 != epsilon2);
  const bool mixed = lanes_most<8>(differs ? 1 : 0) > 0;
  if (parent && mate == 0) {
    pass.box[cell] = box;
    const std::uint32_t bits = link.children | CellRecord::crowd | (mixed ? CellRecord::mixed : 0);
    const CellRecord record{
        centre.x, centre.y,   centre.z, r, average_radius<order>(r, box.second), static_cast<float>(total),
        epsilon2, link.child, bits};
    pass.record[cell] = record;
  }

  T* const row = pass.row + std::int64_t{parent ? cell : 0} * Row<T>::stride(order);
  const T inverse = T(1) / start_row(row, centre, static_cast<double>(r), parent && mate == 0);
  T sum[terms];
#pragma unroll
  for (int t = 0; t < terms; ++t) sum[t] = 0;
  if (child) {
    OpenRow<order, T> below(pass.row + std::int64_t{source} * Row<T>::stride(order));
    const Vec3<T> away{static_cast<T>(-from.x) * inverse, static_cast<T>(-from.y) * inverse,
                       static_cast<T>(-from.z) * inverse};
    physics::shift_multipole<order>(away, below.scale * inverse, below.multipole, sum);
  }
#pragma unroll
  for (int t = 0; t < terms; ++t) {
    if (t >= 1 && t <= 3) continue;
    sum[t] = lanes_sum<8>(sum[t]);
    if (parent && mate == t % 8) row[Row<T>::place(t)] = sum[t];
  }
}

/// Cells of one warp's stack in shared memory.
constexpr int estimate_stack = 1024;
/// Cells that a warp looks at: few, and one in a small system, so that these fill the device.
constexpr std::uint32_t cells_per_warp = 8, few_cells = 16384;

/// In open space nothing is left.
struct NoRest {
  __device__ Vec3<float> mean(std::uint32_t) const { return {0, 0, 0}; }
};
struct MeanRest : RestOfAcceleration {
  __device__ Vec3<float> mean(std::uint32_t cell) const { return {axis[0][cell], axis[1][cell], axis[2][cell]}; }
};

/// A warp takes 32 cells, one after the other.
template <class Real>
__global__ void __launch_bounds__(warps_per_block * 32)
    mean_rest_kernel(const CellLink* link, const std::uint32_t* parent, std::uint32_t cells, const std::uint32_t* place,
                     const Real* acceleration, double unit, float* mean) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t first = (blockIdx.x * warps_per_block + threadIdx.x / 32) * 32;
  const std::uint32_t mine = first + static_cast<std::uint32_t>(lane);
  unsigned groups = __ballot_sync(all_lanes, mine < cells && is_group(link, parent, mine));
  for (; groups != 0; groups &= groups - 1) {
    const std::uint32_t cell = first + static_cast<std::uint32_t>(__ffs(static_cast<int>(groups)) - 1);
    const CellLink l = link[cell];
    double sum = 0;
    for (std::uint32_t k = static_cast<std::uint32_t>(lane); k < l.count; k += 32)
      sum += static_cast<double>(acceleration[place[l.first + k]]);
    sum = lanes_sum<32>(sum);
    if (lane == 0) mean[cell] = static_cast<float>(unit / l.count * sum);
  }
}

/// A warp estimates the acceleration at the centre of one cell, as estimate_acceleration(). around: its root.
template <class Space>
__device__ float estimate(const CellRecord* record, std::uint32_t target, const RootsAround& around,
                          [[maybe_unused]] const Space& space, const Vec3<float>& rest, const MissingCells& missing,
                          std::uint32_t* stack, int lane) {
  const CellRecord t = record[target];
  float ax = 0, ay = 0, az = 0;
  int depth = 0;
  for (std::uint32_t k = 0; k < around.count(); k += 32) {
    std::uint32_t root = 0;
    const bool there = around.take(k + static_cast<std::uint32_t>(lane), root);
    const unsigned all = __ballot_sync(all_lanes, there);
    if (there) stack[depth + __popc(all & ((1u << lane) - 1))] = root;
    depth += __popc(all);
  }
  __syncwarp();
  while (depth > 0) {
    // So few at a time that what they open finds room: one by one a stack grows by at most 7 per level.
    const int room = depth + 512 < estimate_stack ? (estimate_stack - 512 - depth) / 8 + 1 : 1;
    const int count = min(min(depth, 32), room);
    depth -= count;
    bool valid = lane < count;
    const std::uint32_t source = valid ? stack[depth + lane] : target;
    const CellRecord s = record[source];
    __syncwarp();
    const Vec3<double> apart = separation({t.x, t.y, t.z}, {s.x, s.y, s.z}, space);
    const float dx = static_cast<float>(apart.x), dy = static_cast<float>(apart.y), dz = static_cast<float>(apart.z);
    const float square = dx * dx + dy * dy + dz * dz;
    if constexpr (Space::periodic) {
      const float reach = s.r + static_cast<float>(space.cut_off);
      valid = valid && square < reach * reach;
    }
    const bool far = s.r * s.r <= estimate_angle * estimate_angle * square;
    std::uint32_t mine = valid && !far ? s.children() : 0;
    if (mine > 0 && s.child == elsewhere) {
      missing.note(source);
      mine = 0;
    }
    const std::uint32_t before = lanes_scan(mine, lane);
    for (std::uint32_t c = 0; c < mine; ++c) stack[depth + static_cast<int>(before - mine + c)] = s.child + c;
    depth += static_cast<int>(__shfl_sync(all_lanes, before, 31));
    __syncwarp();
    const float softened = square + fmaxf(s.epsilon2, t.epsilon2) + (far ? 0.0f : s.r * s.r);
    if (!valid || mine > 0 || !(softened > 0)) continue;
    const float u = physics::rsqrt(softened);
    float factor = s.mass * u * u * u;
    if constexpr (Space::periodic) {
      const float z = physics::split_place(space.law, physics::smaller(square, space.law.cut_off2));
      factor = fmaxf(factor - s.mass * physics::split_polynomial(space.law.attraction, z), 0.0f);
    }
    ax += factor * dx, ay += factor * dy, az += factor * dz;
  }
  ax = lanes_sum<32>(ax), ay = lanes_sum<32>(ay), az = lanes_sum<32>(az);
  if constexpr (Space::periodic) ax += rest.x, ay += rest.y, az += rest.z;
  return sqrtf(ax * ax + ay * ay + az * az);
}

/// Of a group, and for the cells above it. Floats that are not negative are in the order of their bits.
__device__ void set_estimate(const std::uint32_t* parent, std::uint32_t cell, float value, unsigned* acceleration) {
  const unsigned bits = __float_as_uint(value);
  acceleration[cell] = bits;
  for (std::uint32_t at = cell, above = parent[at]; above != at; above = parent[at]) {
    at = above;
    if (acceleration[at] <= bits) return;
    atomicMin(&acceleration[at], bits);
  }
}

/// Estimates for groups: cells with at most estimate_capacity particles below a larger one. A warp has `per_warp` cells
/// and works on its groups one after the other. Cells above a group get the smallest estimate below them.
template <class Space, class Rest>
__global__ void __launch_bounds__(warps_per_block * 32)
    estimate_kernel(const CellRecord* record, const CellLink* link, const std::uint32_t* parent,
                    const __grid_constant__ RootsView roots, std::uint32_t cells, const __grid_constant__ Space space,
                    const __grid_constant__ Rest rest, const __grid_constant__ PartOfTree part, std::uint32_t per_warp,
                    unsigned* acceleration) {
  __shared__ std::uint32_t stacks[warps_per_block][estimate_stack];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t first = (blockIdx.x * warps_per_block + threadIdx.x / 32) * per_warp;
  const std::uint32_t cell = first + static_cast<std::uint32_t>(lane);
  const bool group = cell < first + per_warp && cell < cells && is_group(link, parent, cell) &&
                     !(cell < part.top && part.not_own[cell]);
  unsigned groups = __ballot_sync(all_lanes, group);
  float mine = 0;
  for (; groups != 0; groups &= groups - 1) {
    const int k = __ffs(static_cast<int>(groups)) - 1;
    const std::uint32_t target = first + static_cast<std::uint32_t>(k);
    std::uint32_t root = target;
    if (roots.level > 0)
      while (parent[root] != root) root = parent[root];
    const RootsAround around(roots, root);
    const float a =
        estimate(record, target, around, space, rest.mean(target), part.missing, stacks[threadIdx.x / 32], lane);
    if (lane == k) mine = a;
  }
  if (group) set_estimate(parent, cell, mine, acceleration);
}

/// The same for groups whose particles bring their estimate along, by place.
__global__ void __launch_bounds__(256)
    take_estimate_kernel(const CellLink* link, const std::uint32_t* parent, std::uint32_t cells,
                         const std::uint32_t* place, const double* of_particle, const __grid_constant__ PartOfTree part,
                         unsigned* acceleration) {
  const std::uint32_t cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= cells || !is_group(link, parent, cell) || (cell < part.top && part.not_own[cell])) return;
  std::uint32_t own = cell;  // one of its own branches, where it is above the leaves of the top
  while (link[own].first == elsewhere) {
    own = link[own].child;
    while (part.not_own[own]) ++own;
  }
  set_estimate(parent, cell, static_cast<float>(of_particle[place[link[own].first]]), acceleration);
}

/// Cells within a group get that of the group.
__global__ void __launch_bounds__(256) spread_estimate_kernel(const CellLink* link, const std::uint32_t* parent,
                                                              std::uint32_t cells, float* acceleration) {
  const std::uint32_t cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= cells || link[cell].count > estimate_capacity || is_group(link, parent, cell)) return;
  std::uint32_t at = parent[cell];
  while (!is_group(link, parent, at)) at = parent[at];
  acceleration[cell] = acceleration[at];
}

/// Bytes of 0x7f make a float that is larger than any estimate: the smallest one replaces it.
template <class Space, class Rest>
void launch_estimate(const CellRecord* record, const CellLink* link, const std::uint32_t* parent,
                     const RootsView& roots, std::uint32_t cells, const Space& space, const Rest& rest,
                     const PartOfTree& part, float* acceleration, Stream stream) {
  const auto s = cuda::handle(stream);
  cuda::check(cudaMemsetAsync(acceleration, 0x7f, cells * sizeof(float), s), "tree estimate");  // unknown
  const std::uint32_t per_warp = cells <= few_cells ? 1 : cells_per_warp, per_block = warps_per_block * per_warp;
  estimate_kernel<<<(cells + per_block - 1) / per_block, warps_per_block * 32, 0, s>>>(
      record, link, parent, roots, cells, space, rest, part, per_warp, reinterpret_cast<unsigned*>(acceleration));
  spread_estimate_kernel<<<(cells + 255) / 256, 256, 0, s>>>(link, parent, cells, acceleration);
  cuda::check(cudaGetLastError(), "tree estimate");
}

}  // namespace

template <class T, class Real>
void leaves_cuda(const UpwardPassCuda<T>& pass, const Points<Real>& points, int order, std::uint32_t cells,
                 Stream stream) {
  fetch_points(pass, points, stream);
  with_order(order, [&](auto p) {
    leaf_kernel<decltype(p)::value>
        <<<(cells + warps_per_block - 1) / warps_per_block, warps_per_block * 32, 0, cuda::handle(stream)>>>(
            pass, points, cells);
  });
  cuda::check(cudaGetLastError(), "tree leaves");
}

template <class T>
void parents_cuda(const UpwardPassCuda<T>& pass, int order, std::uint32_t begin, std::uint32_t end, Stream stream) {
  constexpr std::uint32_t per_block = warps_per_block * 4;
  with_order(order, [&](auto p) {
    parent_kernel<decltype(p)::value>
        <<<(end - begin + per_block - 1) / per_block, warps_per_block * 32, 0, cuda::handle(stream)>>>(pass, begin,
                                                                                                       end);
  });
  cuda::check(cudaGetLastError(), "tree parents");
}

void estimate_cuda(const CellRecord* record, const CellLink* link, const std::uint32_t* parent, std::uint32_t cells,
                   float* acceleration, Stream stream, const PartOfTree& part) {
  launch_estimate(record, link, parent, {}, cells, OpenSpace(), NoRest(), part, acceleration, stream);
}

void estimate_cuda(const CellRecord* record, const CellLink* link, const std::uint32_t* parent, const RootsView& roots,
                   std::uint32_t cells, const ShortRangeBox<float>& box, const RestOfAcceleration& rest,
                   float* acceleration, Stream stream) {
  launch_estimate(record, link, parent, roots, cells, box, MeanRest{rest}, {}, acceleration, stream);
}

void take_estimates_cuda(const CellLink* link, const std::uint32_t* parent, std::uint32_t cells,
                         const std::uint32_t* place, const double* of_particle, float* acceleration, Stream stream,
                         const PartOfTree& part) {
  const auto s = cuda::handle(stream);
  cuda::check(cudaMemsetAsync(acceleration, 0x7f, cells * sizeof(float), s), "tree estimate");  // unknown
  take_estimate_kernel<<<(cells + 255) / 256, 256, 0, s>>>(link, parent, cells, place, of_particle, part,
                                                           reinterpret_cast<unsigned*>(acceleration));
  spread_estimate_kernel<<<(cells + 255) / 256, 256, 0, s>>>(link, parent, cells, acceleration);
  cuda::check(cudaGetLastError(), "tree estimate");
}

template <class Real>
void mean_rest_cuda(const CellLink* link, const std::uint32_t* parent, std::uint32_t cells, const std::uint32_t* place,
                    const Real* acceleration, double unit, float* mean, Stream stream) {
  constexpr std::uint32_t per_block = warps_per_block * 32;
  mean_rest_kernel<<<(cells + per_block - 1) / per_block, per_block, 0, cuda::handle(stream)>>>(
      link, parent, cells, place, acceleration, unit, mean);
  cuda::check(cudaGetLastError(), "tree estimate");
}

template void leaves_cuda(const UpwardPassCuda<float>&, const Points<float>&, int, std::uint32_t, Stream);
template void leaves_cuda(const UpwardPassCuda<float>&, const Points<double>&, int, std::uint32_t, Stream);
template void leaves_cuda(const UpwardPassCuda<double>&, const Points<double>&, int, std::uint32_t, Stream);
template void parents_cuda(const UpwardPassCuda<float>&, int, std::uint32_t, std::uint32_t, Stream);
template void parents_cuda(const UpwardPassCuda<double>&, int, std::uint32_t, std::uint32_t, Stream);
template void mean_rest_cuda(const CellLink*, const std::uint32_t*, std::uint32_t, const std::uint32_t*, const float*,
                             double, float*, Stream);
template void mean_rest_cuda(const CellLink*, const std::uint32_t*, std::uint32_t, const std::uint32_t*, const double*,
                             double, float*, Stream);

}  // namespace pergola::tree

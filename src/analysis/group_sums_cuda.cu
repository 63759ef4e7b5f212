#include <algorithm>

#include "analysis/groups_cuda.cuh"
#include "analysis/neighbourhood.hpp"
#include "particles/box.hpp"

// Compiled without fused multiply-add (src/CMakeLists.txt): sums over members and spheres must have the bits of the
// CPU. A warp fetches 32 particles at once and adds their numbers one after the other, as a loop on the CPU does.
namespace pergola {

namespace {

using namespace cuda;

/// What a lane fetches of a member.
struct Motion {
  double mass = 0;
  Vec3<double> velocity{0, 0, 0};
};

/// A warp per group. The lanes fetch members; their numbers are added by rising id.
__global__ void __launch_bounds__(group_threads)
    sum_members(std::int64_t count, GroupView groups, ParticleView p, MemberSums* sums) {
  __shared__ LaneTerms<5> shared[warps_per_block];
  const std::int64_t group = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.x / warp;
  if (group >= count) return;
  const int lane = static_cast<int>(threadIdx.x % warp);
  const std::int64_t begin = groups.begin[group], end = groups.begin[group + 1];
  const auto member = [&](std::int64_t k) { return k < end ? groups.members[k] : groups.members[begin]; };
  const auto motion = [&](std::uint32_t i) { return Motion{p.mass[i], p.velocity(i)}; };
  // The loop fetches two steps early, to hide the latency of memory.
  Motion next = motion(member(begin + lane));
  std::uint32_t after = member(begin + warp + lane);
  double sum = 0;
  for (std::int64_t from = begin; from < end; from += warp) {
    const Motion own = next;
    next = motion(after);
    after = member(from + 2 * warp + lane);
    const Vec3<double> momentum = own.mass * own.velocity;
    const Terms<5> terms{{own.mass, momentum.x, momentum.y, momentum.z, own.mass * dot(own.velocity, own.velocity)}};
    add_lanes(terms, end - from < warp ? static_cast<int>(end - from) : warp, lane, shared[threadIdx.x / warp], sum);
  }
  const auto of_term = [&](int t) { return __shfl_sync(all_lanes, sum, t); };
  const MemberSums all{of_term(0), {of_term(1), of_term(2), of_term(3)}, of_term(4)};
  if (lane == 0) sums[group] = all;
}

/// A block per group: the largest distance of a member from the centre.
__global__ void __launch_bounds__(group_threads)
    find_reaches(GroupView groups, ParticleView p, Box box, const Vec3<double>* centers, double* reaches) {
  const Vec3<double> center = centers[blockIdx.x];
  double most2 = 0;
  for (std::int64_t k = groups.begin[blockIdx.x] + threadIdx.x; k < groups.begin[blockIdx.x + 1]; k += blockDim.x) {
    const Vec3<double> d = separation(center, p.place(groups.members[k]), box);
    const double square = dot(d, d);
    most2 = square > most2 ? square : most2;
  }
  most2 = largest_of_block(most2);
  if (threadIdx.x == 0) reaches[blockIdx.x] = std::sqrt(most2);
}

}  // namespace

std::vector<MemberSums> member_sums_cuda(const GpuParticles& particles, const GroupRange& groups) {
  const Device& device = particles.device;
  if (groups.count() == 0) return {};
  device.make_current();
  const Buffer<std::int64_t> begin(device, groups.begin);
  Buffer<MemberSums> sums(device, groups.count());
  sum_members<<<blocks_of_warps(groups.count()), group_threads, 0, handle(device.stream())>>>(
      groups.count(), {groups.members, begin.data()}, ParticleView(particles), sums.data());
  check(cudaGetLastError(), "sums over members");
  return sums.to_host();
}

std::vector<double> reaches_cuda(const GpuParticles& particles, const Box& box, const GroupRange& groups,
                                 const std::vector<Vec3<double>>& centers) {
  const Device& device = particles.device;
  if (groups.count() == 0) return {};
  device.make_current();
  const Buffer<std::int64_t> begin(device, groups.begin);
  const Buffer<Vec3<double>> from(device, centers);
  Buffer<double> reaches(device, groups.count());
  find_reaches<<<static_cast<unsigned>(groups.count()), group_threads, 0, handle(device.stream())>>>(
      {groups.members, begin.data()}, ParticleView(particles), box, from.data(), reaches.data());
  check(cudaGetLastError(), "reaches of groups");
  return reaches.to_host();
}

// Sums over spheres: particles within a radius come from coarse cells, are sorted by distance (equal ones by id), and
// are added one after the other.
namespace {

using namespace cuda;

/// Spheres of one batch hold about this number of particles together, to limit memory.
constexpr std::int64_t most_at_once = std::int64_t{1} << 25;

/// Sort keys: the coarse cell of each particle.
struct CellOfParticle {
  CoarseCells cells;
  const double *x, *y, *z;
  std::uint32_t *keys, *values;
  __device__ void operator()(std::int64_t i) const {
    keys[i] = static_cast<std::uint32_t>(cells.cell_of({x[i], y[i], z[i]}));
    values[i] = static_cast<std::uint32_t>(i);
  }
};

/// Particles sorted by cell.
struct CellView {
  CoarseCells cells;
  std::int64_t count;
  const std::uint32_t *begin, *order;  // of the cells, and the end; of the particles
  const double *x, *y, *z;
};

/// Calls body(is inside, particle, distance) by whole warps for all particles near a sphere. The warps of a block share
/// the rows of cells.
template <class Body>
__device__ void look_around(const CellView& view, const GpuSphere& sphere, const Body& body) {
  const int lane = static_cast<int>(threadIdx.x % warp), first = static_cast<int>(threadIdx.x / warp);
  const auto look = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t from = begin; from < end; from += warp) {
      const std::int64_t k = from + lane < end ? from + lane : begin;
      const Vec3<double> d = separation(sphere.center, Vec3<double>{view.x[k], view.y[k], view.z[k]}, view.cells.box);
      const double distance = std::sqrt(dot(d, d));
      body(from + lane < end && distance <= sphere.radius, view.order[k], distance);
    }
  };
  const CoarseCells& cells = view.cells;
  const std::int64_t reach = cells.reach(sphere.radius), side = cells.side;
  if (reach < 0) {
    constexpr std::int64_t piece = 1024;
    for (std::int64_t from = first * piece; from < view.count; from += warps_per_block * piece)
      look(from, from + piece < view.count ? from + piece : view.count);
    return;
  }
  const Vec3<double>& corner = cells.box.corner;
  const std::int64_t x = cells.place(sphere.center.x, corner.x), y = cells.place(sphere.center.y, corner.y),
                     z = cells.place(sphere.center.z, corner.z), width = 2 * reach + 1;
  for (std::int64_t row = first; row < width * width; row += warps_per_block) {
    const std::int64_t cell =
        cells.index(0, cells.around(y - reach + row % width), cells.around(z - reach + row / width));
    const auto look_at = [&](std::int64_t low, std::int64_t high) {
      look(view.begin[cell + low], view.begin[cell + high + 1]);
    };
    look_at(x < reach ? 0 : x - reach, x + reach < side ? x + reach : side - 1);
    if (x < reach) look_at(x - reach + side, side - 1);
    if (x + reach >= side) look_at(0, x + reach - side);
  }
}

/// A block per sphere: counts its particles.
__global__ void __launch_bounds__(group_threads)
    count_inside(CellView view, const GpuSphere* spheres, std::uint32_t* counts) {
  std::uint32_t own = 0;
  look_around(view, spheres[blockIdx.x], [&](bool inside, std::uint32_t, double) { own += inside ? 1 : 0; });
  own = __reduce_add_sync(all_lanes, own);
  if (threadIdx.x % warp == 0) atomicAdd(&counts[blockIdx.x], own);
}

/// Particles in spheres, one sphere after the other.
struct Seen {
  std::uint32_t *sphere, *particle;
  double* radius;
};

/// A block per sphere: lists its particles in any order.
__global__ void __launch_bounds__(group_threads)
    list_inside(CellView view, const GpuSphere* spheres, const std::int64_t* begin, Seen seen) {
  __shared__ unsigned listed;
  if (threadIdx.x == 0) listed = 0;
  __syncthreads();
  const unsigned lane = threadIdx.x % warp;
  look_around(view, spheres[blockIdx.x], [&](bool inside, std::uint32_t particle, double radius) {
    const unsigned here = __ballot_sync(all_lanes, inside);
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(&listed, static_cast<unsigned>(__popc(here)));
    first = __shfl_sync(all_lanes, first, 0);
    if (!inside) return;
    const std::int64_t at = begin[blockIdx.x] + first + __popc(here & ((1u << lane) - 1));
    seen.sphere[at] = blockIdx.x, seen.particle[at] = particle, seen.radius[at] = radius;
  });
}

/// Sort keys of the entries, in their present order.
struct KeysByRank {
  const std::uint32_t *particle, *rank;  // the latter null: ids rise
  std::uint32_t *keys, *order;
  __device__ void operator()(std::int64_t k) const {
    keys[k] = rank ? rank[particle[k]] : particle[k];
    order[k] = static_cast<std::uint32_t>(k);
  }
};
struct KeysByRadius {
  const double* radius;
  const std::uint32_t* order;
  std::uint64_t* keys;
  __device__ void operator()(std::int64_t k) const {  // the bits of non-negative numbers rise with the numbers
    keys[k] = static_cast<std::uint64_t>(__double_as_longlong(radius[order[k]]));
  }
};
struct KeysBySphere {
  const std::uint32_t *sphere, *order;
  std::uint32_t* keys;
  __device__ void operator()(std::int64_t k) const { keys[k] = sphere[order[k]]; }
};
struct TakeSeen {
  const std::uint32_t *order, *particle;
  const double* radius;
  std::uint32_t* to_particle;
  double* to_radius;
  __device__ void operator()(std::int64_t k) const {
    to_particle[k] = particle[order[k]], to_radius[k] = radius[order[k]];
  }
};

/// The particles of a batch of spheres, nearest first.
struct SortedSpheres {
  const std::int64_t* begin;
  const std::uint32_t* particle;
  const double* radius;
};

struct Limits {
  double mean, critical;  // densities
  double g, a;            // the gravitational constant, and the scale factor of lengths
};

/// A sphere that grows by the particles of one warp at a time, until it is less dense than `density`.
struct GrowingSphere {
  double density;
  bool is_done = false;

  /// `mass`: within the lane's own particle. Returns whether the lane is inside; `last`: the last lane that is as
  /// dense, or −1.
  __device__ bool takes(bool exists, std::int64_t number, double mass, double radius, int lane, int& last) {
    last = -1;
    if (is_done) return false;
    const bool dense = exists && is_as_dense(mass, radius, density);
    const unsigned ends = __ballot_sync(all_lanes, exists && !dense && number >= least_in_sphere);
    const int end = ends ? __ffs(static_cast<int>(ends)) - 1 : warp;
    const unsigned within = __ballot_sync(all_lanes, dense && lane < end);
    last = within ? 31 - __clz(static_cast<int>(within)) : -1;
    is_done = ends != 0;
    return exists && lane < end;
  }
};

/// The particles of one sphere, nearest first. Lanes fetch particles before they are needed.
struct SphereList {
  const std::uint32_t* particles;
  const double* radii;
  std::int64_t count;
  int lane;

  __device__ std::uint32_t particle(std::int64_t k) const { return particles[k < count ? k : 0]; }
  __device__ double radius(std::int64_t k) const { return radii[k < count ? k : 0]; }

  /// Calls body(from, lanes, fetched) for each warp of particles; the first `lanes` lanes have one each.
  template <class Fetch, class Body>
  __device__ void each(const Fetch& fetch, const Body& body) const {
    auto next = fetch(particle(lane), radius(lane));
    std::uint32_t after = particle(warp + lane);
    for (std::int64_t from = 0; from < count; from += warp) {
      const auto own = next;
      next = fetch(after, radius(from + warp + lane));
      after = particle(from + 2 * warp + lane);
      body(from, count - from < warp ? static_cast<int>(count - from) : warp, own);
    }
  }
};

/// What a lane fetches, for sums of momentum and for angular momentum.
struct MovingParticle {
  double radius, mass;
  Vec3<double> velocity;
};
struct TurningParticle {
  double mass;
  Vec3<double> place, velocity;
};

/// Grows both spheres. Returns the momentum of the sphere of critical density.
__device__ Vec3<double> grow_spheres(const SphereList& list, const ParticleView& p, const Limits& limits,
                                     LaneTerms<4>& shared, SphereSums& result) {
  GrowingSphere of_mean{limits.mean}, of_critical{limits.critical};
  Vec3<double> momentum{0, 0, 0};
  double sum = 0, peak = 0;
  const auto fetch = [&](std::uint32_t i, double radius) { return MovingParticle{radius, p.mass[i], p.velocity(i)}; };
  list.each(fetch, [&](std::int64_t from, int lanes, const MovingParticle& own) {
    const Vec3<double> moved = own.mass * own.velocity;
    const Terms<4> up_to_own =
        add_lanes(Terms<4>{{own.mass, moved.x, moved.y, moved.z}}, lanes, list.lane, shared, sum);
    const auto at = [&](int term, int lane) { return __shfl_sync(all_lanes, up_to_own.value[term], lane); };
    const double mass = up_to_own.value[0];
    const std::int64_t number = from + list.lane + 1;
    int last = -1;
    of_mean.takes(list.lane < lanes, number, mass, own.radius, list.lane, last);
    if (last >= 0) result.of_mean = {at(0, last), from + last + 1};
    const bool inside = of_critical.takes(list.lane < lanes, number, mass, own.radius, list.lane, last);
    if (last >= 0)
      result.of_critical = {at(0, last), from + last + 1}, momentum = {at(1, last), at(2, last), at(3, last)};
    if (!inside || number < least_in_sphere || !(own.radius > 0)) return;
    const double speed = physics::circular_speed(limits.g, mass, limits.a * own.radius);
    peak = speed > peak ? speed : peak;
  });
  for (int apart = warp / 2; apart > 0; apart /= 2) {
    const double other = __shfl_xor_sync(all_lanes, peak, apart);
    peak = other > peak ? other : peak;
  }
  result.within = __shfl_sync(all_lanes, sum, 0);
  result.peak_speed = peak;
  return momentum;
}

/// Angular momentum about the centre, relative to the mean velocity.
__device__ Vec3<double> angular_momentum(const SphereList& list, const ParticleView& p, const Box& box,
                                         const Vec3<double>& center, const Vec3<double>& mean, LaneTerms<3>& shared) {
  double sum = 0;
  const auto fetch = [&](std::uint32_t i, double) { return TurningParticle{p.mass[i], p.place(i), p.velocity(i)}; };
  list.each(fetch, [&](std::int64_t, int lanes, const TurningParticle& own) {
    const Vec3<double> turn = own.mass * cross(separation(center, own.place, box), own.velocity - mean);
    add_lanes(Terms<3>{{turn.x, turn.y, turn.z}}, lanes, list.lane, shared, sum);
  });
  return {__shfl_sync(all_lanes, sum, 0), __shfl_sync(all_lanes, sum, 1), __shfl_sync(all_lanes, sum, 2)};
}

/// A warp per sphere.
__global__ void __launch_bounds__(group_threads)
    measure(std::int64_t count, SortedSpheres seen, ParticleView p, Box box, const GpuSphere* spheres, Limits limits,
            SphereSums* sums) {
  __shared__ LaneTerms<4> moved[warps_per_block];
  __shared__ LaneTerms<3> turned[warps_per_block];
  const int number = static_cast<int>(threadIdx.x / warp), lane = static_cast<int>(threadIdx.x % warp);
  const std::int64_t sphere = std::int64_t{blockIdx.x} * warps_per_block + number;
  if (sphere >= count) return;
  const std::int64_t begin = seen.begin[sphere];
  SphereList list{seen.particle + begin, seen.radius + begin, seen.begin[sphere + 1] - begin, lane};
  SphereSums result;
  if (list.count > 0) {
    const Vec3<double> momentum = grow_spheres(list, p, limits, moved[number], result);
    list.count = result.of_critical.particles;
    if (result.of_critical.mass > 0)
      result.angular_momentum = angular_momentum(list, p, box, spheres[sphere].center,
                                                 (1 / result.of_critical.mass) * momentum, turned[number]);
  }
  if (lane == 0) sums[sphere] = result;
}

}  // namespace

struct SpheresOnGpu::Cells {
  CoarseCells cells;
  Buffer<std::uint32_t> begin, order;
  Buffer<double> x, y, z;

  CellView view() const { return {cells, order.size(), begin.data(), order.data(), x.data(), y.data(), z.data()}; }
};

SpheresOnGpu::SpheresOnGpu(const GpuParticles& particles, const AnalysisSnapshot& frame, const HaloDensities& limits)
    : particles_(particles), frame_(frame), limits_(limits) {
  const Device& device = particles.device;
  device.make_current();
  const std::int64_t count = particles.count;
  cells_ = std::make_unique<Cells>(Cells{CoarseCells(frame.box, count), {}, {}, {}, {}, {}});
  Cells& cells = *cells_;
  const std::int64_t number = cells.cells.count();
  Buffer<std::uint32_t> keys(device, count);
  cells.order = Buffer<std::uint32_t>(device, count);
  launch("cells of particles", count, device.stream(),
         CellOfParticle{cells.cells, particles.x.data(), particles.y.data(), particles.z.data(), keys.data(),
                        cells.order.data()});
  sort_order(device, keys, cells.order, bits_of(static_cast<double>(number)));
  cells.begin = Buffer<std::uint32_t>(device, number + 1);
  launch("begins of cells", count + 1, device.stream(),
         FillRows<std::uint32_t>{keys.data(), count, 1, number, cells.begin.data()});
  for (auto* place : {&cells.x, &cells.y, &cells.z}) *place = Buffer<double>(device, count);
  launch("places by cell", count, device.stream(),
         SortPlaces{particles.x.data(), particles.y.data(), particles.z.data(), cells.order.data(), cells.x.data(),
                    cells.y.data(), cells.z.data()});
  device.synchronize();  // the keys end here
}

SpheresOnGpu::~SpheresOnGpu() = default;

// Steps: (1) count the particles in each sphere, (2) form batches that fit into memory, (3) list, sort and measure the
// spheres of each batch.
std::vector<SphereSums> SpheresOnGpu::sums(const std::vector<GpuSphere>& spheres) const {
  if (spheres.empty()) return {};
  const Device& device = particles_.device;
  device.make_current();
  const Buffer<GpuSphere> all(device, spheres);
  Buffer<std::uint32_t> counted(device, all.size());
  counted.zero();
  count_inside<<<static_cast<unsigned>(all.size()), group_threads, 0, handle(device.stream())>>>(
      cells_->view(), all.data(), counted.data());
  check(cudaGetLastError(), "particles in spheres");
  const std::vector<std::uint32_t> counts = counted.to_host();
  std::vector<SphereSums> found;
  for (std::size_t first = 0, last = 0; first < spheres.size(); first = last) {
    std::vector<std::int64_t> begin{0};
    for (; last < spheres.size() && (last == first || begin.back() + counts[last] <= most_at_once); ++last)
      begin.push_back(begin.back() + counts[last]);
    const auto sums = sums_of(all.data() + first, begin);
    found.insert(found.end(), sums.begin(), sums.end());
  }
  return found;
}

// Three stable sorts, by id, by distance, by sphere: each sphere then has its particles nearest first, equal distances
// by id. `begin` has the places of the spheres' lists.
std::vector<SphereSums> SpheresOnGpu::sums_of(const GpuSphere* spheres, const std::vector<std::int64_t>& begin) const {
  const Device& device = particles_.device;
  const auto count = static_cast<std::int64_t>(begin.size()) - 1, entries = begin.back();
  const Buffer<std::int64_t> begins(device, begin);
  Buffer<std::uint32_t> particle(device, entries);
  Buffer<double> radius(device, entries);
  if (entries > 0) {
    Buffer<std::uint32_t> sphere(device, entries), listed(device, entries), order(device, entries),
        keys(device, entries);
    Buffer<double> distance(device, entries);
    list_inside<<<static_cast<unsigned>(count), group_threads, 0, handle(device.stream())>>>(
        cells_->view(), spheres, begins.data(), {sphere.data(), listed.data(), distance.data()});
    check(cudaGetLastError(), "lists of spheres");
    launch("ranks", entries, device.stream(),
           KeysByRank{listed.data(), particles_.rank.data(), keys.data(), order.data()});
    sort_order(device, keys, order, bits_of(static_cast<double>(particles_.count)));
    {
      Buffer<std::uint64_t> bits(device, entries);
      launch("distances", entries, device.stream(), KeysByRadius{distance.data(), order.data(), bits.data()});
      sort_order(device, bits, order, 64);
    }
    launch("spheres", entries, device.stream(), KeysBySphere{sphere.data(), order.data(), keys.data()});
    sort_order(device, keys, order, bits_of(static_cast<double>(count)));
    launch("sorted spheres", entries, device.stream(),
           TakeSeen{order.data(), listed.data(), distance.data(), particle.data(), radius.data()});
    device.synchronize();  // their memory ends here
  }
  const double a = frame_.universe ? frame_.universe->scale_factor : 1;
  Buffer<SphereSums> sums(device, count);
  measure<<<blocks_of_warps(count), group_threads, 0, handle(device.stream())>>>(
      count, {begins.data(), particle.data(), radius.data()}, ParticleView(particles_), frame_.box, spheres,
      {limits_.mean, limits_.critical, frame_.gravitational_constant, a}, sums.data());
  check(cudaGetLastError(), "sums of spheres");
  return sums.to_host();
}

}  // namespace pergola

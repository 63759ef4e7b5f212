#include <algorithm>

#include "analysis/ewald_sum.hpp"
#include "device/buffer.hpp"
#include "device/exact_terms.cuh"
#include "gravity/pair_laws.hpp"
#include "particles/box.hpp"
#include "physics/ewald.hpp"
#include "physics/pair.hpp"

// Both sums on a GPU. A thread goes over many particles and adds their terms for a group of targets or waves in
// registers; blocks add their threads' sums in a fixed order. The host adds the blocks, so that results repeat from
// call to call.
namespace pergola {

namespace {

/// Particles go to the device in pieces of `piece`. `blocks` blocks of threads share a piece. Sums are added piece by
/// piece, then block by block.
constexpr std::int64_t piece = std::int64_t{1} << 20;
constexpr int blocks = 64;
/// Targets and waves that one thread sums at once, so that it reads each particle once.
constexpr int targets_together = 4, waves_together = 8;

/// Part of the particles in device memory; `first` is its place in the input.
struct Piece {
  const double *x, *y, *z, *mass;
  const std::uint8_t* species;
  std::int64_t first, count;  // of the input
};

struct Target {
  Vec3<double> at;
  std::int64_t place;  // in the input; −1: none
  int species;
};

/// What particle i adds to the short-range pull on a group of targets; a target does not act on itself.
template <class Law>
struct ShortRange {
  static constexpr int count = 3 * targets_together;
  Piece p;
  const Target* targets;
  SofteningTable softening;
  Box box;
  double alpha;

  __device__ Terms<count> operator()(std::int64_t i, int group) const {
    Terms<count> sums;
    const Vec3<double> from{p.x[i], p.y[i], p.z[i]};
    const double mass = p.mass[i], number = softening.number[p.species[i]];
#pragma unroll
    for (int t = 0; t < targets_together; ++t) {
      const Target target = targets[group * targets_together + t];
      if (target.place < 0 || target.place == p.first + i) continue;
      const double joint = Law::joint(number, softening.number[target.species]);
      physics::PairSum<double> sum{};
      physics::add_ewald_pair(
          alpha, separation(target.at, from, box), mass,
          [joint](const Vec3<double>& d, double m, physics::PairSum<double>& to) {
            Law::template add<false, false>(d, d, m, Law::start(d, joint), joint, to);
          },
          sum);
      sums.value[3 * t] = sum.ax, sums.value[3 * t + 1] = sum.ay, sums.value[3 * t + 2] = sum.az;
    }
    return sums;
  }
};

/// What particle i adds to S(k) for a group of waves.
struct Waves {
  static constexpr int count = 2 * waves_together;
  Piece p;
  const EwaldWave* waves;
  Vec3<double> side;

  __device__ Terms<count> operator()(std::int64_t i, int group) const {
    Terms<count> sums;
    const Vec3<double> at{p.x[i] / side.x, p.y[i] / side.y, p.z[i] / side.z};
#pragma unroll
    for (int w = 0; w < waves_together; ++w) {
      const EwaldWave& wave = waves[group * waves_together + w];
      double sine, cosine;
      sincospi(2 * (wave.nx * at.x + wave.ny * at.y + wave.nz * at.z), &sine, &cosine);
      sums.value[2 * w] = p.mass[i] * cosine, sums.value[2 * w + 1] = -p.mass[i] * sine;
    }
    return sums;
  }
};

/// Adds body(i, group) of all particles of a piece to the sums of each block and group.
template <class Body>
__global__ void __launch_bounds__(cuda::sum_threads) add_piece(Body body, Terms<Body::count>* sums) {
  Terms<Body::count> sum;
  const auto group = static_cast<int>(blockIdx.y);
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < body.p.count;
       i += std::int64_t{blockDim.x} * blocks) {
    const auto one = body(i, group);
#pragma unroll
    for (int k = 0; k < Body::count; ++k) sum.value[k] += one.value[k];
  }
  cuda::add_threads(sum, [&](int k, double value) { sums[group * blocks + blockIdx.x].value[k] += value; });
}

/// Sums of groups over all pieces.
template <int terms>
class GroupSums {
 public:
  GroupSums(const Device& device, std::size_t groups)
      : groups_(groups), sums_(device, static_cast<std::int64_t>(groups) * blocks) {
    sums_.zero();
  }
  template <class Body>
  void add(const Body& body, cudaStream_t stream) {
    static_assert(Body::count == terms);
    if (groups_ == 0) return;
    add_piece<<<dim3(blocks, static_cast<unsigned>(groups_)), cuda::sum_threads, 0, stream>>>(body, sums_.data());
    cuda::check(cudaGetLastError(), "Ewald's sum");
  }
  std::vector<Terms<terms>> totals() const {
    const auto parts = sums_.to_host();
    std::vector<Terms<terms>> all(groups_);
    for (std::size_t g = 0; g < groups_; ++g)
      for (std::size_t b = 0; b < blocks; ++b)
        for (int k = 0; k < terms; ++k) all[g].value[k] += parts[g * blocks + b].value[k];
    return all;
  }

 private:
  std::size_t groups_;
  Buffer<Terms<terms>> sums_;
};

std::size_t groups_of(std::size_t n, int together) {
  return (n + static_cast<std::size_t>(together) - 1) / static_cast<std::size_t>(together);
}

}  // namespace

// Groups are filled up with targets and waves that count for nothing, so that all threads have the same work.
EwaldSums ewald_sums_cuda(ParticleSource& particles, const Particles& targets, const std::vector<std::int64_t>& places,
                          const Box& box, const Softening& softening, double alpha, const std::vector<EwaldWave>& waves,
                          const Device& device) {
  device.make_current();
  const std::size_t target_groups = groups_of(places.size(), targets_together);
  std::vector<Target> asked(target_groups * targets_together, Target{{0, 0, 0}, -1, 0});
  for (std::size_t t = 0; t < places.size(); ++t)
    asked[t] = {{targets.x[t], targets.y[t], targets.z[t]}, places[t], targets.species[t]};
  const std::size_t wave_groups = groups_of(waves.size(), waves_together);
  std::vector<EwaldWave> filled(waves);
  filled.resize(wave_groups * waves_together, EwaldWave{0, 0, 0, {0, 0, 0}, 0});
  const Buffer<Target> all_targets(device, asked);
  const Buffer<EwaldWave> all_waves(device, filled);
  GroupSums<3 * targets_together> short_range(device, target_groups);
  GroupSums<2 * waves_together> factors(device, wave_groups);

  const std::int64_t n = particles.count(), room = std::min(n, piece);
  Buffer<double> x(device, room), y(device, room), z(device, room), mass(device, room);
  Buffer<std::uint8_t> species(device, room);
  const cudaStream_t stream = cuda::handle(device.stream());
  const SofteningTable table = softening_table(softening);
  Particles some;
  for (std::int64_t first = 0; first < n; first += piece) {
    const std::int64_t count = std::min(piece, n - first);
    particles.read(first, count, some);
    const auto bring = [&](auto& to, const auto& from) {
      device.memory().from_host(to.data(), from.data(), sizeof(from[0]) * static_cast<std::size_t>(count));
    };
    bring(x, some.x), bring(y, some.y), bring(z, some.z), bring(mass, some.mass), bring(species, some.species);
    const Piece part{x.data(), y.data(), z.data(), mass.data(), species.data(), first, count};
    physics::with_pair_law(softening.kernel, [&](auto law) {
      short_range.add(ShortRange<decltype(law)>{part, all_targets.data(), table, box, alpha}, stream);
    });
    factors.add(Waves{part, all_waves.data(), box.side}, stream);
  }

  EwaldSums sums;
  const auto near = short_range.totals();
  for (std::size_t t = 0; t < places.size(); ++t) {
    const double* a = near[t / targets_together].value + 3 * (t % targets_together);
    sums.short_range.push_back({a[0], a[1], a[2]});
  }
  const auto far = factors.totals();
  for (std::size_t w = 0; w < waves.size(); ++w) {
    const double* s = far[w / waves_together].value + 2 * (w % waves_together);
    sums.factors.emplace_back(s[0], s[1]);
  }
  return sums;
}

}  // namespace pergola

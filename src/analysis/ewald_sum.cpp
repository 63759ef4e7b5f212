#include "analysis/ewald_sum.hpp"
#include "device/parallel.hpp"
#include "gravity/pair_laws.hpp"
#include "particles/box.hpp"
#include "physics/ewald.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

// The split α is 8 over the shortest side: then nearest images suffice for the short-range part, and waves up to k² =
// 56 α² for the long-range part. S(k) is summed once over all particles; each target then needs one sum over the waves.
namespace pergola {

namespace {

using Complex = std::complex<double>;
using std::numbers::pi;
/// α times the shortest side: the short-range parts of images beyond the nearest add less than 5e-6 m/L².
constexpr double split = 8;
/// Waves up to k²/4α² = 14 count. The first wave beyond has a weight of e⁻¹⁴ ≈ 8e-7.
constexpr double last_exponent = 14;
constexpr std::int64_t ewald_chunk = 1024;

/// A product without the treatment of infinities in std::complex.
Complex times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Half of all wave vectors with doubled weights. The other half are their complex conjugates.
std::vector<EwaldWave> waves_of(const Box& box, double alpha) {
  const double k_max = 2 * alpha * std::sqrt(last_exponent);
  const auto reach = [&](double side) { return static_cast<int>(k_max * side / (2 * pi)); };
  std::vector<EwaldWave> waves;
  const int mx = reach(box.side.x), my = reach(box.side.y), mz = reach(box.side.z);
  for (int nx = 0; nx <= mx; ++nx)
    for (int ny = -my; ny <= my; ++ny)
      for (int nz = -mz; nz <= mz; ++nz) {
        if (nx == 0 && (ny < 0 || (ny == 0 && nz <= 0))) continue;
        const Vec3<double> k{2 * pi * nx / box.side.x, 2 * pi * ny / box.side.y, 2 * pi * nz / box.side.z};
        const double k2 = dot(k, k);
        if (k2 > k_max * k_max) continue;
        waves.push_back({nx, ny, nz, k, 2 * physics::ewald_wave_weight(alpha, k2, box.volume())});
      }
  return waves;
}

/// e^{i 2π n x / side} for n = −reach … reach.
class Phases {
 public:
  Phases(double x, double side, int reach) : reach_(reach), values_(static_cast<std::size_t>(2 * reach + 1)) {
    const Complex step = std::polar(1.0, 2 * pi * x / side);
    Complex value = 1;
    for (int n = 0; n <= reach; ++n, value = times(value, step)) {
      values_[static_cast<std::size_t>(reach + n)] = value;
      values_[static_cast<std::size_t>(reach - n)] = std::conj(value);
    }
  }
  const Complex& operator[](int n) const { return values_[static_cast<std::size_t>(reach_ + n)]; }

 private:
  int reach_;
  std::vector<Complex> values_;
};

/// The largest wave number along each axis.
struct WaveReach {
  int x = 0, y = 0, z = 0;
};

WaveReach reach_of(const std::vector<EwaldWave>& waves) {
  WaveReach reach;
  for (const EwaldWave& w : waves)
    reach.x = std::max(reach.x, w.nx), reach.y = std::max(reach.y, std::abs(w.ny)),
    reach.z = std::max(reach.z, std::abs(w.nz));
  return reach;
}

/// Calls body(wave number, e^{ik·x}) for all waves at one position.
template <class Body>
void each_wave(const std::vector<EwaldWave>& waves, const WaveReach& reach, const Box& box, const Vec3<double>& x,
               const Body& body) {
  const Phases px(x.x, box.side.x, reach.x), py(x.y, box.side.y, reach.y), pz(x.z, box.side.z, reach.z);
  for (std::size_t w = 0; w < waves.size(); ++w) body(w, px[waves[w].nx] * py[waves[w].ny] * pz[waves[w].nz]);
}

/// Adds a piece of the particles to S(k) = Σ m e^{−ik·x}, in chunks that are added in order.
void add_factors(const Particles& p, const std::vector<EwaldWave>& waves, const Box& box, int threads,
                 std::vector<Complex>& total) {
  const WaveReach reach = reach_of(waves);
  std::vector<std::vector<Complex>> parts(static_cast<std::size_t>((p.size() + ewald_chunk - 1) / ewald_chunk));
  parallel_chunks(threads, p.size(), ewald_chunk, [&](std::int64_t begin, std::int64_t end) {
    auto& sums = parts[static_cast<std::size_t>(begin / ewald_chunk)];
    sums.resize(waves.size());
    for (std::int64_t i = begin; i < end; ++i) {
      const auto k = static_cast<std::size_t>(i);
      each_wave(waves, reach, box, {p.x[k], p.y[k], p.z[k]},
                [&](std::size_t w, const Complex& phase) { sums[w] += p.mass[k] * std::conj(phase); });
    }
  });
  for (const auto& sums : parts)
    for (std::size_t w = 0; w < total.size(); ++w) total[w] += sums[w];
}

/// Adds the pull of a piece of the particles on a target, which may be particle `own` of the piece.
void add_short_range(const Particles& p, const Vec3<double>& target, int species, std::int64_t own, const Box& box,
                     const Softening& softening, double alpha, physics::PairSum<double>& sum) {
  const PairLawEntry& law = pair_law(softening.kernel);
  for (std::size_t j = 0; j < p.id.size(); ++j) {
    if (static_cast<std::int64_t>(j) == own) continue;
    const Vec3<double> d = separation<double>(target, {p.x[j], p.y[j], p.z[j]}, box);
    const double epsilon =
        std::max(softening.epsilon[p.species[j]], softening.epsilon[static_cast<std::size_t>(species)]);
    const double number = law.softening_number(epsilon * epsilon);
    physics::add_ewald_pair(
        alpha, d, p.mass[j],
        [&](const Vec3<double>& at, double mass, physics::PairSum<double>& to) { law.add_pair(at, mass, number, to); },
        sum);
  }
}

/// Both sums on the CPU.
EwaldSums sums_on_cpu(ParticleSource& particles, const Particles& targets, const std::vector<std::int64_t>& places,
                      const Box& box, const Softening& softening, double alpha, const std::vector<EwaldWave>& waves,
                      int threads) {
  constexpr std::int64_t piece = 64 * ewald_chunk;
  EwaldSums sums{std::vector<Complex>(waves.size()), {}};
  std::vector<physics::PairSum<double>> near(places.size());
  Particles some;
  for (std::int64_t first = 0; first < particles.count(); first += piece) {
    particles.read(first, std::min(piece, particles.count() - first), some);
    add_factors(some, waves, box, threads, sums.factors);
    parallel_for(threads, static_cast<std::int64_t>(places.size()), [&](std::int64_t t) {
      const auto k = static_cast<std::size_t>(t);
      add_short_range(some, {targets.x[k], targets.y[k], targets.z[k]}, targets.species[k], places[k] - first, box,
                      softening, alpha, near[k]);
    });
  }
  for (const auto& one : near) sums.short_range.push_back({one.ax, one.ay, one.az});
  return sums;
}

/// The GPU knows the built-in pair laws only; others are summed on the CPU.
EwaldSums sums_of(ParticleSource& particles, const Particles& targets, const std::vector<std::int64_t>& places,
                  const Box& box, const Softening& softening, double alpha, const std::vector<EwaldWave>& waves,
                  const Device& device) {
  const bool built_in = softening.kernel == SofteningKernel::plummer || softening.kernel == SofteningKernel::spline;
  if (device.is_cuda() && built_in) {
    if constexpr (cuda_built) return ewald_sums_cuda(particles, targets, places, box, softening, alpha, waves, device);
  }
  return sums_on_cpu(particles, targets, places, box, softening, alpha, waves, device.threads());
}

}  // namespace

ForceResult ewald_sum(const Particles& particles, const std::vector<std::int64_t>& places, const Box& box,
                      const Softening& softening, double gravitational_constant, const Device& device) {
  HostParticles source(particles);
  return ewald_sum(source, places, box, softening, gravitational_constant, device);
}

// Two parts: the short range, pair by pair with the nearest images, and the waves, from S(k) and the phase of the
// target. Only forces: potentials are not summed. The mean density is taken off, as there is no wave with k = 0.
ForceResult ewald_sum(ParticleSource& particles, const std::vector<std::int64_t>& places, const Box& box,
                      const Softening& softening, double gravitational_constant, const Device& device) {
  const double alpha = split / std::min({box.side.x, box.side.y, box.side.z});
  const auto waves = waves_of(box, alpha);
  const WaveReach reach = reach_of(waves);
  const Particles targets = read_at(particles, places);
  const auto sums = sums_of(particles, targets, places, box, softening, alpha, waves, device);
  ForceResult result;
  for (auto* axis : {&result.ax, &result.ay, &result.az}) axis->resize(places.size());
  parallel_for(device.threads(), static_cast<std::int64_t>(places.size()), [&](std::int64_t t) {
    const auto k = static_cast<std::size_t>(t);
    Vec3<double> a = sums.short_range[k];
    each_wave(waves, reach, box, {targets.x[k], targets.y[k], targets.z[k]}, [&](std::size_t w, const Complex& phase) {
      a = a - waves[w].weight * times(phase, sums.factors[w]).imag() * waves[w].k;
    });
    result.ax[k] = gravitational_constant * a.x;
    result.ay[k] = gravitational_constant * a.y;
    result.az[k] = gravitational_constant * a.z;
  });
  return result;
}

}  // namespace pergola

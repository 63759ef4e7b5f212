// Initial particles of a plasma species: see loading.hpp.
//
// Steps for a particle: (1) place and velocity, at random or by a quiet start, from its number alone, (2) with a quiet
// start velocities are normalised to mean 0 and variance 1, (3) the place follows the density profile, then the wave,
// (4) drift, thermal velocity and the wave's velocity. Any rank can make any particle, so bits do not depend on ranks.
// Lengths are in cells, velocities in cells ω_p.
#include "plasma/loading.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/philox.hpp"
#include "device/parallel.hpp"
#include "particles/box.hpp"
#include "physics/green.hpp"
#include "physics/numerics.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 4096;
constexpr double two_pi = 2 * std::numbers::pi;

/// Fractions whose multiples fill the unit interval evenly, for one and for two more axes (the golden ratio and its
/// counterparts in two dimensions).
constexpr double golden = 0.6180339887498949;
constexpr std::array<double, 2> plastic{0.7548776662466927, 0.5698402909980532};

double fraction(double x) { return x - std::floor(x); }

/// The profile's density at x relative to its reference, periodic in the side of the box.
double profile_value(const PlasmaProfile& profile, double side, double x) {
  const double away = x - profile.centre, d = away - side * std::round(away / side);
  switch (profile.kind) {
    case PlasmaProfile::Kind::slab:
      return std::abs(d) < 0.5 * profile.width ? 1 : profile.floor;
    case PlasmaProfile::Kind::gaussian:
      return profile.floor + (1 - profile.floor) * std::exp(-0.5 * d * d / (profile.width * profile.width));
    case PlasmaProfile::Kind::sine:
      return 1 + profile.amplitude * std::sin(two_pi * profile.mode * x / side);
    case PlasmaProfile::Kind::uniform:
      break;
  }
  return 1;
}

/// Maps evenly spaced places along an axis to places with the density of a profile, by its inverse tabulated integral.
class ProfileMap {
 public:
  ProfileMap(const PlasmaOptions& options, const PlasmaProfile& profile)
      : side_(options.cells[static_cast<std::size_t>(profile.axis)]) {
    if (profile.kind == PlasmaProfile::Kind::uniform) return;
    const auto bins = static_cast<std::size_t>(std::max(4096.0, 64 * side_));
    integral_.resize(bins + 1);
    for (std::size_t k = 0; k < bins; ++k)
      integral_[k + 1] =
          integral_[k] +
          profile_value(profile, side_, side_ * (static_cast<double>(k) + 0.5) / static_cast<double>(bins));
  }

  double mean() const { return integral_.empty() ? 1 : integral_.back() / bins(); }

  /// For s uniform in [0, side).
  double place(double s) const {
    if (integral_.empty()) return s;
    const double wanted = s / side_ * integral_.back();
    const auto above = std::upper_bound(integral_.begin(), integral_.end(), wanted);
    const auto k = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(
        above - integral_.begin() - 1, 0, static_cast<std::ptrdiff_t>(integral_.size()) - 2));
    const double step = integral_[k + 1] - integral_[k];
    return side_ / bins() * (static_cast<double>(k) + (step > 0 ? (wanted - integral_[k]) / step : 0.5));
  }

 private:
  double bins() const { return static_cast<double>(integral_.size() - 1); }

  double side_;
  std::vector<double> integral_;  // over the first k bins; empty: uniform
};

/// The places of particles within a cell: a lattice if the count has nearly equal factors, else low-discrepancy
/// sequences.
class CellPattern {
 public:
  CellPattern(std::int64_t count, int dimensions) : count_(count), dimensions_(dimensions) {
    double best = 2.000001;  // longest over shortest spacing
    for (std::int64_t a = 1; a <= count; ++a) {
      if (count % a != 0) continue;
      const std::int64_t rest = count / a;
      for (std::int64_t b = 1; b <= rest; ++b) {
        if (rest % b != 0 || (dimensions == 2 && b != rest)) continue;
        const std::int64_t c = rest / b;
        const auto [low, high] = dimensions == 2 ? std::minmax({a, b}) : std::minmax({a, b, c});
        const double ratio = static_cast<double>(high) / static_cast<double>(low);
        if (ratio < best) best = ratio, lattice_ = {a, b, c};
      }
    }
  }

  Vec3<double> place(std::int64_t j) const {
    const double middle = static_cast<double>(j) + 0.5;
    if (lattice_[0] == 0) {
      const double first = middle / static_cast<double>(count_);
      if (dimensions_ == 2) return {first, fraction(golden * middle), 0};
      return {first, fraction(plastic[0] * middle), fraction(plastic[1] * middle)};
    }
    const auto centre = [](std::int64_t k, std::int64_t n) {
      return (static_cast<double>(k) + 0.5) / static_cast<double>(n);
    };
    const auto& [a, b, c] = lattice_;
    return {centre(j % a, a), centre(j / a % b, b), dimensions_ == 3 ? centre(j / a / b, c) : 0.0};
  }

 private:
  std::int64_t count_;
  int dimensions_;
  std::array<std::int64_t, 3> lattice_{};
};

/// At least one: particles_per_cell, which holds where the profile is 1, times the profile's mean.
std::int64_t count_per_cell(const PlasmaOptions& options, const PlasmaLoad& load) {
  const double wanted = static_cast<double>(load.particles_per_cell) * profile_mean(options, load.profile);
  return std::max<std::int64_t>(1, std::llround(wanted));
}

/// All that the place and velocity of particle i depend on.
struct Loader {
  const PlasmaOptions& options;
  const PlasmaLoad& load;
  std::uint64_t seed;
  std::uint32_t stream;
  ProfileMap profile;
  CellPattern pattern;
  std::int64_t per_cell;
  Vec3<double> wave_number;

  /// Random place and velocity, in units of the thermal velocities, before profile, wave and drift.
  void draw(std::int64_t i, Vec3<double>& x, Vec3<double>& v) const {
    Philox random(seed, stream, static_cast<std::uint64_t>(i));
    x = {random.uniform() * options.cells[0], random.uniform() * options.cells[1], random.uniform() * options.cells[2]};
    v.x = physics::normal_quantile(random.uniform());
    v.y = physics::normal_quantile(random.uniform());
    v.z = physics::normal_quantile(random.uniform());
  }

  /// Quiet start: a row of cells along x is a Hammersley set in (x, v); further rows are shifted and fill the gaps.
  /// Denavit & Walsh 1981; Birdsall & Langdon 1985, section 16-2.
  void arrange(std::int64_t i, Vec3<double>& x, Vec3<double>& v) const {
    const std::int64_t cell = i / per_cell, j = i % per_cell, row = cell / options.cells[0];
    const Vec3<double> within = pattern.place(j);
    x = {static_cast<double>(cell % options.cells[0]) + within.x,
         static_cast<double>(row % options.cells[1]) + within.y,
         static_cast<double>(row / options.cells[1]) + within.z};
    const std::int64_t in_row = cell % options.cells[0] * per_cell + j;
    const double half = 0.5 / static_cast<double>(options.cells[0] * per_cell);
    const auto component = [&](unsigned base, double turn) {
      const double u = fraction(physics::reversed_digits(static_cast<unsigned long long>(in_row), base) + half +
                                fraction(static_cast<double>(row) * turn));
      return physics::normal_quantile(std::clamp(u, 0x1p-54, 1 - 0x1p-53));
    };
    v = {component(2, golden), component(3, plastic[0]), component(5, plastic[1])};
  }

  void place(Vec3<double>& x) const {
    auto& along = load.profile.axis == 0 ? x.x : load.profile.axis == 1 ? x.y : x.z;
    along = profile.place(along);
    const auto& wave = load.perturbation;
    if (wave.amplitude != 0 && wave.kind == PlasmaPerturbation::Kind::density) {
      const double theta = dot(wave_number, x);
      const double moved = physics::displaced_phase(theta, wave.amplitude, wave.phase) - theta;
      x = x + (moved / dot(wave_number, wave_number)) * wave_number;
    }
    const auto& cells = options.cells;
    const Vec3<double> side{static_cast<double>(cells[0]), static_cast<double>(cells[1]),
                            static_cast<double>(cells[2])};
    x = wrap(x, {{0, 0, 0}, side, Boundary::periodic});
  }

  Vec3<double> velocity(const Vec3<double>& x, const Vec3<double>& v) const {
    Vec3<double> moving{load.drift.x + load.thermal.x * v.x, load.drift.y + load.thermal.y * v.y,
                        load.drift.z + load.thermal.z * v.z};
    const auto& wave = load.perturbation;
    if (wave.amplitude != 0 && wave.kind == PlasmaPerturbation::Kind::velocity) {
      const double size = wave.amplitude * std::cos(dot(wave_number, x) + wave.phase);
      moving = moving + (size / std::sqrt(dot(wave_number, wave_number))) * wave_number;
    }
    return moving;
  }
};

/// Ids in order; coordinates that the case does not have stay empty.
PlasmaParticles empty_particles(const PlasmaOptions& options, std::int64_t n, std::uint64_t first_id) {
  const auto size = static_cast<std::size_t>(n);
  PlasmaParticles p;
  p.id.resize(size);
  for (std::size_t k = 0; k < size; ++k) p.id[k] = first_id + k;
  for (auto* values : {&p.x, &p.y, &p.vx, &p.vy}) values->resize(size);
  if (options.dimensions == 3) p.z.resize(size);
  if (options.velocities == 3) p.vz.resize(size);
  return p;
}

/// The particles of this rank: numbers first … first + count − 1 of all.
struct OwnPart {
  std::int64_t first = 0, count = 0, all = 0;
  Communicator* ranks = nullptr;  // null: all are here
};

/// Shifts and scales to mean 0 and variance 1 over the particles of all ranks. The sums have a fixed order: the rank
/// with the first particle of a chunk adds up the chunk; `other(i)` computes values of other ranks.
template <class Other>
void normalise(std::vector<double>& values, const OwnPart& own, int threads, const Other& other) {
  const std::int64_t n = own.all, chunks = (n + chunk - 1) / chunk;
  const std::int64_t first_chunk = (own.first + chunk - 1) / chunk,
                     end_chunk = (own.first + own.count + chunk - 1) / chunk;
  const auto value = [&](std::int64_t i) {
    const std::int64_t k = i - own.first;
    return k >= 0 && k < own.count ? values[static_cast<std::size_t>(k)] : other(i);
  };
  const auto sum = [&](auto&& term) {
    std::vector<double> parts(static_cast<std::size_t>(chunks));
    parallel_for(threads, end_chunk - first_chunk, [&](std::int64_t k) {
      const std::int64_t begin = (first_chunk + k) * chunk, end = std::min(begin + chunk, n);
      double part = 0;
      for (std::int64_t i = begin; i < end; ++i) part += term(value(i));
      parts[static_cast<std::size_t>(first_chunk + k)] = part;
    });
    if (own.ranks) own.ranks->all_reduce(parts.data(), parts.size(), Reduction::sum);  // one is not zero
    double total = 0;
    for (const double part : parts) total += part;
    return total;
  };
  const double mean = sum([](double x) { return x; }) / static_cast<double>(n);
  const double variance = sum([&](double x) { return (x - mean) * (x - mean); }) / static_cast<double>(n);
  const double scale = variance > 0 ? 1 / std::sqrt(variance) : 1;
  parallel_chunks(threads, own.count, chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double& x = values[static_cast<std::size_t>(i)];
      x = scale * (x - mean);
    }
  });
}

PlasmaParticles load_own(const PlasmaOptions& options, const PlasmaLoad& load, std::uint64_t seed, std::uint32_t stream,
                         std::uint64_t first_id, int threads, const OwnPart& own) {
  const std::int64_t per_cell = count_per_cell(options, load);
  const auto wave = [&](std::size_t axis) {
    return physics::wave_number(load.perturbation.mode[axis], options.cells[axis]);
  };
  const Loader loader{options,
                      load,
                      seed,
                      stream,
                      ProfileMap(options, load.profile),
                      CellPattern(per_cell, options.dimensions),
                      per_cell,
                      {wave(0), wave(1), wave(2)}};
  PlasmaParticles p = empty_particles(options, own.count, first_id + static_cast<std::uint64_t>(own.first));
  const auto each = [&](auto&& body) {
    parallel_chunks(threads, own.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto k = static_cast<std::size_t>(i);
        Vec3<double> x{p.x[k], p.y[k], p.z.empty() ? 0.0 : p.z[k]};
        Vec3<double> v{p.vx[k], p.vy[k], p.vz.empty() ? 0.0 : p.vz[k]};
        body(own.first + i, x, v);
        p.x[k] = x.x, p.y[k] = x.y, p.vx[k] = v.x, p.vy[k] = v.y;
        if (!p.z.empty()) p.z[k] = x.z;
        if (!p.vz.empty()) p.vz[k] = v.z;
      }
    });
  };
  each([&](std::int64_t i, Vec3<double>& x, Vec3<double>& v) {
    load.quiet ? loader.arrange(i, x, v) : loader.draw(i, x, v);
  });
  const auto normalise_along = [&](std::vector<double>& values, double Vec3<double>::*axis) {
    normalise(values, own, threads, [&](std::int64_t i) {
      Vec3<double> x, v;
      loader.arrange(i, x, v);
      return v.*axis;
    });
  };
  if (load.quiet) {
    normalise_along(p.vx, &Vec3<double>::x);
    normalise_along(p.vy, &Vec3<double>::y);
    if (options.velocities == 3) normalise_along(p.vz, &Vec3<double>::z);
  }
  each([&](std::int64_t, Vec3<double>& x, Vec3<double>& v) {
    loader.place(x);
    v = loader.velocity(x, v);
  });
  return p;
}

}  // namespace

double profile_mean(const PlasmaOptions& options, const PlasmaProfile& profile) {
  return ProfileMap(options, profile).mean();
}

std::int64_t loaded_count(const PlasmaOptions& options, const PlasmaLoad& load) {
  return options.cell_count() * count_per_cell(options, load);
}

double loaded_weight(const PlasmaOptions& options, const PlasmaLoad& load) {
  return load.density * profile_mean(options, load.profile) / static_cast<double>(count_per_cell(options, load));
}

PlasmaParticles load_plasma(const PlasmaOptions& options, const PlasmaLoad& load, std::uint64_t seed,
                            std::uint32_t stream, std::uint64_t first_id, int threads) {
  const std::int64_t all = loaded_count(options, load);
  return load_own(options, load, seed, stream, first_id, threads, {0, all, all, nullptr});
}

PlasmaParticles load_plasma_part(const PlasmaOptions& options, const PlasmaLoad& load, std::uint64_t seed,
                                 std::uint32_t stream, std::uint64_t first_id, int threads, std::int64_t first,
                                 std::int64_t count, Communicator& ranks) {
  return load_own(options, load, seed, stream, first_id, threads, {first, count, loaded_count(options, load), &ranks});
}

}  // namespace pergola

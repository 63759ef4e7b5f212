#pragma once
// How particles are drawn: random directions and normal numbers, models drawn one by one, and sums in a fixed order.
//
// Particle i gets the random numbers of (seed, stream, i) and no others, so that any thread, rank or piece makes the
// same particle. The centre of mass is found by sums over fixed chunks, added in the order of the chunks; ranks that
// make a model together each sum their chunks and share them.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/philox.hpp"
#include "base/vec.hpp"
#include "device/parallel.hpp"
#include "particles/particle_source.hpp"
#include "particles/particles.hpp"

namespace pergola {

inline constexpr std::int64_t sum_chunk = 4096;

/// start + Σ over particles of value(i), in chunks whose order does not depend on the thread count. Particles in pieces
/// of whole chunks have the same sum, to the bit, when each piece starts from that of those before.
template <class Value>
double ordered_sum(std::int64_t n, int threads, const Value& value, double start = 0) {
  std::vector<double> partial(static_cast<std::size_t>((n + sum_chunk - 1) / sum_chunk));
  parallel_chunks(threads, n, sum_chunk, [&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += value(static_cast<std::size_t>(i));
    partial[static_cast<std::size_t>(begin / sum_chunk)] = sum;
  });
  double total = start;
  for (const double part : partial) total += part;
  return total;
}

/// Places in species_names of what models are made of beside `halo`.
inline constexpr std::uint8_t species_disc = 2, species_bulge = 3;

/// n particles of equal mass, the arrays still empty of places and velocities. Throws Error(device) when they cannot
/// fit into this machine's memory.
Particles equal_masses(std::int64_t n, double total_mass);

/// Throws Error(device) when n particles cannot fit into this machine's memory.
void check_memory(std::int64_t n);

/// A point on the unit sphere, from two uniform numbers.
Vec3<double> random_direction(Philox& random);

/// A number from the normal distribution of unit variance, from two uniform numbers. Box & Muller 1958.
double random_normal(Philox& random);

struct PhaseSpacePoint {
  Vec3<double> x, v;
};

/// One star of Plummer's sphere with G = M = scale radius = 1, within the radius that holds `mass_within_cutoff`.
/// Aarseth, Hénon & Wielen 1974, appendix.
PhaseSpacePoint draw_plummer_star(Philox& random, double mass_within_cutoff);

/// Puts particle i at state.x with velocity state.v, where state = draw(random) and `random` depends on seed, stream
/// and i only.
template <class Draw>
void draw_particles(Particles& particles, std::uint64_t seed, int threads, const Draw& draw, std::uint32_t stream = 0) {
  parallel_chunks(threads, particles.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Philox random(seed, stream, static_cast<std::uint64_t>(i));
      const PhaseSpacePoint p = draw(random);
      const auto k = static_cast<std::size_t>(i);
      particles.x[k] = p.x.x, particles.y[k] = p.x.y, particles.z[k] = p.x.z;
      particles.vx[k] = p.v.x, particles.vy[k] = p.v.y, particles.vz[k] = p.v.z;
    }
  });
}

/// Moves the centre of mass to the origin and to rest. The sums have a fixed order.
void centre(Particles& particles, int threads);

/// Adds to all places and velocities.
void shift(Particles& particles, const PhaseSpacePoint& by);

/// Σ m v²/2 in a fixed order.
double kinetic_energy(const Particles& particles, int threads);

}  // namespace pergola

// Models whose particles are drawn one by one, each from random numbers of its own.

namespace pergola {

/// n particles of equal mass.
struct DrawnModel {
  std::int64_t n = 0;
  double total_mass = 1;
  std::uint64_t seed = 0;
  std::function<PhaseSpacePoint(Philox&)> draw;  // on any thread
  bool centred = true;                           // the centre of mass is moved to the origin and to rest
};

/// All of them. Throws Error(device) when they cannot fit into memory.
Particles make_drawn(const DrawnModel& model, int threads);

/// The same particles, any range at any time. Where the model is centred all are drawn once before the first is given,
/// by ranks that make them together each its share.
class DrawnSource final : public DeviceSource {
 public:
  DrawnSource(DrawnModel model, int threads);
  std::int64_t count() const override { return model_.n; }
  void read(std::int64_t first, std::int64_t n, Particles& to) override;
  std::string name() const override { return "model"; }
  void make_shares(const std::shared_ptr<Communicator>& ranks) override {
    if (!mean_known_) find_mean(*ranks);
  }

 private:
  PhaseSpacePoint drawn(std::int64_t i) const;
  /// All ranks call it.
  void find_mean(Communicator& ranks);

  DrawnModel model_;
  int threads_;
  double mass_;
  std::array<double, 6> mean_{};  // of x, y, z, vx, vy, vz
  bool mean_known_;
};

}  // namespace pergola

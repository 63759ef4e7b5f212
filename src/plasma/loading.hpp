#pragma once
/// The macro-particles of a plasma at the start: density profile, thermal velocities, drift and a wave.
///
/// A quiet start places particles in the same regular pattern in every cell and draws velocities from bit-reversed
/// fractions, so that waves do not rise from noise; else both are random. A particle is a function of the options, the
/// seed, the species' number and its own number. So any rank can make any range, with the same bits for any number of
/// threads and ranks.
#include <array>
#include <cstdint>
#include <string_view>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "comm/communicator.hpp"
#include "plasma/options.hpp"
#include "plasma/particles.hpp"

namespace pergola {

/// A density along one axis of the periodic box, relative to the species' density.
struct PlasmaProfile {
  enum class Kind { uniform, slab, gaussian, sine };
  Kind kind = Kind::uniform;
  int axis = 0;
  double centre = 0, width = 0;  // slab: 1 where |x − centre| < width/2; gaussian: exp(−(x − centre)²/(2 width²))
  double floor = 0;              // slab and gaussian: the density far away, 0 … 1
  double amplitude = 0;          // sine: 1 + amplitude sin(2π mode x/side)
  int mode = 1;
};
inline constexpr std::array<std::string_view, 4> plasma_profile_names{"uniform", "slab", "gaussian", "sine"};

/// A wave in the loaded particles, k = 2π mode/side along each axis: of the density, n (1 + amplitude cos(k·x +
/// phase)), by displacement; or of the velocity, + amplitude (k/|k|) cos(k·x + phase).
struct PlasmaPerturbation {
  enum class Kind { density, velocity };
  Kind kind = Kind::density;
  std::array<int, 3> mode{0, 0, 0};
  double amplitude = 0;  // density: relative, below 1; velocity: a velocity
  double phase = 0;      // radians
};
inline constexpr std::array<std::string_view, 2> plasma_perturbation_names{"density", "velocity"};

/// How the macro-particles of one species are placed at the start; lengths in cells, velocities in cells ω_p.
struct PlasmaLoad {
  double density = 1;                   // in n₀, where the profile is 1
  std::int64_t particles_per_cell = 1;  // where the profile is 1
  Vec3<double> thermal{0, 0, 0};        // √(T/m) along each axis
  Vec3<double> drift{0, 0, 0};
  bool quiet = true;
  PlasmaProfile profile;
  PlasmaPerturbation perturbation;
};

/// The mean of the profile over the box.
double profile_mean(const PlasmaOptions& options, const PlasmaProfile& profile);

/// The number of macro-particles of a species, and the weight that gives them the density.
PERGOLA_API std::int64_t loaded_count(const PlasmaOptions& options, const PlasmaLoad& load);
PERGOLA_API double loaded_weight(const PlasmaOptions& options, const PlasmaLoad& load);

/// The particles at time 0 with ids first_id, first_id + 1, … `stream`: the number of the species.
PERGOLA_API PlasmaParticles load_plasma(const PlasmaOptions& options, const PlasmaLoad& load, std::uint64_t seed,
                                        std::uint32_t stream, std::uint64_t first_id, int threads);

/// `count` of them from number `first` on. Collective: the ranges follow each other by rank and hold all particles.
PERGOLA_API PlasmaParticles load_plasma_part(const PlasmaOptions& options, const PlasmaLoad& load, std::uint64_t seed,
                                             std::uint32_t stream, std::uint64_t first_id, int threads,
                                             std::int64_t first, std::int64_t count, Communicator& ranks);

}  // namespace pergola

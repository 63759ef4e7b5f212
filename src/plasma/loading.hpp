#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "comm/communicator.hpp"
#include "plasma/options.hpp"
#include "plasma/particles.hpp"

namespace pergola {

/// How a density depends on the place along one axis of the periodic box, in parts of the species' density.
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

/// A wave that the particles are loaded with, k = 2π mode/side along each axis: of the density, n (1 + amplitude
/// cos(k·x
/// + phase)), by displacement, or of the velocity, + amplitude (k/|k|) cos(k·x + phase).
struct PlasmaPerturbation {
  enum class Kind { density, velocity };
  Kind kind = Kind::density;
  std::array<int, 3> mode{0, 0, 0};
  double amplitude = 0;  // density: in parts of the density, below 1; velocity: a velocity
  double phase = 0;      // radians
};
inline constexpr std::array<std::string_view, 2> plasma_perturbation_names{"density", "velocity"};

/// How the macro-particles of one species are placed at the start; lengths in cells, velocities in cells ω_p.
struct PlasmaLoad {
  double density = 1;                   // n₀; with a profile, where that is 1
  std::int64_t particles_per_cell = 1;  // with a profile, where that is 1
  Vec3<double> thermal{0, 0, 0};        // √(T/m) along each axis
  Vec3<double> drift{0, 0, 0};
  /// Quiet: the same regular pattern in every cell, and velocities from the inverse of the normal distribution at
  /// bit-reversed fractions, so that waves do not rise from noise. Else both at random.
  bool quiet = true;
  PlasmaProfile profile;
  PlasmaPerturbation perturbation;
};

/// The mean of the profile over the box: total over that of a uniform density.
double profile_mean(const PlasmaOptions& options, const PlasmaProfile& profile);

/// Macro-particles of the species, and the weight that gives them the density.
PERGOLA_API std::int64_t loaded_count(const PlasmaOptions& options, const PlasmaLoad& load);
PERGOLA_API double loaded_weight(const PlasmaOptions& options, const PlasmaLoad& load);

/// The particles at time 0 with ids first_id, first_id + 1, …: a function of these numbers, `seed` and `stream` (the
/// species' number) only, with the same bits for any number of threads.
PERGOLA_API PlasmaParticles load_plasma(const PlasmaOptions& options, const PlasmaLoad& load, std::uint64_t seed,
                                        std::uint32_t stream, std::uint64_t first_id, int threads);

/// Those of them that stand from number `first` on, `count` of them: the part of this rank. All ranks call it, for
/// stretches that follow each other by rank and hold all particles together.
PERGOLA_API PlasmaParticles load_plasma_part(const PlasmaOptions& options, const PlasmaLoad& load, std::uint64_t seed,
                                             std::uint32_t stream, std::uint64_t first_id, int threads,
                                             std::int64_t first, std::int64_t count, Communicator& ranks);

}  // namespace pergola

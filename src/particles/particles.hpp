#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// GADGET's six particle types, by number and by the name that configuration keys use.
inline constexpr int species_count = 6;
inline constexpr std::array<std::string_view, species_count> species_names{"gas",   "halo",  "disc",
                                                                           "bulge", "stars", "boundary"};
inline constexpr std::uint8_t species_halo = 1;

/// How numbers are kept and pairs are computed; chosen at run time. DESIGN: "Numbers".
enum class Precision {
  single,  // fp32 state and arithmetic
  mixed,   // fp64 state, separations from hi/lo floats, fp32 pair arithmetic, fp64 sums
  double_  // fp64 throughout; "double" in configurations
};
std::string_view precision_name(Precision precision);

/// The particles of a simulation on the host, structure of arrays, in the units of the run. This is what files hold and
/// what a user of the library sees; while a run is on a device its integrator holds the living state there. The order
/// is never identity: a particle is known by its id.
struct PERGOLA_API Particles {
  std::vector<std::uint64_t> id;
  std::vector<std::uint8_t> species;
  std::vector<double> mass;
  std::vector<double> x, y, z;
  std::vector<double> vx, vy, vz;
  std::vector<double> potential;  // per unit mass; empty when it is not known

  std::int64_t size() const { return static_cast<std::int64_t>(id.size()); }
  /// New particles get zeros, species halo and ids that continue from the count (1, 2, …).
  void resize(std::int64_t count);
  void append(const Particles& other);

  /// Throws Error(input): "WHERE: particle id 7: x is nan, expected a finite number", also for a negative mass, for ids
  /// that occur twice and for arrays of unequal length.
  void validate(std::string_view where) const;
};

/// Calls use(array…) for each array of Particles, with that array of each of `particles`.
template <class Use, class... P>
void for_each_array(const Use& use, P&... particles) {
  use(particles.id...), use(particles.species...), use(particles.mass...);
  use(particles.x...), use(particles.y...), use(particles.z...);
  use(particles.vx...), use(particles.vy...), use(particles.vz...);
  use(particles.potential...);
}

}  // namespace pergola

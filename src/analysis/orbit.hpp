#pragma once
#include <cstdint>
#include <optional>

#include "base/host_device.hpp"
#include "particles/particles.hpp"
#include "physics/kepler.hpp"

namespace pergola {

/// Two particles and the Kepler orbit they would follow alone.
struct Pair {
  std::int64_t first = 0, second = 0;  // places in the particle arrays
  double distance = 0;
  double binding_energy = 0;  // G m₁ m₂ / r − µ v²/2 with the reduced mass µ; positive where bound
  physics::OrbitElements<double> orbit{};
};

/// Throws Error(input) when the two are one, lie in one place or have no mass together.
PERGOLA_API Pair pair_orbit(const Particles& particles, std::int64_t first, std::int64_t second,
                            double gravitational_constant = 1);

/// The pair with the largest binding energy; nothing when no pair is bound.
PERGOLA_API std::optional<Pair> most_bound_pair(const Particles& particles, double gravitational_constant = 1);

}  // namespace pergola

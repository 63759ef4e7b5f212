#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "particles/particles.hpp"
#include "physics/kepler.hpp"

// Kepler orbits of pairs: of two particles, of the most bound pair, and of a hierarchy of pairs of pairs. The analysis
// `orbits` writes the elements of the hierarchy through time. Equal pairs are ordered by id, so that results do not
// depend on the order of the file.
// Formulas are in physics/kepler.hpp. The search for the most bound pairs goes along x and stops where no closer pair
// can be more tightly bound. The hierarchy is limited to 50,000 bodies, because it compares all pairs once.
namespace pergola {

/// Two particles and the Kepler orbit that they would follow alone.
struct Pair {
  std::int64_t first = 0, second = 0;  // places in the particle arrays
  double distance = 0;
  double binding_energy = 0;  // G m₁ m₂ / r − µ v²/2 with the reduced mass µ; positive where bound
  physics::OrbitElements<double> orbit{};
};

/// Throws Error(input) if both are the same particle, are at one position, or have no mass.
PERGOLA_API Pair pair_orbit(const Particles& particles, std::int64_t first, std::int64_t second,
                            double gravitational_constant = 1);

/// The pairs with the largest binding energies above `least` and no farther apart than `farthest`, at most `most`, the
/// hardest first; no particle is in two.
PERGOLA_API std::vector<Pair> hardest_pairs(const Particles& particles, double gravitational_constant, double least,
                                            std::size_t most,
                                            double farthest = std::numeric_limits<double>::infinity());

/// The pair with the largest binding energy; none if no pair is bound.
PERGOLA_API std::optional<Pair> most_bound_pair(const Particles& particles, double gravitational_constant = 1);

/// Two bodies, each a particle or a bound pair, and their Kepler orbit.
struct BoundPair {
  std::string first, second;  // "3", or "(1+2)": the heavier one first, then the one with the lower id
  int level = 0;              // 1: two particles
  double mass_1 = 0, mass_2 = 0, distance = 0, binding_energy = 0;
  physics::OrbitElements<double> orbit{};
  physics::OrbitAngles<double> angles{};
};

/// Bound pairs, pairs of pairs, and so on. Among pairs in which each is the other's partner with the smallest
/// semi-major axis, the tightest becomes one body at its centre of mass, until no bound pair is left. With more than
/// `few` bodies a pair counts only if no third body is within its apocentre: in a cluster nearly every two particles
/// would be bound if the others were left out.
PERGOLA_API std::vector<BoundPair> bound_hierarchy(const Particles& particles, double gravitational_constant,
                                                   std::int64_t few = 100);

}  // namespace pergola

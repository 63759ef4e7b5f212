#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "particles/particles.hpp"
#include "physics/kepler.hpp"

namespace pergola {

/// Two bodies, each a particle or a bound pair, and the Kepler orbit of one about the other.
struct BoundPair {
  std::string first, second;  // "3", or "(1+2)": the heavier one first, then the one with the lower id
  int level = 0;              // 1: two particles
  double mass_1 = 0, mass_2 = 0, distance = 0, binding_energy = 0;
  physics::OrbitElements<double> orbit{};
  physics::OrbitAngles<double> angles{};
};

/// Bound pairs, pairs of pairs and so on: of all pairs in which each is the other's partner with the smallest
/// semi-major axis the tightest is taken as one body at its centre of mass, until no bound pair is left. Of more than
/// `few` bodies a pair counts only where no third one is nearer to its centre than its apocentre: in a cluster nearly
/// everybody is bound to somebody, if the others are left out.
PERGOLA_API std::vector<BoundPair> bound_hierarchy(const Particles& particles, double gravitational_constant,
                                                   std::int64_t few = 100);

}  // namespace pergola

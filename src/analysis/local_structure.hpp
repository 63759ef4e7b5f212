#pragma once
#include <vector>

#include "base/host_device.hpp"
#include "comm/communicator.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"

// Density and velocity dispersion around each particle, from its nearest neighbours. Neighbours come from a balanced
// tree; in a periodic box the tree is searched with all images of a position. A particle whose sphere reaches the
// bounds of another rank also asks that rank.
// What always holds: of equally distant neighbours the lower id counts. Results do not depend on threads, ranks or the
// order of particles.
namespace pergola {

/// One value per particle.
struct LocalStructure {
  std::vector<double> length;      // to the last of its nearest neighbours
  std::vector<double> density;     // its mass and that of the nearer neighbours, over the sphere to the last
  std::vector<double> dispersion;  // of one velocity component, over itself and all neighbours
};

/// From `neighbours` nearest neighbours of each particle (all others if there are fewer). If all particles are
/// massless, each counts as one. Each rank gets the values of its own particles; the exchange is smallest if ranks hold
/// compact regions. Collective.
PERGOLA_API LocalStructure local_structure(const Particles& particles, const Box& box, int neighbours, int threads,
                                           Communicator& ranks = *serial_communicator());

}  // namespace pergola

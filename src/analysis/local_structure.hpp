#pragma once
#include <vector>

#include "base/host_device.hpp"
#include "comm/communicator.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// What is near each particle.
struct LocalStructure {
  std::vector<double> length;      // to the last of its nearest neighbours
  std::vector<double> density;     // mass of itself and of those nearer than the last, over the sphere to it
  std::vector<double> dispersion;  // of one component of velocity, of itself and all of them
};

/// From so many nearest neighbours of each particle (all others where there are fewer); in a periodic box of nearest
/// images; of equally far ones those with lower ids. Massless particles count as one each where all are. The same on
/// any number of threads. Where each rank has a part of the particles, best those that are near each other, all call it
/// together, each gets what is near its own, and all of it is what one that has all would find.
PERGOLA_API LocalStructure local_structure(const Particles& particles, const Box& box, int neighbours, int threads,
                                           Communicator& ranks = *serial_communicator());

}  // namespace pergola

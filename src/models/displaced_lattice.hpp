#pragma once
#include <memory>

#include "device/device.hpp"
#include "models/density_wave.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// side³ particles of equal mass on a lattice in a periodic box, x fastest, displaced by Gaussian waves to first or
/// second order (physics/lagrangian.hpp).
struct DisplacedLattice {
  int side = 0, order = 1;
  double box = 1, mass = 1;  // side of the box; of a particle
  RootPower root;
  WaveDraw draw;
  // What the displacements of the two orders, in units of the box, are multiplied with: for lengths in boxes and for
  // velocities.
  double length[2] = {}, velocity[2] = {};

  std::int64_t count() const { return std::int64_t{side} * side * side; }
};

/// Made on a CUDA device, or on those of ranks in slabs (DeviceSource::make_shares), with the same bits: waves are
/// drawn there, and the transforms are cuFFT's, in double precision; last bits differ from those of the CPU. A rank
/// takes three fields of its slab while it works, to first order one, and where they are read from the host six numbers
/// for each particle of its share; the first read of a share is a call of all ranks.
std::unique_ptr<DeviceSource> make_displaced_lattice_cuda(DisplacedLattice lattice, const Device& device);

}  // namespace pergola

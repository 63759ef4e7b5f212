#pragma once
// A lattice displaced by Gaussian waves on CUDA devices, by one process or by ranks in slabs.
//
// Ranks work on slabs of whole planes, but own shares of equal numbers of particles. `LatticeCuts` says which particles
// of a slab another rank owns; these few change ranks at the end.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/shares.hpp"
#include "device/device.hpp"
#include "models/density_wave.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// Which rank has which of the side³ particles of a lattice, z slowest: those of its slab of whole planes
/// (mesh/slab_planes.hpp), where displacements are found, and its share (comm/shares.hpp), which it keeps. A share
/// begins in the first plane of its rank's slab, if that has any. So other ranks own only particles of a slab's first
/// plane. Particles of a share outside the rank's slab stand at its end.
struct LatticeCuts {
  std::vector<Stretch> slabs, shares;
  std::vector<Stretch> given;    // of a slab, what ranks before keep
  std::vector<Stretch> fetched;  // of a share, what is in slabs of ranks behind

  LatticeCuts(int side, int ranks) {
    const std::int64_t plane = std::int64_t{side} * side;
    const Shares planes{side, ranks}, particles{plane * side, ranks};
    for (int rank = 0; rank < ranks; ++rank) {
      const Stretch slab{planes.first(rank) * plane, planes.count(rank) * plane};
      const Stretch share{particles.first(rank), particles.count(rank)};
      const std::int64_t away = std::max(share.first, slab.end());
      slabs.push_back(slab), shares.push_back(share);
      given.push_back({slab.first, std::min(share.first, slab.end()) - slab.first});
      fetched.push_back({away, share.end() - away});
    }
  }
  /// Whether particles change ranks; the same on all.
  bool any_given() const {
    return std::any_of(given.begin(), given.end(), [](const Stretch& one) { return one.count > 0; });
  }
};

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

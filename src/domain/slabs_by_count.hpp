#pragma once
#include "comm/communicator.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// The particles of all ranks, without their potentials, in slabs across the axis along which they reach farthest,
/// about as many in each: what is near a particle is mostly on its rank. Each array of `own` goes once it is sent. All
/// ranks call it.
Particles in_slabs_by_count(Communicator& ranks, Particles own, int threads);

}  // namespace pergola

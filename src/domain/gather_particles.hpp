#pragma once
#include "comm/collectives.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// Every rank's particles, in the order of ranks, on rank 0; none on the others. All ranks call it, and all of them
/// know potentials or none does.
inline Particles gather_on_root(Communicator& ranks, const Particles& own) {
  const auto all = [&](const auto& values) { return gather_on_root(ranks, values); };
  return {all(own.id), all(own.species), all(own.mass), all(own.x),  all(own.y),
          all(own.z),  all(own.vx),      all(own.vy),   all(own.vz), all(own.potential)};
}

}  // namespace pergola

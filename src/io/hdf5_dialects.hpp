#pragma once
#include "io/hdf5_file.hpp"
#include "io/snapshot.hpp"

namespace pergola {

/// What numbers of a file are multiplied by to be those that GADGET would have written.
struct GadgetFactors {
  double length = 1, mass = 1, velocity = 1;
};

/// Units and universe of a GADGET-style file, with the names that GADGET, AREPO, OWLS, GIZMO and SWIFT give them, and
/// where in time it stands. A universe of SWIFT has lengths and masses without h and velocities a dx/dt; GADGET's have
/// lengths and masses over h, and √a dx/dt.
GadgetFactors read_dialect(const hdf5::File& file, SnapshotHeader& header);

}  // namespace pergola

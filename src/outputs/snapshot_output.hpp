#pragma once
#include "outputs/output.hpp"

namespace pergola {

/// snap_000.hdf5, ... or plasma_000.h5, ...: taken at once, written by a thread of its own while the steps go on.
OutputEntry snapshot_output();

}  // namespace pergola

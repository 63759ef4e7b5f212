#pragma once
#include "base/host_device.hpp"

namespace pergola {

/// Whether the MPI that the program runs with takes pointers to a CUDA device's memory, as it says itself.
PERGOLA_API bool mpi_takes_device_pointers();

}  // namespace pergola

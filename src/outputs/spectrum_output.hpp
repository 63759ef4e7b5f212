#pragma once
#include "outputs/output.hpp"

namespace pergola {

/// spectrum.hdf5, spectrum.csv and wave.csv of a plasma: written at the end, from the potential every so many steps,
/// which the system keeps.
OutputEntry spectrum_output();

}  // namespace pergola

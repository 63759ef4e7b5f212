#pragma once
#include "outputs/output.hpp"

namespace pergola {

/// energy.csv, and the report card at the end: it compares the energies at both ends.
OutputEntry energy_output();

}  // namespace pergola

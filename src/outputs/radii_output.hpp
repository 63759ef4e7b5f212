#pragma once
#include "outputs/output.hpp"

namespace pergola {

/// lagrangian.csv: Lagrangian radii of a system that has a centre.
OutputEntry radii_output();

}  // namespace pergola

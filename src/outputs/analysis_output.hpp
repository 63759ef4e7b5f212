#pragma once
#include "outputs/output.hpp"

namespace pergola {

/// NAME_NNN.csv of the analyses that output.analyses names, of all particles at the moment of snapshot NNN.
OutputEntry analysis_output();

}  // namespace pergola

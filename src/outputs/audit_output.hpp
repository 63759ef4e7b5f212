#pragma once
#include "outputs/output.hpp"

namespace pergola {

/// audit.csv: the error of the forces, measured with a sample of particles every so many steps.
OutputEntry audit_output();

}  // namespace pergola

#pragma once
#include "models/isotropic_sphere.hpp"

namespace pergola {

/// King's sphere of central depth w0 with lengths in King radii, speeds in σ and G = 1. The last knot is the edge.
SphereKnots king_sphere(double w0);

}  // namespace pergola

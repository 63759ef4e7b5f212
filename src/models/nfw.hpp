#pragma once
#include "physics/spheres.hpp"

namespace pergola {

/// The radius beyond which a truncated halo has no mass to speak of (1e-12 of it).
double nfw_edge(const physics::TruncatedNfw<double>& halo);

}  // namespace pergola

#pragma once
#include "config/config.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// The box of a mesh run with every "auto" resolved. `stated_side`: BoxSize of the file or the model's own; 0: none.
/// Throws Error(input) that names the key when a periodic box has no side or the box does not hold the particles.
PERGOLA_API Box resolve_mesh_box(const RunConfig& config, const Particles& particles, double stated_side);

}  // namespace pergola

#pragma once
#include <string>

#include "models/model.hpp"

namespace pergola {

/// How many particles a lattice has per side that those of the model stand near at the start; 0: there is none.
PERGOLA_API int model_lattice(const std::string& name, const ModelOptions& options);

}  // namespace pergola

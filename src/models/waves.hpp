#pragma once
#include <optional>
#include <string>

#include "models/model.hpp"
#include "physics/power_spectrum.hpp"

namespace pergola {

/// The Gaussian waves that a model's particles are displaced with: their power today, linear, and whether each has
/// exactly that, or is drawn about it.
struct ModelWaves {
  physics::LinearPower power;
  bool fixed = false;
  int order = 1;  // of the perturbation theory that displaces
};
PERGOLA_API std::optional<ModelWaves> model_waves(const std::string& name, const ModelOptions& options);

}  // namespace pergola

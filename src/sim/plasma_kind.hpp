#pragma once
#include "base/vec.hpp"

namespace pergola {

/// What theory needs of a species, in units of computation.
struct PlasmaKind {
  double plasma_frequency_squared = 1;  // q² n/m
  Vec3<double> thermal_speed{0, 0, 0}, drift{0, 0, 0};
};

}  // namespace pergola

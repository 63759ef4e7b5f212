#pragma once
#include <cstdint>
#include <string>

#include "device/device.hpp"
#include "plasma/options.hpp"
#include "plasma/particles.hpp"

namespace pergola::app {

/// A thermal plasma of electrons over a uniform background, the benchmark of Decyk, Singh & Friedman 2010: Debye length
/// of a cell, random places, linear shape, Gaussian smoothing, single precision.
struct PlasmaCase {
  std::string name;  // 256x512
  int dimensions = 2;
  std::array<int, 3> cells{256, 512, 1};
  std::int64_t n = 0;
  double step = 0;  // in inverse plasma frequencies
};

/// The paper's: 256 × 512 cells, 4,718,592 particles, ω_p dt = 0.025.
PlasmaCase decyk_case();

PlasmaOptions plasma_options(const PlasmaCase& which);
PlasmaParticles thermal_electrons(const PlasmaCase& which, int threads);

/// Seconds per step once the particles have settled. They are pushed, counted on the grid and kept in order; `whole`:
/// the field is solved as well, by the code that `run` uses. Throws Error(numerics) when particles are missing or
/// energy or momentum is not kept.
double plasma_step_seconds(const Device& device, const PlasmaCase& which, const PlasmaParticles& electrons, bool whole,
                           double budget);

}  // namespace pergola::app

#pragma once
#include <cstdint>
#include <vector>

#include "analysis/analysis.hpp"
#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola {

/// Particles with more kinetic energy than it takes to leave, in the frame of those that stay.
struct Escapers {
  std::int64_t count = 0;
  double mass = 0, kinetic_energy = 0, fastest = 0;
  std::vector<bool> escapes;       // by place in the particle arrays
  Vec3<double> velocity{0, 0, 0};  // mean one of those that stay
};

/// Places and velocities in proper lengths, with the expansion in the velocities: v = a dx/dt + H a x, about any place,
/// for find_escapers() looks at differences only; potentials G m/(a x). Of a system that does not expand: as it is.
PERGOLA_API AnalysisSnapshot in_proper_lengths(AnalysisSnapshot snapshot);

/// In proper lengths. `potential`: per unit mass, of the field of all particles. The frame is found in rounds: from
/// all, then from those that were bound in the round before.
Escapers find_escapers(const AnalysisSnapshot& snapshot, const std::vector<double>& potential);

}  // namespace pergola

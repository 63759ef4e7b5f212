#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "base/host_device.hpp"
#include "base/vec.hpp"

// Particles that leave a system. A particle escapes if its kinetic energy, in the frame of the bound particles, exceeds
// its potential. In a field whose centre the system goes about, Jacobi's energy and the tidal radius decide
// (physics/tide.hpp). The frame and the set of escapers depend on each other and are found in rounds.
// Sums go in the order of ids, so that they do not depend on the order of a file.
// Potentials come from the file, or are computed with a softening (centers.hpp). An expanding box is first converted
// to proper lengths. What always holds: at most 50 rounds; if the set still changes, the last one counts.
namespace pergola {

/// Particles that are not bound, in the frame of the bound particles.
struct Escapers {
  std::int64_t count = 0;
  double mass = 0, kinetic_energy = 0, fastest = 0;
  std::vector<bool> escapes;       // by place in the particle arrays
  Vec3<double> velocity{0, 0, 0};  // mean velocity of the bound particles
  double tidal_radius = 0;         // where Jacobi's energy decides, else 0
  std::string criterion;           // energy | jacobi | energy in the field
};

/// Converts an expanding box to proper lengths: v = a dx/dt + H a x, potentials G m/(a x). The origin is arbitrary,
/// because find_escapers() uses only differences. A system that does not expand is unchanged.
PERGOLA_API AnalysisSnapshot in_proper_lengths(AnalysisSnapshot snapshot);

/// The snapshot is in proper lengths. `potential`: per unit mass, in the field of all particles, without that of
/// snapshot.field. Round 1 uses the frame of all particles but those of `left_out`, later rounds the frame of the
/// particles that were bound in the round before. Criteria, by what snapshot.field is: none: energy. With its centre
/// farther than the tidal radius: jacobi, and beyond that radius nothing is bound. Else, where its potential goes to 0
/// far away: energy in the field, at rest; where it does not, no energy suffices to escape: energy, without the field.
PERGOLA_API Escapers find_escapers(const AnalysisSnapshot& snapshot, const std::vector<double>& potential,
                                   std::vector<bool> left_out = {});

}  // namespace pergola

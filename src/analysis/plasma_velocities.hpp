#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "analysis/analysis.hpp"

namespace pergola {

/// The plasma with the species that the options name. Throws Error(input) for names that it does not have, and where
/// nothing is left.
PERGOLA_API AnalysisPlasma chosen_species(AnalysisPlasma plasma, const AnalysisOptions& options);

/// Mean and variance of the velocities along x, y and z, by weight.
struct VelocityMoments {
  std::array<double, 3> mean{}, variance{};
};
PERGOLA_API VelocityMoments velocity_moments(const AnalysisSpecies& species);

/// Velocities between two edges.
struct VelocityBin {
  double low = 0, high = 0;
  std::int64_t particles = 0;
  double density = 0, error = 0;  // part of all particles, also of those outside all bins, per velocity; of counting
};
/// `bins` of equal width from `low` to `high`; velocities at `high` are in the last one.
PERGOLA_API std::vector<VelocityBin> velocity_bins(const AnalysisSpecies& species, std::size_t axis, double low,
                                                   double high, std::int64_t bins);

/// --species, of a plasma.
Key<AnalysisOptions> plasma_species_key();

}  // namespace pergola

#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "analysis/analysis.hpp"

// Velocities of a plasma's species: moments (the analysis `temperatures`) and distribution functions (the analysis
// `distribution`). All sums are weighted with the number of particles that a macro-particle stands for.
// What always holds: species without particles are left out; a variance contains waves and beams within the species,
// not only its temperature; the integral of a distribution over all velocities is 1.
namespace pergola {

/// The plasma with only the species that the options name. Throws Error(input) for unknown names, and if no particle is
/// left.
PERGOLA_API AnalysisPlasma chosen_species(AnalysisPlasma plasma, const AnalysisOptions& options);

/// Weighted mean and variance of the velocities along x, y and z.
struct VelocityMoments {
  std::array<double, 3> mean{}, variance{};
};
PERGOLA_API VelocityMoments velocity_moments(const AnalysisSpecies& species);

/// A range of velocities.
struct VelocityBin {
  double low = 0, high = 0;
  std::int64_t particles = 0;
  double density = 0, error = 0;  // part of all particles of the species per velocity; counting error
};
/// `bins` bins of equal width from `low` to `high`. Velocities equal to `high` are in the last bin.
PERGOLA_API std::vector<VelocityBin> velocity_bins(const AnalysisSpecies& species, std::size_t axis, double low,
                                                   double high, std::int64_t bins);

/// The key `species` of a plasma.
Key<AnalysisOptions> plasma_species_key();

}  // namespace pergola

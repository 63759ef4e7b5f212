#pragma once
#include <cstdint>
#include <vector>

#include "analysis/profile.hpp"

namespace pergola {

/// The halo of Navarro, Frenk & White that is most likely to have the masses of shells.
struct NfwFit {
  double scale_density = 0, scale_radius = 0;  // not numbers where the shells do not tell
  double chi2 = 0;                             // Σ (n − μ)²/μ over the shells, n found where μ are expected
  std::int64_t shells = 0;                     // that were fitted; two numbers were found from them

  /// The mean density between two radii.
  double density(double inner, double outer) const;
};

/// From all shells but the innermost sphere up to the radius `to`. Counts are taken as Poisson's: of all densities the
/// one with the smallest Σ μ − n ln μ is taken (Cash 1979, ApJ 228, 939, eq. 5), so that shells with few particles
/// count rightly. Not numbers for fewer than three shells with particles, and where the likelihood has no top between a
/// tenth of the innermost and ten times the outermost radius.
NfwFit fit_nfw(const std::vector<ProfileShell>& shells, double to);

}  // namespace pergola

#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"

namespace pergola {

/// What lies between two radii.
struct ProfileShell {
  double inner = 0, outer = 0;
  std::int64_t particles = 0;
  double mass = 0, mass_within = 0;  // within `outer`
  double density = 0, density_error = 0;
  double radial_velocity = 0;                     // mean
  double tangential_velocity = 0;                 // the length of the mean of r × v/r: rotation about any axis
  double hubble_flow = 0;                         // mean of a H r, which is not in the velocities; 0: no expansion
  double sigma_radial = 0, sigma_tangential = 0;  // of one tangential component
  double anisotropy = 0;
};

/// Distances of particles from a centre, in ascending order: their number, that of number k, and the first that is not
/// below a length, infinity where there is none. Where ranks share them out all ask together.
struct SortedRadii {
  std::size_t count = 0;
  std::function<double(std::size_t)> at;
  std::function<double(double)> not_below;
};

/// Edges of `bins` shells, equal in the logarithm, from `low` to `high`, with 0 before them: the first shell is a
/// sphere. Both 0: from the radius within which a thousandth of the particles lie (at least ten of them, or half), but
/// that of one that is not at the centre, to that of 99.5 %. Throws Error(input) for a range without an inside.
std::vector<double> profile_edges(const SortedRadii& radii, std::int64_t bins, double low, double high);
std::vector<double> profile_edges(const SeenFromCenter& seen, std::int64_t bins, double low, double high);

/// Whether any of them has some.
bool has_mass(const Particles& particles);

/// Sums over the particles of a shell, weighted with mass where there is any.
struct ShellSums {
  std::int64_t count = 0;
  double mass = 0, mass2 = 0, weight = 0;
  double first[3] = {}, second[3] = {};  // moments of the radial, polar and azimuthal velocity
  double distance = 0;
  Vec3<double> turning{0, 0, 0};  // r × v/r

  void add(double m, double w, const Vec3<double>& place, const Vec3<double>& velocity);
  double mean(int k) const { return first[k] / weight; }
  double variance(int k) const { return std::max(0.0, second[k] / weight - mean(k) * mean(k)); }
};

/// Adds particles, nearest first, to the sums of the shells between the edges.
void add_to_shells(const AnalysisSnapshot& snapshot, const SystemCenter& center, const SeenFromCenter& seen,
                   const std::vector<double>& edges, bool by_mass, std::vector<ShellSums>& sums);

/// Shells about the centre. Velocities are those relative to the centre's, weighted with mass or, without `by_mass`,
/// each particle like any other; dispersions and the anisotropy are not numbers where fewer than two particles are, and
/// the density's error is that of counting.
std::vector<ProfileShell> profile_of(const AnalysisSnapshot& snapshot, const SystemCenter& center,
                                     const SeenFromCenter& seen, const std::vector<double>& edges, bool by_mass);
/// From their sums. Of the snapshot no particles are asked for.
std::vector<ProfileShell> shells_from(const AnalysisSnapshot& frame, const std::vector<ShellSums>& sums,
                                      const std::vector<double>& edges);

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

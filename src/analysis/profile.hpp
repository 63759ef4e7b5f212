#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"

// Radial profiles: shells about a centre, and fits of the halo of Navarro, Frenk & White to them. The analysis
// `profile` writes both; which centre or which groups it takes is in analysis/profiled_places.hpp.
// Shells are equal in the logarithm of the radius. Particles are added from the centre outward, so that the sums do
// not depend on the order of the file or on the number of ranks.
// The fit maximises the likelihood of the counts, with Poisson statistics, over the scale radius; the density then
// follows from the total number.
namespace pergola {

/// The particles between two radii.
struct ProfileShell {
  double inner = 0, outer = 0;
  std::int64_t particles = 0;
  double mass = 0, mass_within = 0;  // within `outer`
  double density = 0, density_error = 0;
  double radial_velocity = 0;                     // mean
  double tangential_velocity = 0;                 // the length of the mean of r × v/r: rotation about any axis
  double hubble_flow = 0;                         // mean of a H r, not part of the velocities; 0 without expansion
  double sigma_radial = 0, sigma_tangential = 0;  // tangential: of one component
  double anisotropy = 0;
};

/// Distances of particles from a centre, in ascending order: `at` gives distance k, `not_below` the first distance that
/// is at least a length (infinity without one). With distributed particles the calls are collective.
struct SortedRadii {
  std::size_t count = 0;
  std::function<double(std::size_t)> at;
  std::function<double(double)> not_below;
};

/// Edges of `bins` shells from `low` to `high`, with 0 before them: the first shell is a sphere. If both are 0: `low`
/// is the first distance above 0 that holds a thousandth of the particles (at least ten of them, or half); `high` holds
/// 99.5 %. Throws Error(input) for an empty range.
std::vector<double> profile_edges(const SortedRadii& radii, std::int64_t bins, double low, double high);
std::vector<double> profile_edges(const SeenFromCenter& seen, std::int64_t bins, double low, double high);

/// Whether any particle has mass.
bool has_mass(const Particles& particles);

/// Sums over the particles of a shell. Weights are masses, or 1 if all particles are massless.
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

/// Adds particles, nearest first, to the shells between the edges.
void add_to_shells(const AnalysisSnapshot& snapshot, const SystemCenter& center, const SeenFromCenter& seen,
                   const std::vector<double>& edges, bool by_mass, std::vector<ShellSums>& sums);

/// Shells about the centre. Velocities are relative to the centre's. Weights are masses if `by_mass`, else 1.
/// Dispersions and the anisotropy are not_known below two particles. The error of the density is the counting error.
std::vector<ProfileShell> profile_of(const AnalysisSnapshot& snapshot, const SystemCenter& center,
                                     const SeenFromCenter& seen, const std::vector<double>& edges, bool by_mass);
/// The same from sums. Only the header of the snapshot is used.
std::vector<ProfileShell> shells_from(const AnalysisSnapshot& frame, const std::vector<ShellSums>& sums,
                                      const std::vector<double>& edges);

/// The most likely halo of Navarro, Frenk & White for the masses of shells.
struct NfwFit {
  double scale_density = 0, scale_radius = 0;  // not_known without a fit
  double chi2 = 0;                             // Σ (n − μ)²/μ over the shells: n found, μ expected
  std::int64_t shells = 0;                     // number of fitted shells; the fit has two parameters

  /// The mean density between two radii.
  double density(double inner, double outer) const;
};

/// Fits all shells except the innermost sphere, up to the radius `to`. Counts are Poisson: the fit minimises Σ μ − n ln
/// μ (Cash 1979, ApJ 228, 939, eq. 5), so that shells with few particles count correctly. not_known with fewer than
/// three shells that hold particles, or if the likelihood has no maximum between a tenth of the innermost and ten times
/// the outermost radius.
NfwFit fit_nfw(const std::vector<ProfileShell>& shells, double to);

}  // namespace pergola

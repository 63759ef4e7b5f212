#pragma once
/// What a simulation resolves: the force of softened points and of meshes on a wave, and limits of trust from the
/// literature.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "physics/green.hpp"
#include "physics/numerics.hpp"
#include "physics/softening.hpp"

namespace pergola::physics {

/// The pull of a plane wave of mass with wave number k over Newton's, for points softened with ε, x = k ε.
/// Plummer's 1/√(r² + ε²) has the transform 4π/k² times x K₁(x); the spline spreads a mass over ρ ∝ 1 − 6u² + 6u³ for
/// u = r/h < ½, 2 (1 − u)³ up to 1, with h = 2.8 ε (Springel 2005, section 2.1), and the factor is the transform of ρ.
inline double softened_wave_factor(SofteningKernel kernel, double x) {
  if (!(x > 0)) return 1;
  if (kernel == SofteningKernel::plummer) return x * std::cyl_bessel_k(1.0, x);
  const double y = spline_support * x;
  const auto shell = [y](double u) {
    const double density = u < 0.5 ? 1 - 6 * u * u * (1 - u) : 2 * (1 - u) * (1 - u) * (1 - u);
    return 32 * density * u * std::sin(y * u) / y;  // ∫ 32 ρ u² du = 1
  };
  return gauss_legendre(shell, 0, 0.5) + gauss_legendre(shell, 0.5, 1);
}

/// The same for a mesh with cells of side h and a wave along an axis, x = k h < π: mass and force through the window of
/// an assignment of this order (0: divided out), the Laplacian of seven points or k², and a difference of two or four
/// points for the force (0 points: i k). Hockney & Eastwood 1988, sections 5-6 and 6-3.
inline double mesh_wave_factor(double x, int assignment_order, bool discrete_laplacian, int gradient_points) {
  const double window = assignment_window(x, 1, assignment_order);
  const double green = discrete_laplacian ? spectral_laplacian_eigenvalue(x) / discrete_laplacian_eigenvalue(x, 1) : 1;
  const double gradient = gradient_points == 2   ? std::sin(x) / x
                          : gradient_points == 4 ? (8 * std::sin(x) - std::sin(2 * x)) / (6 * x)
                                                 : 1;
  return window * window * green * gradient;
}

/// The x up to which a factor, 1 at 0 and departing monotonically, stays within `part` of 1; at most `most`.
template <class Factor>
double departs_at(const Factor& factor, double part, double most) {
  double low = 0, high = most;
  if (std::abs(factor(most) - 1) <= part) return most;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (std::abs(factor(middle) - 1) <= part ? low : high) = middle;
  }
  return low;
}

/// The smallest wave that a lattice of particles samples, π over their mean distance.
inline double particle_nyquist(double spacing) { return std::numbers::pi / spacing; }

/// The part of it up to which the power spectrum is that of the field to 1 %: a half. Heitmann et al. 2010, ApJ 715,
/// 104, section 5.
inline constexpr double trusted_part_of_nyquist = 0.5;

/// Particles of a halo whose mass is trusted: 1,000 for mass functions to a per cent, with a start 10 to 50 expansions
/// before (Reed et al. 2013, MNRAS 431, 1866). A tenth of that for ten per cent: Warren et al. 2006, ApJ 646, 881, eq.
/// 2, N (1 − N^−0.6) of N.
inline constexpr double trusted_halo_particles = 1000, counted_halo_particles = 100;

/// Particles of a halo of `overdensity` mean densities whose radius is the length below which forces are softened, in
/// mean distances of particles. Halos of fewer particles do not form. Lukić et al. 2007, ApJ 671, 1160, eq. 21.
inline double halo_particles_of_force(double softened_length, double overdensity) {
  return overdensity * 4 * std::numbers::pi / 3 * softened_length * softened_length * softened_length;
}

/// The least expansions from the start of a run to its halos, after which transients of the start have decayed. Reed et
/// al. 2013 for second order; a first-order start needs five times as many, because its transients fall as 1/a only.
/// Crocce, Pueblas & Scoccimarro 2006, MNRAS 373, 369.
inline double least_expansions(int order) { return order > 1 ? 10 : 50; }

/// The least side of a box, in Mpc/h, whose missing waves change its power spectrum by less than 1 %.
/// Schneider et al. 2016, JCAP 04, 047.
inline constexpr double representative_box_mpc_h = 500;

/// The largest power per logarithm of k, k³ P/(2π²), of waves that are compared with linear theory; the next order is
/// of this relative size. Bernardeau et al. 2002, Phys. Rep. 367, 1, section 4.
inline constexpr double linear_power_per_log = 0.3;
/// The relative loss of power of waves that grow by `growth` if the pull is too weak by a small `part`: they grow as
/// a^((√(1 + 24 (1 − part)) − 1)/4) in a universe of matter. Peebles 1980, section 11.
inline double power_lost_to_weak_pull(double part, double growth) { return 1.2 * part * std::log(growth); }

/// The relative addition of the next order to the power of waves, over their power per logarithm of k: about at most.
inline constexpr double next_order_part = 0.3;

/// The scatter of the growth of the mean power of `modes` waves (k and −k are two) by their coupling to other waves.
/// Those of half the length count most; `power_per_log_at_2k` is theirs. The root is that of second order, P₂₂/(P
/// modes). The factor was measured in 30 boxes of 32³ particles of 50 to 1000 Mpc/h from redshift 49 to 0: 0.15 in the
/// largest, 0.29 in the smallest.
inline double coupling_scatter(double power_per_log_at_2k, double modes) {
  return 0.3 * std::sqrt(power_per_log_at_2k / modes);
}

}  // namespace pergola::physics

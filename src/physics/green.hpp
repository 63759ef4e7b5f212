#pragma once
/// Waves on a mesh: wave numbers, eigenvalues of Laplacians, windows and filters, and Green functions in periodic and
/// in open space.
#include <cmath>
#include <functional>

#include "base/host_device.hpp"

namespace pergola::physics {

/// 2π mode / side: the wave number of `mode` waves on an axis of length `side`.
PERGOLA_HD double wave_number(double mode, double side) {
  constexpr double two_pi = 6.283185307179586476925286766559;
  return two_pi * mode / side;
}

/// The wave number of mode m of n on an axis of the given length; m = 0 … n/2 are not negative, the others stand for
/// m − n.
PERGOLA_HD double mode_wave_number(int m, int n, double side) { return wave_number(2 * m <= n ? m : m - n, side); }

/// Eigenvalue of the three-point second derivative on one axis, −4 sin²(k Δx / 2) / Δx²; that of the seven-point
/// Laplacian is the sum over the axes. Aubert, Amini & David 2009, eqs. 6 and 7.
PERGOLA_HD double discrete_laplacian_eigenvalue(double k, double spacing) {
  const double s = std::sin(0.5 * k * spacing);
  return -4.0 * s * s / (spacing * spacing);
}

/// Eigenvalue of the second derivative itself, −k².
PERGOLA_HD double spectral_laplacian_eigenvalue(double k) { return -k * k; }

/// Transform of the assignment function of the given order (1 NGP, 2 CIC, 3 TSC) on one axis, normalised to 1 at k = 0:
/// (sin(k Δx / 2) / (k Δx / 2))^order. Hockney & Eastwood 1988, chapter 5.
PERGOLA_HD double assignment_window(double k, double spacing, int order) {
  const double half = 0.5 * k * spacing;
  const double sinc = half == 0 ? 1.0 : std::sin(half) / half;
  double window = 1;
  for (int i = 0; i < order; ++i) window *= sinc;
  return window;
}

/// Gaussian filter exp(−(k a)² / 2) on one axis, to the power `times` (2 if it acts on charge and force): the transform
/// of a cloud of dispersion a. Birdsall & Langdon 1985, chapter 4 (finite-size particles).
PERGOLA_HD double gaussian_window(double k, double a, int times = 1) { return std::exp(-0.5 * times * k * k * a * a); }

/// The factor from a mode of the density to that of the potential, for ∇²φ = ρ; zero for the mean. For −∇²φ = ρ, a
/// plasma's equation, the eigenvalue is k². Aubert, Amini & David 2009, eq. 7.
template <class R, class Quotient = std::divides<R>>
PERGOLA_HD R green_factor(R eigenvalue, R window, const Quotient& quotient = {}) {
  return eigenvalue == R(0) ? R(0) : quotient(window, eigenvalue);
}

/// ∫ 1/r over a box of sides a, b, c about its centre: the potential of a homogeneous cuboid there, Waldvogel 1976,
/// ZAMP 27, 867. 2.3800774 h² for a cube of side h.
PERGOLA_HD double inverse_distance_integral(double a, double b, double c) {
  const double x = 0.5 * a, y = 0.5 * b, z = 0.5 * c;
  const double r = std::sqrt(x * x + y * y + z * z);
  const double edges = y * z * std::asinh(x / std::sqrt(y * y + z * z)) +
                       x * z * std::asinh(y / std::sqrt(x * x + z * z)) +
                       x * y * std::asinh(z / std::sqrt(x * x + y * y));
  const double faces = 0.5 * (x * x * std::atan(y * z / (x * r)) + y * y * std::atan(x * z / (y * r)) +
                              z * z * std::atan(x * y / (z * r)));
  return 8.0 * (edges - faces);
}

/// Green function of ∇²φ = ρ in open space for the content of one cell, −V / (4π r): the potential at a distance of
/// (i, j, k) cells of sides hx, hy, hz per density. In the cell itself the mean over its volume replaces 1/r; the
/// potential of a smooth density is then correct to O(h²). Hockney & Eastwood 1988, section 6-5-4.
PERGOLA_HD double open_space_green(int i, int j, int k, double hx, double hy, double hz) {
  constexpr double four_pi = 12.566370614359172953850573533118;
  if (i == 0 && j == 0 && k == 0) return -inverse_distance_integral(hx, hy, hz) / four_pi;
  const double x = i * hx, y = j * hy, z = k * hz;
  return -hx * hy * hz / (four_pi * std::sqrt(x * x + y * y + z * z));
}

/// The same for the potential of a Gaussian cloud of dispersion a, −V erf(r / (√2 a)) / (4π r): the long range of a
/// split law in open space, which is smooth at r = 0. For Plummer's law √(r² + ε²) replaces r.
PERGOLA_HD double open_space_cloud_green(double x, double y, double z, double cell_volume, double a,
                                         double epsilon = 0) {
  constexpr double four_pi = 12.566370614359172953850573533118;
  const double r = std::sqrt(x * x + y * y + z * z + epsilon * epsilon), u = r / (std::sqrt(2.0) * a);
  const double limit = 2 / (std::sqrt(0.25 * four_pi) * std::sqrt(2.0) * a);  // of erf(u) / r
  return -cell_volume / four_pi * (u < 1e-4 ? limit * (1 - u * u / 3) : std::erf(u) / r);
}

/// Particles at least this number of cells from the faces of a padded mesh are not affected by rounded_distance().
inline constexpr int rounded_margin = 4;

/// Replaces a distance of d cells, 0 ≤ d ≤ n, on an axis of 2n cells, along which distances fall again beyond n: it is
/// n − |n − d| with its corner rounded by a Gaussian. A Green function of it has no kink and can be differentiated and
/// sharpened in Fourier space. Up to n − 2 rounded_margin it is d to 2e-7 cells.
PERGOLA_HD double rounded_distance(int d, int n) {
  constexpr double width = 0.4 * rounded_margin;  // of the Gaussian: the margins are five of them
  const double t = n - d, u = t / (std::sqrt(2.0) * width);
  return n - t * std::erf(u) - width * std::sqrt(2 / 3.14159265358979323846) * std::exp(-u * u);
}

}  // namespace pergola::physics

#pragma once
/// The split of gravity into a long range, which a mesh carries, and a short range, which pairs and cells carry.
#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/numerics.hpp"
#include "physics/pair.hpp"

namespace pergola {

/// Terms of the polynomials of a split law, for numbers of type T: up to α r = 4 they are good to a few units of the
/// last place of the law at r = 0.
template <class T>
inline constexpr int split_terms = sizeof(T) == 4 ? 15 : 25;

/// Fewer terms that suffice for α r_c below the reach beside them: their error is below 3e-5 of Newton's law, where the
/// cut-off omits more than 1e-4 of it.
template <class T>
inline constexpr int few_split_terms = sizeof(T) == 4 ? 11 : 25;
template <class T>
inline constexpr int fewest_split_terms = sizeof(T) == 4 ? 9 : 25;
inline constexpr double few_split_terms_reach = 3.25, fewest_split_terms_reach = 2.67;

/// The same for Boys' functions up to α r = 1.
template <class T>
inline constexpr int near_split_terms = sizeof(T) == 4 ? 8 : 14;

/// The long-range law of the split below within a cut-off radius, as polynomials in z = 2 (r/r_c)² − 1: smooth
/// functions of r², without roots and exponentials. Expansions reach farther and have polynomials of their own; their
/// r² includes the ε² of the long-range law. Lengths in any unit.
template <class T>
struct SplitLaw {
  T cut_off2 = 0;                      // r_c²
  T softening2 = 0;                    // ε² of the long-range law
  T per_square = 0;                    // z = r² per_square − 1
  int terms = 0;                       // of the next two: one of the three numbers above, those beyond are 0
  T attraction[split_terms<T>] = {};   // acceleration = attraction d
  T depth[split_terms<T>] = {};        // potential = −depth
  T alpha2 = 0;                        // α²
  T strength = 0;                      // 2α/√π
  T near2 = 0;                         // 1/α², the square up to which Boys' functions are used
  T boys[near_split_terms<T>] = {};    // F_order in z = 2 α² r² − 1
  T expansion_per_square = 0;          // z = r² expansion_per_square − 1 for
  T exponential[split_terms<T>] = {};  // exp(−α² r²/8)
  T scaled_per_length = 0;             // z = r scaled_per_length + scaled_first for
  T scaled_first = 0;
  T scaled[split_terms<T>] = {};  // exp(α² r²) erfc(α r)
};

namespace physics {

/// Expansions of the short-range law hold up to this number of cut-off radii: the far side of a cell may lie beyond
/// one.
inline constexpr double expansion_reach = 1.5;

// The Gaussian split of gravity into a long range, which a mesh carries, and a short range (Hockney & Eastwood 1988,
// chapter 8; Bagla 2002; Springel 2005, section 2.2). The long-range law of a unit mass is that of a Gaussian cloud,
//   potential −erf(α r) / r,  α = 1 / (2 r_s),    Green factor −4π/k² exp(−k² r_s²),
// and the short-range law is the softened law less that, for any softening. Plummer's softening has no end: its long
// range is −erf(α s) / s, s² = r² + ε², so that the short range, erfc(α s) / s, ends as without it (below).

/// The factor of the Green factor of ∇²φ = 4πG ρ; the same as gaussian_window(k, split_smoothing(r_s)).
inline double split_window(double k, double split) { return std::exp(-k * k * split * split); }
/// The dispersion a of the cloud: exp(−k² r_s²) = exp(−(k a)²/2).
inline double split_smoothing(double split) { return std::sqrt(2.0) * split; }

/// Boys' function F_m(t) = ∫₀¹ s^(2m) exp(−t s²) ds, by its series e^{−t} Σ (2t)^k / ((2m+1) … (2m+2k+1)); for t up to
/// some 100. The radial derivatives of the long-range law are ((1/r) d/dr)^l erf(α r)/r = 2α/√π (−2α²)^l F_l(α² r²):
/// McMurchie & Davidson 1978, J. Comp. Phys. 26, 218.
inline double boys(int m, double t) {
  double term = 1.0 / (2 * m + 1), sum = 0;
  for (int k = 1; term > 1e-18 * sum; ++k) {
    sum += term;
    term *= 2 * t / (2 * m + 1 + 2 * k);
  }
  return std::exp(-t) * sum;
}

/// −φ of the long-range law of a unit mass at its own place, without G: 1 / (√π r_s) without softening.
inline double split_self_potential(double split, double softening = 0) {
  const double ratio = softening / (2 * split);
  return boys(0, ratio * ratio) / (std::sqrt(3.14159265358979323846) * split);
}
/// The mean over a box of volume V of −φ of the short-range law of a unit mass without softening, without G:
/// ∫ erfc(α r)/r / V = 4π r_s² / V. A mesh has a potential with mean zero; with this the whole has it.
inline double split_mean_potential(double split, double volume) {
  return 4 * 3.14159265358979323846 * split * split / volume;
}

/// Coefficients of 1, z, z², … of the polynomial of `terms` terms (the others 0) that agrees with f(t) in as many nodes
/// on 0 ≤ t ≤ `last`, z = 2t/last − 1. Nodes are those of Chebyshev's T_n(z), for uniform errors, or with `far` those
/// of V_n(z) = T_2n+1(u)/u, z = 2u² − 1, for errors that are uniform after multiplication with √t.
template <bool far, class T, int n, class Function>
void fit_split_polynomial(double last, const Function& f, T (&coefficient)[n], int terms = n) {
  constexpr double pi = 3.14159265358979323846;
  const double nodes = far ? terms + 0.5 : terms;
  double sum[n] = {}, before[n] = {}, now[n] = {}, next[n];
  now[0] = 1;  // the powers in T_k or V_k, k = 0, 1, …
  if (far) before[0] = 1;
  for (int k = 0; k < terms; ++k) {
    double c = 0;
    for (int i = 0; i < terms; ++i) {
      const double angle = pi * (i + 0.5) / nodes, z = std::cos(angle), u2 = 0.5 * (1 + z);
      c += f(last * u2) * (far ? std::sqrt(u2) * std::cos((k + 0.5) * angle) : std::cos(k * angle));
    }
    c *= (far || k > 0 ? 2.0 : 1.0) / nodes;
    for (int p = 0; p <= k; ++p) sum[p] += c * now[p];
    for (int p = 0; p < n; ++p) {
      next[p] = (p > 0 ? (!far && k == 0 ? 1 : 2) * now[p - 1] : 0) - (!far && k == 0 ? 0 : before[p]);
      before[p] = now[p];
    }
    for (int p = 0; p < n; ++p) now[p] = next[p];
  }
  for (int p = 0; p < n; ++p) coefficient[p] = static_cast<T>(sum[p]);
}

/// The polynomials of expansions of the given order, up to a distance `last`, α last > 1.
template <class T>
void fit_expansion_law(double alpha, double last, int order, SplitLaw<T>& law) {
  const double t = alpha * alpha * last * last, beyond = alpha * last - 1;
  law.near2 = static_cast<T>(1 / (alpha * alpha));
  law.expansion_per_square = static_cast<T>(2 / (last * last));
  law.scaled_per_length = static_cast<T>(2 * alpha / beyond);
  law.scaled_first = static_cast<T>(-1 - 2 / beyond);
  fit_split_polynomial<false>(
      1.0, [&](double near) { return boys(order, near); }, law.boys);
  fit_split_polynomial<false>(
      t, [](double far) { return std::exp(-far / 8); }, law.exponential);
  fit_split_polynomial<false>(
      beyond, [](double far) { return std::exp((1 + far) * (1 + far)) * std::erfc(1 + far); }, law.scaled);
}

/// The law for expansions of the given order; `split` is r_s, `cut_off` r_c and `softening` ε of the long range.
template <class T>
SplitLaw<T> make_split_law(double split, double cut_off, int order, double softening = 0) {
  const double alpha = 1 / (2 * split), last = alpha * alpha * cut_off * cut_off;
  const double more = alpha * alpha * softening * softening, far = expansion_reach * cut_off;
  const double strength = 2 * alpha / std::sqrt(3.14159265358979323846);
  SplitLaw<T> law;
  law.cut_off2 = static_cast<T>(cut_off * cut_off);
  law.softening2 = static_cast<T>(softening * softening);
  law.per_square = static_cast<T>(2 / (cut_off * cut_off));
  law.alpha2 = static_cast<T>(alpha * alpha);
  law.strength = static_cast<T>(strength);
  law.terms = alpha * cut_off < fewest_split_terms_reach ? fewest_split_terms<T>
              : alpha * cut_off < few_split_terms_reach  ? few_split_terms<T>
                                                         : split_terms<T>;
  fit_split_polynomial<true>(
      last, [&](double t) { return strength * 2 * alpha * alpha * boys(1, t + more); }, law.attraction, law.terms);
  fit_split_polynomial<true>(
      last, [&](double t) { return strength * boys(0, t + more); }, law.depth, law.terms);
  fit_expansion_law(alpha, std::sqrt(far * far + softening * softening), order, law);
  return law;
}

// The split of Plummer's law, 1/s with s² = r² + ε². As 1/s = 2/√π ∫₀^∞ exp(−u² s²) du, the part up to u = α is the
// long range, erf(α s)/s. The short range is erfc(α s)/s, which ends as fast as without softening. With the long range
// of Newton's law the short range would keep 3/2 (ε/r)² of the force at any distance.

/// The longest ε in units of r_s with an error of softened_split_factor() of 1e-4; the error grows as the sixth power.
inline constexpr double longest_split_softening = 0.5;

/// The factor of the Green factor of the unsoftened long range, −4π/k² e^{−x}, x = k² r_s², for an ε with
/// q = (ε / 2r_s)²: x e^x ∫₁^∞ exp(−x v − q/v) dv = 1 − q h + q²/2 x (1 − h) − …, where h = x e^x E₁(x) is fitted to
/// 1.4e-4. x > 0.
template <class R>
PERGOLA_HD R softened_split_factor(R x, R q) {
  const R w = x / (1 + x);
  const R logarithm = x * std::log(1 + R(0.561459484) / x);
  const R rest = std::fma(std::fma(std::fma(R(0.295762612), w, R(-0.652695481)), w, R(0.745576983)), w, R(-0.47261076));
  const R h = std::fma(logarithm, std::fma(R(0.930362003), w, R(1)), w * w * rest);
  return std::fma(-q, std::fma(R(-0.5) * q * x, 1 - h, h), R(1));
}

/// The same for waves on a mesh, by k² in some unit.
template <class R>
struct SoftenedSplit {
  R per_square = 0, q = 0;  // x = k² per_square; q = 0: no softening
  PERGOLA_HD R factor(R k2) const { return q > 0 ? softened_split_factor(k2 * per_square, q) : R(1); }
};

/// ∫ erf(α r)/r − erf(α s)/s over a box about its centre, divided by its volume: the increase of the mean potential of
/// a unit mass, without G, if its nearest image is softened.
inline double softened_mean_potential(double split, double softening, const Vec3<double>& side) {
  if (!(softening > 0)) return 0;
  constexpr double pi = 3.14159265358979323846;
  const auto wave = [&](double u) {
    const auto part = [&](double length) { return std::sqrt(pi) / (u * length) * std::erf(0.5 * u * length); };
    return -std::expm1(-u * u * softening * softening) * part(side.x) * part(side.y) * part(side.z);
  };
  return 2 / std::sqrt(pi) * integrate(wave, 0, 1 / (2 * split), 1e-9);
}

#include "physics/split.inl"

}  // namespace physics
}  // namespace pergola

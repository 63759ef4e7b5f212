#pragma once
/// Lagrangian perturbation theory to third order: displacements and their sources, wave by wave and place by place.
#include <array>
#include <complex>
#include <numbers>

#include "base/host_device.hpp"

namespace pergola::physics {

//   x = q − D1 ∇φ1 + D2 ∇φ2 − D3a ∇φ3a − D3b ∇φ3b − D3c ∇×A3c
// with ∇²φ1 = δ, ∇²φ2 = Σ_{i<j} (φ1,ii φ1,jj − φ1,ij²), ∇²φ3a = det φ1,ij, ∇²φ3b = ½ Σ_ij (φ1,ii φ2,jj − φ1,ij φ2,ij)
// and ∇²A3c = Σ_l ∇φ2,l × ∇φ1,l. Catelan 1995, MNRAS 276, 115; Scoccimarro 1998, MNRAS 299, 1097, appendix D; Michaux,
// Hahn, Rampf & Angulo 2021, MNRAS 500, 663, section 2, whose φ(1) is −φ1. Growth factors: cosmology.hpp. For single
// waves exp(i k·q), k in any unit.

/// −∇φ1 of the wave δ along the axis with wave number k_axis: i k δ/k². The factor is that of i δ.
PERGOLA_HD double first_factor(double k_axis, double k2) { return k_axis / k2; }
inline std::complex<double> first_displacement(double k_axis, double k2, std::complex<double> delta) {
  return std::complex<double>(0, first_factor(k_axis, k2)) * delta;
}

/// φ,ij of a wave of ∇²φ: k_i k_j S/k².
PERGOLA_HD double tidal_factor(double k_i, double k_j, double k2) { return k_i * k_j / k2; }
inline std::complex<double> tidal_wave(double k_i, double k_j, double k2, std::complex<double> source) {
  return tidal_factor(k_i, k_j, k2) * source;
}

/// ∇φ2 of a wave of its source: −i k S/k². The factor is that of i S.
PERGOLA_HD double second_factor(double k_axis, double k2) { return -k_axis / k2; }
inline std::complex<double> second_displacement(double k_axis, double k2, std::complex<double> source) {
  return std::complex<double>(0, second_factor(k_axis, k2)) * source;
}

/// −∇φ3a or −∇φ3b of a wave of its source: i k S/k².
inline std::complex<double> third_displacement(double k_axis, double k2, std::complex<double> source) {
  return std::complex<double>(0, k_axis / k2) * source;
}

/// One component of −∇×A3c: of the waves S of ∇²A3c along the next two axes, i (k_next S_after − k_after S_next)/k².
inline std::complex<double> transverse_displacement(double k_next, double k_after, double k2,
                                                    std::complex<double> source_next,
                                                    std::complex<double> source_after) {
  return std::complex<double>(0, 1 / k2) * (k_next * source_after - k_after * source_next);
}

/// The displacement that removes a linear density contrast, from the acceleration −∇φ with ∇²φ = 4πG ρ̄ δ: against it,
/// by 1/(4πG ρ̄), for the divergence of displacements is −δ. Zel'dovich 1970.
inline double undoing_displacement(double acceleration, double gravitational_constant, double mean_density) {
  return -acceleration / (4 * std::numbers::pi * gravitational_constant * mean_density);
}

/// φ,ij at a place.
struct TidalTensor {
  double xx, yy, zz, xy, xz, yz;
};

/// ∇²φ2: from the diagonal of φ1,ij, less the squares of the rest.
PERGOLA_HD double second_order_diagonal(double xx, double yy, double zz) { return xx * yy + (xx + yy) * zz; }
PERGOLA_HD double second_order_rest(double off_diagonal) { return off_diagonal * off_diagonal; }
inline double second_order_source(const TidalTensor& p) {
  return second_order_diagonal(p.xx, p.yy, p.zz) - second_order_rest(p.xy) -
         (second_order_rest(p.xz) + second_order_rest(p.yz));
}

/// ∇²φ3a, ∇²φ3b and ∇²A3c.
struct ThirdOrderSources {
  double a, b;
  std::array<double, 3> c;
};
inline ThirdOrderSources third_order_sources(const TidalTensor& p, const TidalTensor& s) {
  ThirdOrderSources result;
  result.a =
      p.xx * (p.yy * p.zz - p.yz * p.yz) - p.xy * (p.xy * p.zz - p.yz * p.xz) + p.xz * (p.xy * p.yz - p.yy * p.xz);
  result.b = ((p.xx * (s.yy + s.zz) + p.yy * (s.xx + s.zz) + p.zz * (s.xx + s.yy)) / 2) -
             (p.xy * s.xy + p.xz * s.xz + p.yz * s.yz);
  // (∇φ2,l × ∇φ1,l)_x = φ2,ly φ1,lz − φ2,lz φ1,ly, summed over l; y and z by turning the axes.
  result.c = {s.xy * p.xz + s.yy * p.yz + s.yz * p.zz - (s.xz * p.xy + s.yz * p.yy + s.zz * p.yz),
              s.xz * p.xx + s.yz * p.xy + s.zz * p.xz - (s.xx * p.xz + s.xy * p.yz + s.xz * p.zz),
              s.xx * p.xy + s.xy * p.yy + s.xz * p.yz - (s.xy * p.xx + s.yy * p.xy + s.yz * p.xz)};
  return result;
}

}  // namespace pergola::physics

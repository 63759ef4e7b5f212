#pragma once
/// Fields outside a mass distribution: multipoles to the hexadecapole, and of a point.

#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

/// Multipole expansion up to the hexadecapole of the potential outside a mass distribution:
/// ∫ρ/|r − x| = Σ_l ⟨|x|^l |r|^l P_l(cos)⟩ / |r|^(2l+1), Jackson 1999, section 4.1, in Cartesian moments.
inline constexpr int multipole_order = 4;
/// Moments x^a y^b z^c with a + b + c ≤ 4.
inline constexpr int moment_count = 35;

PERGOLA_HD constexpr int moment_index(int a, int b, int c) {
  const int n = a + b + c;
  return n * (n + 1) * (n + 2) / 6 + (b + c) * (b + c + 1) / 2 + c;
}

/// Calls body(a, b, c) for all exponents with a + b + c = n.
template <class Body>
PERGOLA_HD void each_exponent(int n, const Body& body) {
  for (int bc = 0; bc <= n; ++bc)
    for (int c = 0; c <= bc; ++c) body(n - bc, bc - c, c);
}

PERGOLA_HD constexpr double factorial(int n) {
  double product = 1;
  for (int k = 2; k <= n; ++k) product *= k;
  return product;
}
PERGOLA_HD constexpr double multinomial(int a, int b, int c) {
  return factorial(a + b + c) / (factorial(a) * factorial(b) * factorial(c));
}
PERGOLA_HD constexpr double binomial(int n, int k) { return multinomial(k, n - k, 0); }

/// The moment a, b, c about `centre` of a distribution with the given moments about the origin.
PERGOLA_HD double central_moment(const double* moments, Vec3<double> centre, int a, int b, int c) {
  double sum = 0, px = 1;
  for (int i = a; i >= 0; --i, px *= -centre.x) {
    double py = px;
    for (int j = b; j >= 0; --j, py *= -centre.y) {
      double pz = py;
      for (int k = c; k >= 0; --k, pz *= -centre.z)
        sum += binomial(a, i) * binomial(b, j) * binomial(c, k) * pz * moments[moment_index(i, j, k)];
    }
  }
  return sum;
}

/// The factor of x^a y^b z^c / r^(2l+1), l = a + b + c, in the expansion: that of
/// Σ_k (−1)^k (2l−2k)! / (2^l k! (l−k)! (l−2k)!) (r·x)^(l−2k) (r² x²)^k, averaged over the moments of x.
PERGOLA_HD double multipole_coefficient(const double* moments, int a, int b, int c) {
  const int l = a + b + c;
  double sum = 0;
  for (int k = 0; 2 * k <= l; ++k) {
    const double legendre =
        (k % 2 ? -1 : 1) * factorial(2 * (l - k)) / ((1 << l) * factorial(k) * factorial(l - k) * factorial(l - 2 * k));
    each_exponent(k, [&](int i, int j, int m) {  // the part of (r²)^k
      if (2 * i > a || 2 * j > b || 2 * m > c) return;
      const int ra = a - 2 * i, rb = b - 2 * j, rc = c - 2 * m;
      double mean = 0;  // ⟨x^ra y^rb z^rc (x²)^k⟩
      each_exponent(k, [&](int p, int q, int s) {
        mean += multinomial(p, q, s) * moments[moment_index(ra + 2 * p, rb + 2 * q, rc + 2 * s)];
      });
      sum += legendre * multinomial(i, j, m) * multinomial(ra, rb, rc) * mean;
    });
  }
  return sum;
}

/// The expansion of Σ m/|r − x| about the centre of mass of masses of one sign.
struct Multipole {
  Vec3<double> centre{0, 0, 0};
  double coefficient[moment_count] = {};

  /// The centre of the expansion: the centre of mass, or the origin if there is no mass.
  PERGOLA_HD static Vec3<double> centre_of(const double* moments) {
    const double mass = moments[0];
    if (mass == 0) return {0, 0, 0};
    return {moments[moment_index(1, 0, 0)] / mass, moments[moment_index(0, 1, 0)] / mass,
            moments[moment_index(0, 0, 1)] / mass};
  }

  PERGOLA_HD double operator()(double x, double y, double z) const {
    const double dx = x - centre.x, dy = y - centre.y, dz = z - centre.z;
    const double px[5] = {1, dx, dx * dx, dx * dx * dx, dx * dx * dx * dx};
    const double py[5] = {1, dy, dy * dy, dy * dy * dy, dy * dy * dy * dy};
    const double pz[5] = {1, dz, dz * dz, dz * dz * dz, dz * dz * dz * dz};
    const double inverse2 = 1 / (px[2] + py[2] + pz[2]);
    double power = std::sqrt(inverse2), sum = 0;
    for (int l = 0; l <= multipole_order; ++l, power *= inverse2) {
      double polynomial = 0;
      for (int bc = 0; bc <= l; ++bc)
        for (int c = 0; c <= bc; ++c)
          polynomial += coefficient[moment_index(l - bc, bc - c, c)] * px[l - bc] * py[bc - c] * pz[c];
      sum += polynomial * power;
    }
    return sum;
  }
};

template <class R>
struct PointField {
  Vec3<R> acceleration;
  R potential;
};

/// Field at a separation d from a point of GM: −GM d/r³ and −GM/r; in two dimensions, where ∇²φ = 4πGρ makes the point
/// a line, −2GM d/r² and 2GM ln r. d ≠ 0; all zero for GM = 0.
template <int dimensions, class R>
PERGOLA_HD PointField<R> point_field(const Vec3<R>& d, R gravitating_mass) {
  static_assert(dimensions == 2 || dimensions == 3);
  if (gravitating_mass == R(0)) return {{R(0), R(0), R(0)}, R(0)};
  if constexpr (dimensions == 3) {
    const R inverse = R(1) / std::sqrt(d.x * d.x + d.y * d.y + d.z * d.z);
    const R factor = -gravitating_mass * inverse * inverse * inverse;
    return {{factor * d.x, factor * d.y, factor * d.z}, -gravitating_mass * inverse};
  } else {
    const R square = d.x * d.x + d.y * d.y, factor = R(-2) * gravitating_mass / square;
    return {{factor * d.x, factor * d.y, R(0)}, gravitating_mass * std::log(square)};
  }
}

}  // namespace pergola::physics

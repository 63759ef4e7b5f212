#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/dual.hpp"

namespace pergola::physics {

// Of plain numbers; those of dual numbers stand beside them.
using std::log1p;
using std::sqrt;

/// Static potentials about a fixed centre. Equations of Binney & Tremaine 2008, "Galactic Dynamics" (BT), section 2.
enum class ExternalKind : int {
  point,
  plummer,
  hernquist,
  isochrone,
  nfw,
  logarithmic,
  miyamoto_nagai,
  homogeneous,
  cosmological_constant
};

/// A potential with its numbers. `strength`: G M; for the logarithmic halo the square of its speed; for a homogeneous
/// background the inward acceleration over distance. `radius`: its length (for a point the softening). `height`: the
/// second length of Miyamoto & Nagai's disc.
template <class R>
struct ExternalLaw {
  ExternalKind kind;
  R strength, radius, height;
  Vec3<R> centre;
};

template <class R>
struct ExternalField {
  Vec3<R> acceleration;
  R potential;  // per unit mass
};

/// The field of a sphere: the potential at a distance, and f in the acceleration −f d.
template <class R>
struct CentralField {
  R potential, factor;
};

/// −G M/√(r² + b²). BT eq. 2.44a; also a softened point.
template <class R>
PERGOLA_HD CentralField<R> plummer_field(R gm, R b, R r2) {
  const R inverse = R(1) / sqrt(r2 + b * b);
  return {-gm * inverse, gm * inverse * inverse * inverse};
}

/// −G M/(r + a). Hernquist 1990; BT eq. 2.67. The force at the centre is zero.
template <class R>
PERGOLA_HD CentralField<R> hernquist_field(R gm, R a, R r2) {
  const R r = sqrt(r2), inverse = R(1) / (r + a);
  return {-gm * inverse, r > R(0) ? gm * inverse * inverse / r : R(0)};
}

/// −G M/(b + √(b² + r²)). Hénon 1959; BT eq. 2.47.
template <class R>
PERGOLA_HD CentralField<R> isochrone_field(R gm, R b, R r2) {
  const R s = sqrt(b * b + r2), inverse = R(1) / (b + s);
  return {-gm * inverse, gm * inverse * inverse / s};
}

/// ln(1 + q) − q/(1 + q), the mass of the Navarro, Frenk & White profile within q scale radii over 4π ρ₀ a³. By its
/// series Σ (−1)^k (k − 1)/k q^k near the centre, where the difference would lose its digits.
template <class R>
PERGOLA_HD R nfw_mass(R q) {
  if (q > R(0.0625)) return log1p(q) - q / (R(1) + q);
  R sum = R(0);
  for (int k = 15; k >= 2; --k) sum = R(k - 1) / R(k) - q * sum;
  return q * q * sum;
}

/// −G M ln(1 + r/a)/r with M = 4π ρ₀ a³. Navarro, Frenk & White 1996; BT eq. 2.67. The force at the centre is zero.
template <class R>
PERGOLA_HD CentralField<R> nfw_field(R gm, R a, R r2) {
  const R r = sqrt(r2), q = r / a;
  if (!(q > R(0))) return {-gm / a, R(0)};
  return {-gm * log1p(q) / r, gm * nfw_mass(q) / (r * r2)};
}

/// (v²/2) ln(1 + r²/a²): the circular speed rises to v far beyond the core radius a. BT eq. 2.71a for a round halo,
/// zero at its centre.
template <class R>
PERGOLA_HD CentralField<R> logarithmic_field(R speed2, R a, R r2) {
  return {R(0.5) * speed2 * log1p(r2 / (a * a)), speed2 / (a * a + r2)};
}

/// Inward acceleration over distance in uniform matter, 4π G ρ/3. BT eq. 2.40.
template <class R>
PERGOLA_HD R homogeneous_strength(R gravitational_constant, R density) {
  return R(4) / R(3) * std::numbers::pi_v<R> * gravitational_constant * density;
}
/// The same for a cosmological constant, −Ω_Λ H₀²: outward. Peebles 1993, "Principles of physical cosmology", eq. 4.10.
template <class R>
PERGOLA_HD R cosmological_constant_strength(R omega_lambda, R hubble) {
  return -omega_lambda * hubble * hubble;
}
/// s r²/2, zero at the centre.
template <class R>
PERGOLA_HD CentralField<R> homogeneous_field(R strength, R r2) {
  return {R(0.5) * strength * r2, strength};
}

/// −G M/√(R² + (a + √(z² + b²))²), a disc of scale a and thickness b in the plane z = 0. Miyamoto & Nagai 1975; BT
/// eq. 2.69a.
template <class R>
PERGOLA_HD ExternalField<R> miyamoto_nagai_field(R gm, R a, R b, const Vec3<R>& d) {
  const R lift = sqrt(d.z * d.z + b * b), reach = a + lift;
  const R inverse = R(1) / sqrt(d.x * d.x + d.y * d.y + reach * reach);
  const R factor = gm * inverse * inverse * inverse;
  return {{-factor * d.x, -factor * d.y, -factor * (reach / lift) * d.z}, -gm * inverse};
}

template <class R>
PERGOLA_HD CentralField<R> central_field(const ExternalLaw<R>& law, R r2) {
  switch (law.kind) {
    case ExternalKind::hernquist:
      return hernquist_field(law.strength, law.radius, r2);
    case ExternalKind::isochrone:
      return isochrone_field(law.strength, law.radius, r2);
    case ExternalKind::nfw:
      return nfw_field(law.strength, law.radius, r2);
    case ExternalKind::logarithmic:
      return logarithmic_field(law.strength, law.radius, r2);
    case ExternalKind::homogeneous:
    case ExternalKind::cosmological_constant:
      return homogeneous_field(law.strength, r2);
    default:
      return plummer_field(law.strength, law.radius, r2);
  }
}

/// Acceleration and potential at x. Of dual numbers: with their rates of change.
template <class R>
PERGOLA_HD ExternalField<R> external_field(const ExternalLaw<R>& law, const Vec3<R>& x) {
  const Vec3<R> d = x - law.centre;
  if (law.kind == ExternalKind::miyamoto_nagai) return miyamoto_nagai_field(law.strength, law.radius, law.height, d);
  const CentralField<R> field = central_field(law, dot(d, d));
  return {-field.factor * d, field.potential};
}

/// The acceleration by all of these potentials at x, and as its rate the jerk of a body that is there with velocity v.
template <class R>
PERGOLA_HD Vec3<Dual<R>> external_motion(const ExternalLaw<R>* laws, std::int64_t count, const Vec3<R>& x,
                                         const Vec3<R>& v) {
  using D = Dual<R>;
  const Vec3<D> way{{x.x, v.x}, {x.y, v.y}, {x.z, v.z}};
  Vec3<D> sum{D(0), D(0), D(0)};
  for (std::int64_t k = 0; k < count; ++k) {
    const ExternalLaw<R>& law = laws[k];
    const Vec3<D> centre{D(law.centre.x), D(law.centre.y), D(law.centre.z)};
    const ExternalLaw<D> same{law.kind, D(law.strength), D(law.radius), D(law.height), centre};
    sum = sum + external_field(same, way).acceleration;
  }
  return sum;
}

}  // namespace pergola::physics

#pragma once
/// The Hermite integrator: predictor, corrector, higher derivatives and time steps.
#include <cmath>

#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

/// Position and velocity after dt from a Taylor series to the jerk. Makino & Aarseth 1992, eqs. 4 and 5.
template <class R>
PERGOLA_HD void hermite_predict(R dt, Vec3<R>& x, Vec3<R>& v, const Vec3<R>& a, const Vec3<R>& j) {
  const R half = dt / R(2), third = dt / R(3);
  const auto line = [&](R& xi, R& vi, R ai, R ji) {
    xi = xi + dt * (vi + half * (ai + third * ji));
    vi = vi + dt * (ai + half * ji);
  };
  line(x.x, v.x, a.x, j.x);
  line(x.y, v.y, a.y, j.y);
  line(x.z, v.z, a.z, j.z);
}

/// The same with the snap s: adds s dt⁴/24 to the position and s dt³/6 to the velocity. GRAPE-6 predicts so; its
/// interface takes a/2, j/6 and s/18.
template <class R>
PERGOLA_HD void hermite_predict(R dt, Vec3<R>& x, Vec3<R>& v, const Vec3<R>& a, const Vec3<R>& j, const Vec3<R>& s) {
  const R half = dt / R(2), third = dt / R(3), quarter = dt / R(4);
  const auto line = [&](R& xi, R& vi, R ai, R ji, R si) {
    xi = xi + dt * (vi + half * (ai + third * (ji + quarter * si)));
    vi = vi + dt * (ai + half * (ji + third * si));
  };
  line(x.x, v.x, a.x, j.x, s.x);
  line(x.y, v.y, a.y, j.y, s.y);
  line(x.z, v.z, a.z, j.z, s.z);
}

/// The 4th-order Hermite corrector, from values at the start of the step (x0, v0, a0, j0) and the force at its end (a1,
/// j1):
///   v1 = v0 + dt/2 (a0 + a1) + dt²/12 (j0 − j1),  x1 = x0 + dt/2 (v0 + v1) + dt²/12 (a0 − a1).
/// Hut, Makino & McMillan 1995, ApJ 443, L93, eqs. 10 and 11; it is time-symmetric when iterated to convergence.
template <class R>
PERGOLA_HD void hermite_correct(R dt, Vec3<R>& x, Vec3<R>& v, const Vec3<R>& a0, const Vec3<R>& j0, const Vec3<R>& a1,
                                const Vec3<R>& j1) {
  const R half = dt / R(2), twelfth = dt * dt / R(12);
  const auto line = [&](R& xi, R& vi, R a0i, R j0i, R a1i, R j1i) {
    const R v1 = vi + (half * (a0i + a1i) + twelfth * (j0i - j1i));
    xi = xi + (half * (vi + v1) + twelfth * (a0i - a1i));
    vi = v1;
  };
  line(x.x, v.x, a0.x, j0.x, a1.x, j1.x);
  line(x.y, v.y, a0.y, j0.y, a1.y, j1.y);
  line(x.z, v.z, a0.z, j0.z, a1.z, j1.z);
}

/// Snap and crackle (second and third derivative of the acceleration) at the end of the step, from the interpolation
/// polynomial through both ends. Makino & Aarseth 1992, eqs. 6 and 7, moved to the end of the step.
template <class R>
PERGOLA_HD void hermite_derivatives(R dt, const Vec3<R>& a0, const Vec3<R>& j0, const Vec3<R>& a1, const Vec3<R>& j1,
                                    Vec3<R>& snap, Vec3<R>& crackle) {
  const R inverse = R(1) / dt, inverse2 = inverse * inverse, inverse3 = inverse2 * inverse;
  const auto line = [&](R a0i, R j0i, R a1i, R j1i, R& s, R& c) {
    const R da = a0i - a1i;
    const R start_snap = (R(-6) * da - dt * (R(4) * j0i + R(2) * j1i)) * inverse2;
    c = (R(12) * da + R(6) * dt * (j0i + j1i)) * inverse3;
    s = start_snap + dt * c;
  };
  line(a0.x, j0.x, a1.x, j1.x, snap.x, crackle.x);
  line(a0.y, j0.y, a1.y, j1.y, snap.y, crackle.y);
  line(a0.z, j0.z, a1.z, j1.z, snap.z, crackle.z);
}

/// Aarseth's step: √(η (|a||s| + |j|²) / (|j||c| + |s|²)). Makino & Aarseth 1992, eq. 7. Infinite for a free particle.
template <class R>
PERGOLA_HD R aarseth_step(R eta, const Vec3<R>& a, const Vec3<R>& j, const Vec3<R>& s, const Vec3<R>& c) {
  const R a2 = dot(a, a), j2 = dot(j, j), s2 = dot(s, s), c2 = dot(c, c);
  const R above = std::sqrt(a2 * s2) + j2, below = std::sqrt(j2 * c2) + s2;
  return below > R(0) ? std::sqrt(eta * above / below) : R(INFINITY);
}

/// Whether acceleration, jerk and snap are those of a body on a bound Kepler orbit: a close pair that nothing else
/// disturbs much, or a planet. It needs neither masses nor the other body. With a = −K r̂/r², the rates u_r = ṙ/r and
/// u_t = θ̇ follow from j: u_r = −(j·a)/(2 a²), and j + 2 u_r a is across, with u_t |a|. Then the snap has −6 u_r times
/// that across, and along a, over |a|, 6 u_r² − 3 u_t² + 2 Ω², with Ω² = G (m₁ + m₂)/r³. The part across is a test, to
/// 1/20 of Ω² |a|; the part along gives Ω². Bound: u_r² + u_t² < 2 Ω².
template <class R>
PERGOLA_HD bool in_bound_pair(const Vec3<R>& a, const Vec3<R>& j, const Vec3<R>& s) {
  const R a2 = dot(a, a);
  if (!(a2 > R(0))) return false;
  const R radial = -dot(j, a) / (R(2) * a2), along = dot(s, a) / a2;
  const Vec3<R> across = j + R(2) * radial * a;
  const R turning2 = dot(across, across) / a2;
  const R omega2 = (along - R(6) * radial * radial + R(3) * turning2) / R(2);
  if (!(radial * radial + turning2 < R(2) * omega2)) return false;
  const Vec3<R> wrong = s - along * a + R(6) * radial * across;
  return dot(wrong, wrong) < omega2 * omega2 * a2 / R(400);
}

/// The first step, before higher derivatives are known: η |a| / |j|. Makino & Aarseth 1992, section 2.
template <class R>
PERGOLA_HD R starting_step(R eta, const Vec3<R>& a, const Vec3<R>& j) {
  const R j2 = dot(j, j);
  return j2 > R(0) ? eta * std::sqrt(dot(a, a) / j2) : R(INFINITY);
}

/// The same for a particle in the potential φ of a system with G M = gm, safe in two cases that |a| / |j| misjudges.
/// If forces cancel (the middle body of the figure-eight), |a| counts as at least 1 % of φ² / (G M), the acceleration
/// of a point mass M at that potential. If all are at rest (a cold collapse, the Pythagorean problem: j = 0), the step
/// is at most η √|φ| / |a|, a part of the free-fall time.
template <class R>
PERGOLA_HD R starting_step(R eta, const Vec3<R>& a, const Vec3<R>& j, R potential, R gm) {
  const R a1 = std::sqrt(dot(a, a)), j1 = std::sqrt(dot(j, j));
  const R least = gm > R(0) ? R(0.01) * potential * potential / gm : R(0);
  const R passing = j1 > R(0) ? (a1 > least ? a1 : least) / j1 : R(INFINITY);
  const R falling = a1 > R(0) && potential != R(0) ? std::sqrt(std::abs(potential)) / a1 : R(INFINITY);
  return eta * (passing < falling ? passing : falling);
}

/// The same for a particle that moves with v in a given field: j is the jerk on its way, s the snap of one that falls
/// there from rest. If |a| is nearly zero (in the middle of the field), it counts as at least √(|j||v|)/10: |j|/|v| is
/// the square of the frequency with which the field turns a body. Infinite where nothing tells a time.
template <class R>
PERGOLA_HD R starting_step(R eta, const Vec3<R>& v, const Vec3<R>& a, const Vec3<R>& j, const Vec3<R>& s) {
  const R a1 = std::sqrt(dot(a, a)), j1 = std::sqrt(dot(j, j)), s1 = std::sqrt(dot(s, s));
  const R least = R(0.1) * std::sqrt(j1 * std::sqrt(dot(v, v))), pull = a1 > least ? a1 : least;
  const R passing = j1 > R(0) && pull > R(0) ? pull / j1 : R(INFINITY);
  const R falling = s1 > R(0) ? std::sqrt(a1 / s1) : R(INFINITY);
  return eta * (passing < falling ? passing : falling);
}

}  // namespace pergola::physics

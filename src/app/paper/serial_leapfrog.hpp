#pragma once
#include <cstddef>
#include <vector>

#include "base/vec.hpp"
#include "particles/particles.hpp"
#include "physics/leapfrog.hpp"
#include "physics/pair.hpp"

namespace pergola::app {

/// A few bodies advanced by a plain kick-drift-kick loop with positions and velocities in the number type R and forces
/// computed in F; bertinelli's program has float for both. It exists to show what the number type does to the energy;
/// runs use time/leapfrog.
template <class R, class F = R>
class SerialLeapfrog {
 public:
  SerialLeapfrog(const Particles& particles, double step, double epsilon)
      : step_(static_cast<R>(step)), epsilon_squared_(static_cast<F>(epsilon * epsilon)) {
    for (std::size_t i = 0; i < particles.id.size(); ++i) {
      mass_.push_back(static_cast<R>(particles.mass[i]));
      x_.push_back(cast(particles.x[i], particles.y[i], particles.z[i]));
      v_.push_back(cast(particles.vx[i], particles.vy[i], particles.vz[i]));
    }
    half_v_ = v_;
    accelerate();
  }

  void step() {
    const R half = step_ / R(2);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      physics::kick(half, v_[i], a_[i]);
      physics::drift(step_, x_[i], v_[i]);
    }
    half_v_ = v_;
    accelerate();
    for (std::size_t i = 0; i < x_.size(); ++i) physics::kick(half, v_[i], a_[i]);
  }

  /// Total energy in double precision of the state as it is. With `half_step_kinetic` the velocities are those of the
  /// last half step, which belong to another time than the positions.
  double energy(double epsilon, bool half_step_kinetic) const {
    double total = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const auto v = widen(half_step_kinetic ? half_v_[i] : v_[i]);
      double potential = 0;
      for (std::size_t j = 0; j < i; ++j) {
        const auto d = widen(x_[j]) - widen(x_[i]);
        const double inverse_r = physics::rsqrt(physics::softened_square(d, epsilon * epsilon));
        physics::add_pair_potential(static_cast<double>(mass_[j]), inverse_r, potential);
      }
      total += static_cast<double>(mass_[i]) * (0.5 * dot(v, v) + potential);
    }
    return total;
  }

  Vec3<double> position(std::size_t i) const { return widen(x_[i]); }
  Vec3<double> velocity(std::size_t i) const { return widen(v_[i]); }

 private:
  static Vec3<R> cast(double x, double y, double z) {
    return {static_cast<R>(x), static_cast<R>(y), static_cast<R>(z)};
  }
  static Vec3<double> widen(const Vec3<R>& a) { return {double(a.x), double(a.y), double(a.z)}; }

  void accelerate() {
    a_.resize(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) {
      physics::PairSum<F> sum{};
      for (std::size_t j = 0; j < x_.size(); ++j) {
        if (j == i) continue;
        const auto difference = x_[j] - x_[i];
        const Vec3<F> d{static_cast<F>(difference.x), static_cast<F>(difference.y), static_cast<F>(difference.z)};
        physics::add_pair<false, false>(d, Vec3<F>{}, static_cast<F>(mass_[j]),
                                        physics::rsqrt(physics::softened_square(d, epsilon_squared_)), sum);
      }
      a_[i] = {static_cast<R>(sum.ax), static_cast<R>(sum.ay), static_cast<R>(sum.az)};
    }
  }

  R step_;
  F epsilon_squared_;
  std::vector<R> mass_;
  std::vector<Vec3<R>> x_, v_, half_v_, a_;
};

}  // namespace pergola::app

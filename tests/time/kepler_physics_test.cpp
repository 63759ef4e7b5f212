#include <gtest/gtest.h>

#include "systems.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

class Kepler : public DeviceTest {
 protected:
  /// Distance of the relative orbit from the analytic one at time t.
  double orbit_error(double eccentricity, double t, const TimeOptions& time) const {
    const auto p = run(kepler(eccentricity), t, time, device(1));
    return length((position(p, 0) - position(p, 1)) - kepler_separation(eccentricity, t));
  }
};

// Reference: the two-body problem. E = −G m₁ m₂ / (2 a); the period is 2π for a = M = 1.
TEST_P(Kepler, HermiteKeepsEnergyAndPeriodOfAnEccentricOrbit) {
  const auto p = run(kepler(0.9), two_pi, hermite(0.002), device(1));
  EXPECT_NEAR(total_energy(p), -0.75 * 0.25 / 2, 1e-7 * 0.75 * 0.25 / 2);
  const auto d = position(p, 0) - position(p, 1), w = velocity(p, 0) - velocity(p, 1);
  // r·v passes zero at apocentre, where d(r·v)/dt = v² − 1/r.
  const double period = two_pi - dot(d, w) / (dot(w, w) - 1 / length(d));
  EXPECT_NEAR(period, two_pi, 2e-6);
}

// Reference: the analytic orbit from Kepler's equation.
TEST_P(Kepler, HermiteConvergesWithFourthOrder) {
  const double coarse = orbit_error(0.9, 4.0, hermite_fixed(0x1p-10)),
               fine = orbit_error(0.9, 4.0, hermite_fixed(0x1p-12));
  EXPECT_NEAR(std::log2(coarse / fine) / 2, 4.0, 0.2) << coarse << " " << fine;
}

// Reference: the analytic orbit from Kepler's equation.
TEST_P(Kepler, LeapfrogConvergesWithSecondOrder) {
  const double coarse = orbit_error(0.9, 4.0, leapfrog(0x1p-11)), fine = orbit_error(0.9, 4.0, leapfrog(0x1p-13));
  EXPECT_NEAR(std::log2(coarse / fine) / 2, 2.0, 0.1) << coarse << " " << fine;
}

// Reference: the analytic energy. Smaller η, smaller steps, smaller error.
TEST_P(Kepler, EnergyErrorFallsWithEta) {
  const double exact = -0.75 * 0.25 / 2;
  double before = 1;
  for (const double eta : {0.02, 0.005, 0.00125}) {
    const double error = std::abs(total_energy(run(kepler(0.9), two_pi, hermite(eta), device(1))) / exact - 1);
    EXPECT_LT(error, before / 4);
    before = error;
  }
}

// Reference: Kokubo, Yoshinaga & Makino 1998: the corrector iterated to convergence is time-symmetric, so that a fixed
// step shows no drift of the energy over many orbits.
TEST_P(Kepler, IteratedCorrectorHasNoEnergyDrift) {
  const auto drift = [&](int iterations) {
    auto time = hermite_fixed(0x1p-6);
    time.corrector_iterations = iterations;
    const auto system = integrator(time, device(1));
    system->start(kepler(0.3), 0);
    system->advance(10 * two_pi, nullptr);
    const double early = total_energy(system->state_at(system->time()));
    system->advance(60 * two_pi, nullptr);
    return std::abs(total_energy(system->state_at(system->time())) - early);
  };
  EXPECT_LT(drift(3), drift(1) / 50);
}

// Reference: the exact end time and the analytic position there, for ends on and off the grid of steps.
TEST_P(Kepler, RunsEndExactlyAtTheRequestedTime) {
  for (const double end : {0.5, 1.0 / 3.0, 0.7}) {
    for (auto time : {hermite(0.002), leapfrog(0.001)}) {
      const auto system = integrator(time, device(1));
      system->start(kepler(0.3), 0);
      system->finish(end);
      EXPECT_EQ(system->time(), end);
      const auto p = system->state_at(end);
      const double tolerance = time.integrator == "hermite" ? 1e-8 : 1e-6;
      EXPECT_LT(length((position(p, 0) - position(p, 1)) - kepler_separation(0.3, end)), tolerance);
    }
  }
}

// Reference: the analytic orbit. The adaptive leapfrog with zero softening follows |a|/|jerk|.
TEST_P(Kepler, AdaptiveLeapfrogFollowsAnEccentricOrbit) {
  TimeOptions time = leapfrog(1);
  time.adaptive = true;
  time.eta = 0.005;
  EXPECT_LT(orbit_error(0.9, 4.0, time), 2e-3);
}

INSTANTIATE_TEST_SUITE_P(Devices, Kepler, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

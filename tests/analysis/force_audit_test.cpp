#include "analysis/force_audit.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "gravity/direct_reference.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

ForceResult along_x(const std::vector<double>& ax) {
  ForceResult f;
  f.ax = ax;
  f.ay.assign(ax.size(), 0.0);
  f.az.assign(ax.size(), 0.0);
  return f;
}

TEST(ForceErrors, StatisticsOfFourKnownErrors) {
  const auto e = force_errors(along_x({1.1, 2.0, 3.9, 7.0}), along_x({1.0, 2.0, 3.0, 10.0}));
  EXPECT_NEAR(e.median, 0.2, 1e-12);  // errors 0, 0.1, 0.3, 0.3
  EXPECT_NEAR(e.rms, std::sqrt((0.01 + 0.09 + 0.09) / 4), 1e-12);
  EXPECT_NEAR(e.p99, 0.3, 1e-12);
  EXPECT_NEAR(e.max, 0.3, 1e-12);
  EXPECT_EQ(e.sample, 4);
}

TEST(ForceErrors, ZeroReferenceCountsAgainstTheLargestOne) {
  const auto e = force_errors(along_x({0.0, 1.0, 4.0}), along_x({0.0, 0.0, 4.0}));
  EXPECT_DOUBLE_EQ(e.max, 0.25);
  EXPECT_EQ(e.median, 0.0);
}

TEST(ForceErrors, NinetyNineOfAHundredDoNotExceedP99) {
  std::vector<double> found(100, 1.0), reference(100, 1.0);
  found[17] = 3.0;
  EXPECT_EQ(force_errors(along_x(found), along_x(reference)).p99, 0.0);
  EXPECT_EQ(force_errors(along_x(found), along_x(reference)).max, 2.0);
}

TEST(SamplePlaces, AreDistinctRisingAndWithinRange) {
  for (std::int64_t n : {1, 7, 1000, 1001, 123457})
    for (std::int64_t count : {1, 3, 1000, 2000}) {
      const auto places = sample_places(n, count);
      ASSERT_EQ(std::ssize(places), std::min(n, count));
      for (std::size_t k = 1; k < places.size(); ++k) ASSERT_LT(places[k - 1], places[k]);
      ASSERT_GE(places.front(), 0);
      ASSERT_LT(places.back(), n);
    }
}

// Reference: rounding in fp32, and zero for the double-precision sum against itself.
TEST(ForceAudit, ErrorIsThatOfThePrecision) {
  const auto p = random_particles(2000, 31);
  const auto device = Device::open("cpu");
  SolverOptions options;
  options.softening = Softening::same(0.01);
  options.precision = Precision::double_;
  EXPECT_EQ(audit_forces(options, device, p, 100).errors.max, 0.0);
  options.precision = Precision::single;
  const auto audit = audit_forces(options, device, p, 100);
  EXPECT_EQ(audit.errors.sample, 100);
  EXPECT_GT(audit.errors.median, 1e-9);
  EXPECT_LT(audit.errors.median, 2e-6);
  EXPECT_EQ(std::ssize(audit.forces.ax), 2000);
}

// Reference: the sum over all pairs at once. An audit has particles in pieces of 2^20; without softening a particle
// must not meet itself in them, and what acts from outside acts once.
TEST(ForceAudit, OfSeveralPiecesComparesWithOneSum) {
  const std::int64_t piece = std::int64_t{1} << 20;
  const auto p = random_particles(piece + 700, 5);
  const auto device = Device::open("cpu", 2);
  const std::vector<std::int64_t> places{0, 3, piece - 1, piece, piece + 699};
  SolverOptions options;
  options.softening = Softening::same(0);
  options.precision = Precision::double_;
  ExternalPotential point;
  point.mass = 1e6, point.centre = {2, 3, 4};
  options.external = {point};
  const auto solver = make_solver(options, device);
  auto found = evaluate_forces(*solver, device, p, want_acceleration, places);
  EXPECT_LT(force_errors_at(options, device, p, places, found).max, 1e-12);
  found.ay[3] *= 1.01;
  EXPECT_GT(force_errors_at(options, device, p, places, found).max, 1e-4);
}

}  // namespace
}  // namespace pergola

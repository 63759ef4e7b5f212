#include "gravity/solver.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "marks.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class AnySolverOfGravity : public DeviceTest {};

/// Whether a solver with the numbers Real takes sources and gives forces with the numbers Other.
template <class Real, class Other>
concept TakesNumbers = requires(Solver<Real>& solver, const Sources<Other>& sources, const Forces<Other>& forces) {
  solver.prepare(sources);
  solver.update(sources);
  solver.evaluate(Targets{}, want_acceleration, forces);
};
static_assert(TakesNumbers<float, float> && TakesNumbers<double, double>);
static_assert(!TakesNumbers<float, double> && !TakesNumbers<double, float>, "another precision must not compile");

TEST_P(AnySolverOfGravity, IsMadeWithTheNumbersOfItsPrecisionOnly) {
  const auto d = device();
  for (const char* name : {"direct", "tree", "mesh"})
    for (const Precision precision : {Precision::single, Precision::mixed, Precision::double_}) {
      SolverOptions options;
      options.solver = name, options.precision = precision, options.softening = Softening::same(0.1);
      const bool single = precision == Precision::single;
      EXPECT_EQ(dynamic_cast<Solver<float>*>(make_solver(options, d).get()) != nullptr, single) << name;
      EXPECT_EQ(dynamic_cast<Solver<double>*>(make_solver(options, d).get()) != nullptr, !single) << name;
      if (single)
        EXPECT_THROW(make_solver<double>(options, d), Error) << name;
      else
        EXPECT_THROW(make_solver<float>(options, d), Error) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, AnySolverOfGravity, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

#include <gtest/gtest.h>

#include <cmath>

#include "device/buffer.hpp"
#include "gravity/direct_reference.hpp"
#include "gravity/solver.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class DirectSearch : public DeviceTest {};

// Reference: a search through all distances.
TEST_P(DirectSearch, NearestAndNeighbourListsAgreeWithASearch) {
  const auto p = random_particles(1500, 11);
  const double radius = 0.1;
  for (Precision precision : {Precision::single, Precision::mixed, Precision::double_}) {
    SolverOptions options;
    options.precision = precision, options.softening = Softening::same(0.3);
    const auto d = device();
    const auto solver = make_solver(options, d);
    const std::vector<std::int64_t> places{0, 5, 255, 256, 700, 1499};
    const auto f = evaluate_forces(*solver, d, p, want_nearest, places);
    const Buffer<std::int64_t> index(d, places);
    const auto lists = solver->neighbour_lists({index.data(), index.size(), index.size()}, radius);
    ASSERT_EQ(lists.begin.size(), places.size() + 1);
    for (std::size_t t = 0; t < places.size(); ++t) {
      const auto i = static_cast<std::size_t>(places[t]);
      EXPECT_EQ(f.nearest[t], reference_force(p, options.softening, i).nearest);
      std::vector<std::int64_t> expected;
      for (std::size_t k = 0; k < p.x.size(); ++k)
        if (k != i && std::hypot(p.x[k] - p.x[i], p.y[k] - p.y[i], p.z[k] - p.z[i]) < radius)
          expected.push_back(static_cast<std::int64_t>(k));
      EXPECT_FALSE(expected.empty());
      EXPECT_EQ(std::vector(lists.index.begin() + lists.begin[t], lists.index.begin() + lists.begin[t + 1]), expected);
    }
    EXPECT_EQ(solver->neighbour_lists({nullptr, 1500, 1500}, radius).begin.size(), 1501u);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DirectSearch, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola

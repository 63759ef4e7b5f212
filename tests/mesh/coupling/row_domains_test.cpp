#include "mesh/coupling/row_domains.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "comm/communicator.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

constexpr int planes = 64, rows = 32, cells = 16;

/// So many particles in a disc, `height` planes thick, by row.
std::vector<std::int64_t> disc(double particles, double height) {
  std::vector<double> shape;
  for (int plane = 0; plane < planes; ++plane)
    for (int row = 0; row < rows; ++row)
      shape.push_back(std::exp(-std::abs(plane - 20.3) / height - std::abs(row - 15.5) / 5));
  const double sum = std::accumulate(shape.begin(), shape.end(), 0.0);
  std::vector<std::int64_t> counts;
  for (const double one : shape) counts.push_back(std::llround(particles * one / sum));
  return counts;
}

TEST(RowDomains, OfADiscHaveAboutTheSameWorkAndEveryRowWithParticlesHasAnOwner) {
  for (const int ranks : {1, 2, 3, 7, 16}) {
    const auto counts = disc(1e6, 1.5);
    const RowDomains domains(rows, cells, ranks, counts);
    std::vector<std::int64_t> particles(static_cast<std::size_t>(ranks), 0);
    std::uint32_t last = 0;
    for (std::size_t row = 0; row < counts.size(); ++row) {
      const std::uint32_t owner = domains.owners()[row];
      const int plane = static_cast<int>(row) / rows;
      if (owner == RowDomains::nobody) {
        EXPECT_EQ(counts[row], 0) << row;
        continue;
      }
      ASSERT_LT(owner, static_cast<std::uint32_t>(ranks));
      EXPECT_GE(owner, last);
      last = owner;
      particles[owner] += counts[row];
      const PlaneRange range = domains.planes()[owner];
      EXPECT_GE(plane, range.first);
      EXPECT_LT(plane, range.first + range.count);
    }
    const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    EXPECT_EQ(std::accumulate(particles.begin(), particles.end(), std::int64_t{0}), all);
    EXPECT_LT(static_cast<double>(*std::max_element(particles.begin(), particles.end())),
              1.2 * static_cast<double>(all) / ranks)
        << ranks;
  }
}

TEST(RowDomains, WithoutParticlesAreNobodys) {
  const RowDomains domains(rows, cells, 3, std::vector<std::int64_t>(std::size_t{planes} * rows, 0));
  for (const std::uint32_t owner : domains.owners()) EXPECT_EQ(owner, RowDomains::nobody);
  for (const PlaneRange& range : domains.planes()) EXPECT_EQ(range.count, 0);
}

/// The particles that a rank would get by the domains, or by the slabs.
std::int64_t arriving(const RowDivision& division, const SlabPlanes& slab, const std::vector<std::int64_t>& counts,
                      int rank) {
  std::int64_t sum = 0;
  for (std::size_t row = 0; row < counts.size(); ++row) {
    const auto owner = division.domains() ? division.domains()->owners()[row]
                                          : static_cast<std::uint32_t>(slab.owner(static_cast<int>(row) / rows));
    if (owner == static_cast<std::uint32_t>(rank)) sum += counts[row];
  }
  return sum;
}

TEST(RowDivision, LeavesEvenParticlesWithTheSlabsAndDividesADiscOnce) {
  run_on_thread_ranks(4, [&](Communicator& communicator) {
    const std::shared_ptr<Communicator> ranks(&communicator, [](Communicator*) {});
    Grid grid;
    grid.cells = {cells, rows, planes};
    RowDivision division(ranks, grid);
    const SlabPlanes slab(communicator, planes);
    const auto step = [&](const std::vector<std::int64_t>& counts, bool uncovered = false) {
      const std::int64_t here = arriving(division, slab, counts, communicator.rank());
      const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
      if (!division.should_count(communicator.rank() == 0 ? all : 0, here, uncovered)) return false;
      std::vector<std::int64_t> own(counts.size(), 0);  // rank 0 has all of them
      if (communicator.rank() == 0) own = counts;
      return division.divide(own);
    };
    const std::vector<std::int64_t> even(std::size_t{planes} * rows, 100);
    EXPECT_FALSE(step(even));
    EXPECT_EQ(division.domains(), nullptr);
    const auto thin = disc(1e6, 1.5);
    EXPECT_TRUE(step(thin));
    ASSERT_NE(division.domains(), nullptr);
    EXPECT_FALSE(step(thin));
    EXPECT_TRUE(step(disc(1e6, 12), communicator.rank() == 2));  // somebody has met a row that is nobody's
    EXPECT_FALSE(step(disc(1e6, 11)));
  });
}

}  // namespace
}  // namespace pergola
